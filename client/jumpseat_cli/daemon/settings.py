"""Parses settings typed on the command line, and saves settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat_cli.terminal.failures import say
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client

THINKING_LEVELS = ("off", "minimal", "low", "medium", "high", "max")


async def save_settings(client: Client, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Save settings, warn about those that have no effect, and return all saved settings.

    Raises:
        ClientError: the daemon rejects a key or a value.
    """
    answer = await client.request("settings/save", {"settings": patch})
    for warning in answer.get("warnings") or ():
        say(f"warning: {clean_line(str(warning['message']))}")
    return dict(answer["settings"])


def convert_settings(texts: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Convert typed texts to the types that the schema requires.

    A text that does not have the type of its row is not converted: the daemon rejects it and explains the
    rule.

    Args:
        texts: the values by key, as they were typed.
        rows: the rows of `settings/schema`.
    """
    by_key = {row["key"]: row for row in rows}
    return {key: _convert(text, by_key.get(key, {})) for key, text in texts.items()}


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity are not valid JSON.


def _convert(text: str, row: Mapping[str, Any]) -> Any:
    choices = {str(choice).lower(): choice for choice in row.get("choices") or ()}
    match row.get("type"):
        case "string":
            return text
        case "boolean":
            return {"true": True, "false": False}.get(text.lower(), text)
        case "enum":
            return choices.get(text.lower(), text)
        case "number" | "integer" | "list" | "map":
            try:
                return json.loads(text, parse_constant=_refuse_constant)
            except ValueError:
                return text
    return text
