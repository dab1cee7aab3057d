"""`jumpseat keys`: stores providers' keys outside the configuration file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpseat.config.redaction import HIDDEN, mask_value
from jumpseat.config.stored_keys import CannotStoreError, delete_key, has_key, is_stored, store_key
from jumpseat.providers.services import SERVICES, WITH_KEY
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat_cli.configuration.file import CannotChange, ConfigurationFile, report_failures
from jumpseat_cli.terminal.failures import FAILED, OK, USAGE, print_failure, print_json, say
from jumpseat_cli.terminal.questions import ask_hidden
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line

MAX_KEY_CHARACTERS = 64 * 1024
NO_KEY = {
    "copilot": "Sign in instead: jumpseat login.",
    "copilot-language-server": "Sign in instead: jumpseat login {provider}.",
    "local": "A local model does not need a key.",
}
"""The kinds of providers that have no API key, each with a hint."""


@report_failures
def set_key(provider: str, config: Path | None, *, in_file: bool, as_json: bool) -> int:
    """Ask for a key, store it, refer to it in the configuration file, and return the exit code."""
    environment = environment_of_process()
    file = ConfigurationFile(config or environment.places.config_file)
    table = _find_table(provider, file)
    if table is None:
        return FAILED
    new = provider not in file.providers
    before = _find_replaceable_source(provider, file, environment) if not new else _usual_source(provider)
    key = _read_key(provider)
    if key is None:
        return USAGE
    try:
        stored = asyncio.run(store_key(key, provider, environment, before=before, in_file=in_file))
    except CannotStoreError as error:
        return print_failure(str(error))
    try:
        file.set(provider, {**(table if new else {}), "api_key": stored.source})
    except CannotChange as error:
        hint = f'The key is stored. Add to the table [providers.{provider}]: api_key = "{stored.source}"'
        return print_failure(str(error), hint)
    if before is not None and is_stored(before, environment):
        _delete_stored_key(before, environment)
    if as_json:
        print_json({"provider": provider, "source": stored.source, "file": str(file.path)})
        return OK
    say(f"The key for {provider} is in {stored.place}, and {file.path} refers to it.")
    say(f"To try it: jumpseat doctor {provider}")
    return OK


def _find_replaceable_source(provider: str, file: ConfigurationFile, environment: Environment) -> str | None:
    """Return a provider's `api_key` that can be replaced; None if the table has none.

    Raises:
        CannotChange: it refers to a key that jumpseat has not stored.
    """
    table = file.providers[provider]
    before = table.get("api_key")
    if before is None or is_stored(before, environment):
        return before
    if isinstance(before, str) and not has_key(provider, table, file.path, environment):
        return before
    row = _make_row(provider, before, environment)
    place = "in the table itself" if row["source"] in ("", HIDDEN) else f"from {row['source']}"
    raise CannotChange(
        f"{provider} already has a key, {place}: api_key in [providers.{provider}] of {file.path}.",
        "To store another key, first remove that line with `jumpseat config edit`.",
    )


def _usual_source(provider: str) -> str | None:
    variable = SERVICES[provider].variable
    return None if variable is None else f"env:{variable}"


def _delete_stored_key(source: str, environment: Environment) -> str | None:
    """Delete a stored key and return the source that it replaced.

    Raises:
        CannotChange: the key cannot be deleted.
    """
    try:
        return asyncio.run(delete_key(source, environment))
    except CannotStoreError as error:
        raise CannotChange(str(error)) from None


def _find_table(provider: str, file: ConfigurationFile) -> Mapping[str, Any] | None:
    """Return the provider's table in the file, or a known service's usual table.

    Prints a message and returns None if there is neither, or if the provider has no API key.
    """
    table = file.providers.get(provider)
    kind = str((table or {}).get("kind") or provider)
    if kind in NO_KEY and (table is not None or provider in NO_KEY):
        print_failure(f"{provider} does not use an API key.", NO_KEY[kind].format(provider=provider))
        return None
    if table is not None:
        return table
    service = SERVICES.get(provider)
    if service is not None and service.table:
        return service.table
    from difflib import get_close_matches

    near = get_close_matches(provider, [*file.providers, *SERVICES], 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    hint += f"jumpseat knows {', '.join(WITH_KEY)}. "
    hint += f"For another provider, add a table [providers.{provider}] to {file.path}."
    print_failure(f"There is no provider named {provider!r} in the configuration.", hint)
    return None


def _read_key(provider: str) -> str | None:
    """Read the key from the terminal, without an echo, or from a pipe.

    Prints a message and returns None if there is no valid key.
    """
    if sys.stdin.isatty():
        text = ask_hidden(f"Key for {clean_line(provider)} (not shown)")
    else:
        text = sys.stdin.buffer.read(MAX_KEY_CHARACTERS + 1).decode("utf-8", "replace")
    key = text.strip()
    if not key:
        print_failure(
            "No key was entered.",
            f"Type the key, or pipe it: pass show {provider} | jumpseat keys set {provider}",
        )
        return None
    if (fault := fault_of_key(key)) is not None:
        print_failure(fault)
        return None
    return key


def fault_of_key(key: str) -> str | None:
    """Return why a text cannot be a key, as a sentence, or None if it can."""
    if len(key) > MAX_KEY_CHARACTERS:
        return "This is not a key: it is too long."
    if not key.isprintable() or any(map(str.isspace, key)):
        return "This is not a key: it contains white space or control characters."
    return None


@report_failures
def list_keys(config: Path | None, *, as_json: bool) -> int:
    """Print where each provider's key comes from, but no keys, and return the exit code."""
    environment = environment_of_process()
    file = ConfigurationFile(config or environment.places.config_file)
    rows = [
        _make_row(name, table["api_key"], environment)
        for name, table in file.providers.items()
        if "api_key" in table
    ]
    if as_json:
        print_json({"keys": rows})
    elif rows:
        print_rows(
            ("Provider", "Key", "Notes"),
            [(row["provider"], row["source"], row["note"]) for row in rows],
            stacks=True,
        )
    else:
        say(f"{file.path} has no keys. To store one: jumpseat keys set groq")
    return OK


