"""`jumpseat config`: creates, shows, edits and checks the configuration file."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jumpseat.chat import ConfigError
from jumpseat.config.editing import ConfigurationFile
from jumpseat.config.redaction import mask_value
from jumpseat.config.stored_keys import store_key
from jumpseat.providers.keys import explain_invalid_key
from jumpseat.providers.services import SERVICES, Service
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat_cli.configuration.local import PROVIDER, is_installed
from jumpseat_cli.configuration.reporting import report_failures
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.questions import ask_hidden
from jumpseat_cli.terminal.text import clean
from jumpseat_cli.terminal.wrapping import print_line

if TYPE_CHECKING:
    from jumpseat.providers.checkup import Checkup

HEAD = """\
# The configuration of jumpseat. Changes take effect immediately, even in running editors and commands.
# `jumpseat config check` reports mistakes; `jumpseat doctor` also tries the providers.
"""
OTHER_EXAMPLES = """
# A limit for the length of each answer, in tokens:
# [settings]
# max_tokens = 4000

# A prompt, for `jumpseat chat -p review` and for editors:
# [prompts.review]
# text = "Review this change for mistakes.\\n\\n{{input}}"

# Conversations are kept on this machine. To turn that off:
# [conversations]
# keep = false
"""
PROVIDER_EXAMPLE = """
# A provider, for example:
# [providers.groq]
# kind = "openai"
# base_url = "https://api.groq.com/openai/v1"
# api_key = "env:GROQ_API_KEY"
"""


# -- init


def create_file(names: Sequence[str], config: Path | None, *, as_json: bool) -> int:
    """Write a new configuration file with the named or chosen providers, and return the exit code."""
    environment = environment_of_process()
    path = config or environment.places.config_file
    if path.exists() or path.is_symlink():
        return print_failure(f"{path} already exists.", "Run `jumpseat config edit` to change it.")
    unknown = [name for name in names if name not in SERVICES]
    if unknown:
        raise click.UsageError(
            f"There is no provider named {unknown[0]!r}; available: {', '.join(SERVICES)}."
        )
    asks = not names and sys.stdin.isatty()
    chosen = [SERVICES[name] for name in dict.fromkeys(names)]
    default = chosen[0].id if chosen else None
    if asks:
        chosen = _ask_for_providers()
        default = _ask_for_default(chosen)
    chosen = [_drop_finished_step(service, environment) for service in chosen]
    with_key = [service for service in chosen if service.variable is not None]
    keys = {service.id: _ask_for_key(service, environment) for service in with_key if asks}
    # Store the keys after all questions, so that Ctrl-C at any question stores nothing.
    sources = {service.id: _store_key(service, keys.get(service.id, ""), environment) for service in with_key}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(render_file(chosen, sources, default))
    except OSError as error:
        return print_failure(f"{path} cannot be written: {error.strerror or error}.")
    if as_json:
        print_json({"file": str(path), "providers": [service.id for service in chosen]})
        return OK
    say(f"Wrote {path}.")
    for service in chosen:
        if service.next_step:
            say(f"Next: {service.next_step}   ({service.title})")
        elif sources.get(service.id) == f"env:{service.variable}" and not environment.get(
            service.variable or ""
        ):
            say(f"Next: jumpseat keys set {service.id}   ({service.title}; or set {service.variable})")
    return OK


def _ask_for_providers() -> list[Service]:
    services = list(SERVICES.values())
    say("Which providers do you use?")
    for number, service in enumerate(services, 1):
        say(f"  {number:2}  {service.title}")
    while True:
        answer = click.prompt("Numbers, separated by spaces", default="", show_default=False, err=True)
        words = answer.replace(",", " ").split()
        if all(word.isdecimal() and 1 <= int(word) <= len(services) for word in words):
            return [services[int(word) - 1] for word in dict.fromkeys(words)]
        say(f"Type numbers from 1 to {len(services)}.")


def _ask_for_default(chosen: Sequence[Service]) -> str | None:
    if len(chosen) < 2:
        return chosen[0].id if chosen else None
    choice = click.Choice([service.id for service in chosen])
    answer = click.prompt("Which one is the default", type=choice, default=chosen[0].id, err=True)
    return str(answer)


def _drop_finished_step(service: Service, environment: Environment) -> Service:
    """Return a service without its next step if that step, the installation of a local model, is done."""
    if service.id != PROVIDER or not is_installed(environment):
        return service
    return replace(service, next_step="")


def _ask_for_key(service: Service, environment: Environment) -> str:
    """Ask for a service's key. Return an empty string if none is typed or the usual variable is set."""
    if environment.get(service.variable or "").strip():
        return ""
    question = f"Key for {service.title} (not shown; leave empty to use {service.variable})"
    while True:
        key = ask_hidden(question, default="", show_default=False).strip()
        why = explain_invalid_key(key, environment) if key else None
        if why is None:
            return key
        say(f"This is not a key: {why}.")


