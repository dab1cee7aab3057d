"""`jumpseat settings`: the daemon's saved settings, by dotted keys as in `git config`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jumpseat_cli.chat.answering import daemon
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client import Client

NAMES = ("default_provider", "default_model")
"""Keys whose values are always strings, even if they look like JSON."""


async def show_settings(key: str | None, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print all saved settings, one per line, or the value of one key.

    Raises:
        ClientError: the daemon cannot be used.
    """
    async with daemon(daemon_command) as client:
        settings = await client.settings()
    if key is None:
        if as_json:
            print_json(settings)
        else:
            lines = list(_lines(settings))
            for name, saved in lines:
                print(f"{clean_line(name)}\t{_written(saved)}")
            if not lines:
                say("Nothing is saved. To save a value: jumpseat settings set KEY VALUE")
        return OK
    value = _saved(settings, key)
    if value is None:
        return _report_missing(key)
    if as_json:
        print_json(value)
    else:
        print(_written(value))
    return OK


async def change_setting(key: str, value: Any, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Save one value, or remove it if the value is None.

    Raises:
        ClientError: the daemon rejects the key or the value.
    """
    patch: Any = value
    for part in reversed(path_of(key)):
        patch = {part: patch}
    async with daemon(daemon_command) as client:
        if value is None and _saved(await client.settings(), key) is None:
            return _report_missing(key)
        settings = await save(client, patch)
    if as_json:
        print_json(settings)
    return OK


async def save(client: Client, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Save settings, warn of those that have no effect, and return the whole.

    Raises:
        ClientError: the daemon rejects a key or a value.
    """
    answer = await client.request("settings/save", {"settings": patch})
    for warning in answer.get("warnings") or ():
        say(f"warning: {clean_line(str(warning['message']))}")
    return dict(answer["settings"])


def _saved(settings: Mapping[str, Any], key: str) -> Any:
    value: Any = settings
    for part in path_of(key):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _report_missing(key: str) -> int:
    print_failure(f"Nothing is saved as {key}.", "'jumpseat settings' shows what is saved.")
    return FAILED


def path_of(key: str) -> list[str]:
    """Split a dotted key; a provider id may contain dots."""
    first, dot, rest = key.partition(".")
    if first != "providers" or not dot:
        return [key]
    provider, dot, name = rest.rpartition(".")
    return [first, provider, name] if dot else [first, rest]


def value_of(key: str, text: str) -> Any:
    """Parse a typed value: JSON if it is valid JSON, else a string."""
    if key in NAMES:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _lines(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in sorted(settings.items()):
        if key != "providers":
            yield key, value
    for provider, table in sorted(settings.get("providers", {}).items()):
        for key, value in sorted(table.items()):
            yield f"providers.{provider}.{key}", value


def _written(value: Any) -> str:
    """A value on one line: a string without quotes, everything else as JSON."""
    return clean_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