def _make_row(provider: str, value: Any, environment: Environment) -> dict[str, str]:
    if not isinstance(value, str):
        return {"provider": provider, "source": "", "note": "not a string"}
    shown = mask_value(("providers", provider, "api_key"), value, environment)
    return {"provider": provider, "source": shown, "note": _describe_source(value, environment)}


def _describe_source(value: str, environment: Environment) -> str:
    """Describe a key without reading it."""
    if is_stored(value, environment):
        if value.startswith("file:") and not Path(value.removeprefix("file:")).exists():
            return "stored by jumpseat; the file is missing"
        return "stored by jumpseat"
    name = value.removeprefix("env:")
    if value.startswith("env:") or value in environment.variables:
        return "set" if environment.get(name).strip() else "not set in this environment"
    prefix, colon, _ = value.partition(":")
    if colon and prefix in ("cmd", "file", "keyring", "python", "schema"):
        return ""
    return "in the configuration file itself"


@report_failures
def remove_key(provider: str, config: Path | None, *, as_json: bool) -> int:
    """Delete a stored key, restore the source that it replaced in the file, and return the exit code."""
    environment = environment_of_process()
    file = ConfigurationFile(config or environment.places.config_file)
    source = file.providers.get(provider, {}).get("api_key")
    if source is None:
        return print_failure(
            f"{file.path} has no key for {provider}.", "Run `jumpseat keys list` to list its keys."
        )
    if not is_stored(source, environment):
        place = mask_value(("providers", provider, "api_key"), str(source), environment)
        hint = "To remove it, run `jumpseat config edit`."
        return print_failure(f"The key for {provider} is {place}, which jumpseat has not stored.", hint)
    # Delete the key first. If that fails, the file still says where the key is.
    replaced = _delete_stored_key(source, environment)
    file.set(provider, {"api_key": replaced})
    shown = None if replaced is None else _make_row(provider, replaced, environment)["source"]
    if as_json:
        print_json({"provider": provider, "removed": True} | ({"source": shown} if shown else {}))
    else:
        say(f"The key for {provider} was deleted.")
        if shown:
            say(f"{file.path} refers to {shown} again.")
    return OK


def completions(config: Path | None, *, services: bool) -> list[tuple[str, str]]:
    """Return ids with titles: the providers in the configuration file, and known services with a key."""
    try:
        file = ConfigurationFile(config or environment_of_process().places.config_file)
    except CannotChange:
        return []
    known = {name: SERVICES[name].title for name in WITH_KEY if services}
    own = {name: str(table.get("kind", "")) for name, table in file.providers.items()}
    return list({**known, **own}.items())
