"""`jumpseat keys`: asks for, lists and removes providers' keys."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config.editing import ConfigurationFile
from jumpseat.config.stored_keys import is_stored
from jumpseat.providers.keys import (
    MAX_KEY_CHARACTERS,
    explain_invalid_key,
    find_key_slot,
    mask_key,
    remove_key,
    set_key,
)
from jumpseat.providers.services import SERVICES, WITH_KEY
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat_cli.configuration.reporting import report_failures
from jumpseat_cli.terminal.failures import OK, USAGE, print_failure, print_json, say
from jumpseat_cli.terminal.questions import ask_hidden
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line


@report_failures
def ask_for_key(provider: str, config: Path | None, *, in_file: bool, as_json: bool) -> int:
    """Ask for a key, store it, refer to it in the configuration file, and return the exit code."""
    environment = environment_of_process()
    file = config or environment.places.config_file
    # This raises an error if the provider cannot have a key. Report that before the user looks for a key.
    find_key_slot(provider, file, environment)
    key = _read_key(provider, environment)
    if key is None:
        return USAGE
    stored = asyncio.run(set_key(key, provider, file, environment, in_file=in_file))
    if as_json:
        print_json({"provider": provider, "source": stored.source, "file": str(file)})
        return OK
    say(f"The key for {provider} is in {stored.place}, and {file} refers to it.")
    say(f"To try it: jumpseat doctor {provider}")
    return OK


def _read_key(provider: str, environment: Environment) -> str | None:
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
    if (why := explain_invalid_key(key, environment)) is not None:
        print_failure(f"This is not a key: {why}.")
        return None
    return key


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
    shown = mask_key(provider, value, environment)
    return {"provider": provider, "source": shown, "note": _describe_source(value, environment)}


def _describe_source(value: str, environment: Environment) -> str:
    """Describe where a key comes from, without reading the key."""
    if is_stored(value, environment):
        if value.startswith("file:") and not Path(value.removeprefix("file:")).exists():
            return "stored by jumpseat; the file is missing"
        return "stored by jumpseat"
    # The name of a variable that is set has the same meaning as `env:NAME`.
    name = value.removeprefix("env:")
    if value.startswith("env:") or value in environment.variables:
        return "set" if environment.get(name).strip() else "not set in this environment"
    prefix, colon, _ = value.partition(":")
    if colon and prefix in ("cmd", "file", "keyring", "python", "schema"):
        return ""
    return "in the configuration file itself"


@report_failures
def remove_stored_key(provider: str, config: Path | None, *, as_json: bool) -> int:
    """Delete a stored key, restore the `api_key` that it replaced in the file, and return the exit code."""
    environment = environment_of_process()
    path = config or environment.places.config_file
    removed = asyncio.run(remove_key(provider, path, environment))
    if removed is None:
        return _report_missing_key(provider, ConfigurationFile(path), environment)
    shown = None if removed.source is None else mask_key(provider, removed.source, environment)
    if as_json:
        print_json({"provider": provider, "removed": True} | ({"source": shown} if shown else {}))
    else:
        say(f"The key for {provider} was deleted.")
        if shown:
            say(f"{path} refers to {shown} again.")
    return OK


def _report_missing_key(provider: str, file: ConfigurationFile, environment: Environment) -> int:
    source = file.providers.get(provider, {}).get("api_key")
    if source is None:
        return print_failure(
            f"{file.path} has no key for {provider}.", "Run `jumpseat keys list` to list its keys."
        )
    place = mask_key(provider, source, environment)
    hint = "To remove it, run `jumpseat config edit`."
    return print_failure(f"The key for {provider} is {place}, which jumpseat has not stored.", hint)


def completions(config: Path | None, *, services: bool) -> list[tuple[str, str]]:
    """Return pairs of an id and a description, for completion.

    The list has the configured providers and, if `services`, the known services that need a key.
    """
    try:
        file = ConfigurationFile(config or environment_of_process().places.config_file)
    except ConfigError:
        return []
    known = {name: SERVICES[name].title for name in WITH_KEY if services}
    own = {name: str(table.get("kind", "")) for name, table in file.providers.items()}
    return list({**known, **own}.items())
