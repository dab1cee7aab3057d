"""The values of settings on the command line, by the rows of the settings schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def typed_settings(texts: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The values of settings, with the types of their rows.

    Args:
        texts: by key, as they were typed.
        rows: of `settings/schema`.

    A text that has not the type of its row stays a text: the daemon refuses it with the rule.
    """
    by_key = {row["key"]: row for row in rows}
    return {key: _typed(text, by_key.get(key, {})) for key, text in texts.items()}


def _refused(constant: str) -> None:
    raise ValueError(constant)  # JSON has no NaN and no Infinity.


def _typed(text: str, row: Mapping[str, Any]) -> Any:
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
                return json.loads(text, parse_constant=_refused)
            except ValueError:
                return text
    return text