def _store_key(service: Service, key: str, environment: Environment) -> str:
    """Store the key, if one was typed, and return the value for `api_key`.

    The value refers to the stored key or, if there is none, to the service's usual variable.
    """
    usual = f"env:{service.variable}"
    if key:
        try:
            return asyncio.run(store_key(key, service.id, environment, before=usual)).source
        except ConfigError as error:
            say(f"warning: {error}")
    return usual


def render_file(chosen: Sequence[Service], sources: Mapping[str, str], default: str | None) -> str:
    """Return the text of a new configuration file.

    Args:
        chosen: the providers to configure.
        sources: the values of `api_key`, by provider id.
        default: the default provider's id, if any.
    """
    import tomlkit

    document = tomlkit.document()
    if default is not None:
        document["default_provider"] = default
    text = f"{HEAD}\n{document.as_string()}" if default is not None else HEAD
    for service in chosen:
        if not service.table:
            first = f" First: {service.next_step}" if service.next_step else ""
            text += f"\n# {service.title} does not need a table.{first}\n"
            continue
        table = dict(service.table)
        if service.id in sources:
            table["api_key"] = sources[service.id]
        body = tomlkit.dumps({"providers": {service.id: table}})
        text += f"\n# {service.title}\n{body}"
    return text + ("" if chosen else PROVIDER_EXAMPLE) + OTHER_EXAMPLES


# -- show


@report_failures
def show(config: Path | None, *, as_json: bool) -> int:
    """Print the configuration file without secrets and comments, and return the exit code."""
    environment = environment_of_process()
    file = ConfigurationFile(config or environment.places.config_file)
    redacted = _redact(file.tables, environment)
    if as_json:
        print_json(redacted)
    elif file.tables:
        import tomlkit

        print(clean(tomlkit.dumps(redacted)), end="")
    else:
        say(
            f"{file.path} does not set anything."
            if file.path.exists()
            else f"{file.path} does not exist yet."
        )
    return OK


def _redact(value: Any, environment: Environment, path: tuple[str, ...] = ()) -> Any:
    if isinstance(value, Mapping):
        return {key: _redact(each, environment, (*path, str(key))) for key, each in value.items()}
    if isinstance(value, list):
        return [_redact(each, environment, path) for each in value]
    return mask_value(path, value, environment) if isinstance(value, str) else value


# -- edit


def edit(config: Path | None, *, as_json: bool) -> int:
    """Open the configuration file in the user's editor, then check the file; return the exit code."""
    path = config or environment_of_process().places.config_file
    command = _find_editor()
    if command is None:
        message = "No editor was found" if _is_terminal() else "There is no terminal for an editor"
        hint = f"Set VISUAL or EDITOR to the command of an editor, or edit {path} yourself."
        return print_failure(f"{message}.", hint)
    is_new = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(HEAD + PROVIDER_EXAMPLE + OTHER_EXAMPLES, "utf-8")
            is_new = True
        before = path.read_bytes()
        code = subprocess.run([*command, str(path)], check=False).returncode  # noqa: S603 - the user's own editor
        unchanged = path.exists() and path.read_bytes() == before
        if is_new and unchanged:
            path.unlink()
    except OSError as error:
        return print_failure(f"{path} cannot be edited with {command[0]}: {error.strerror or error}.")
    if code != 0:
        return print_failure(f"{command[0]} exited with code {code}.")
    if unchanged:
        say("Nothing was changed.")
        return OK
    return asyncio.run(check(config, as_json=as_json))


def _find_editor() -> list[str] | None:
    """Return the editor's command: $VISUAL, $EDITOR, or a common editor that can run here."""
    import shutil

    for name in ("VISUAL", "EDITOR"):
        if words := shlex.split(os.environ.get(name, ""), posix=os.name == "posix"):
            return words
    if os.name != "nt" and not _is_terminal():
        return None
    known = ("notepad",) if os.name == "nt" else ("sensible-editor", "nano", "vi")
    return next(([program] for program in known if shutil.which(program)), None)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


# -- check


async def check(config: Path | None, *, as_json: bool) -> int:
    """Print every mistake in the configuration file, and return the exit code."""
    from jumpseat.providers.checkup import check_file

    checkup = await check_file(config, environment_of_process())
    if as_json:
        _print_as_json(checkup)
    else:
        for fault in checkup.errors:
            print_line(f"error: {fault}")
        for fault in checkup.warnings:
            print_line(f"warning: {fault}")
        if not (checkup.errors or checkup.warnings):
            say(f"{checkup.file}: no mistakes." if checkup.exists else f"{checkup.file} does not exist yet.")
    return FAILED if checkup.errors else OK


def _print_as_json(checkup: Checkup) -> None:
    document: dict[str, object] = {"file": str(checkup.file), "exists": checkup.exists}
    for name, faults in (("errors", checkup.errors), ("warnings", checkup.warnings)):
        rows = [{**asdict(fault), "message": str(fault)} for fault in faults]
        document[name] = [{key: row[key] for key in ("line", "key", "message")} for row in rows]
    print_json(document)
