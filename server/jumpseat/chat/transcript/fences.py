"""Writes and reads blocks other than text and thinking, as code fences of Markdown or blocks of Org.

The info string has pairs of keys and values after the block's type. A value with unusual characters is a JSON
string. The content is the block's text, in which lines that look like markers are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from pydantic_core import from_json

from jumpseat.chat.blocks import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Origin,
    OtherBlock,
    Position,
    Range,
    RedactedThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.nul import replace_escaped_nul
from jumpseat.chat.transcript.editor_settings import escape_settings, has_settings
from jumpseat.chat.transcript.syntax import Syntax

FencedBlock: TypeAlias = (
    ContextBlock
    | DocumentBlock
    | ImageBlock
    | OtherBlock
    | RedactedThinkingBlock
    | ToolResultBlock
    | ToolUseBlock
)

_PLAIN = re.compile(r"[\w.:+/@%~#,;!?&()*-]+", re.ASCII)
_RANGE = re.compile(r"([0-9]{1,9}):([0-9]{1,9})-([0-9]{1,9}):([0-9]{1,9})", re.ASCII)


def list_pairs_and_text(block: FencedBlock, result: str | None) -> tuple[dict[str, str | None], str | None]:
    """Return the pairs of the info string, and the content, which is None for a block without text.

    Args:
        result: the id of the tool call whose result contains this image or document.
    """
    match block:
        case ToolUseBlock():
            return {"id": block.id, "name": block.name, "error": block.error}, block.raw
        case ToolResultBlock():
            error = "true" if block.is_error else None
            return {"id": block.tool_use_id, "is_error": error}, block.text
        case ContextBlock():
            span = _write_range(block.range) if block.range else None
            pairs = {"uri": block.uri, "language": block.language_id, "range": span, "label": block.label}
            return pairs, block.text
        case ImageBlock():
            origin = _write_origin(block.origin)
            return {"media_type": block.media_type, "origin": origin, "result": result}, block.source
        case DocumentBlock():
            return {"media_type": block.media_type, "name": block.name, "result": result}, block.source
        case RedactedThinkingBlock():
            return {"origin": _write_origin(block.origin)}, block.data
        case OtherBlock():
            return {"kind": block.kind, "origin": _write_origin(block.origin)}, block.text
        case _:
            assert_never(block)


def write_info(pairs: Mapping[str, str | None], syntax: Syntax) -> str:
    """Return the part of the info string after the block's type. Pairs whose value is None are omitted."""
    return "".join(
        [
            syntax.pair_form.format(key, _quote_value(value))
            for key, value in pairs.items()
            if value is not None
        ]
    )


def read_info(info: str, syntax: Syntax) -> dict[str, str] | None:
    """Parse the pairs of an info string; None if it does not consist of pairs."""
    pairs: dict[str, str] = {}
    position, end = 0, len(info.rstrip(" \t\r"))
    while position < end:
        pair = syntax.pair.match(info, position, end)
        if pair is None:
            return None
        key, value = pair[1], pair[2]
        if value.startswith('"'):
            try:
                value = json.loads(replace_escaped_nul(value))
            except ValueError:
                return None
        pairs[key] = value
        position = pair.end()
    return pairs


def create_block(kind: str, pairs: Mapping[str, str], lines: Sequence[str], text: str) -> ContentBlock | None:
    """Create the block for a fence; None if the pairs lack a required key.

    Args:
        kind: the first word of the info string.
        pairs: the pairs of the info string.
        lines: the lines between the fences, unchanged.
        text: the text of these lines without escapes.
    """
    match kind:
        # A fence that lacks a required key was written by hand. It stays text, so that nothing is lost.
        case "tool_use" if "id" in pairs and "name" in pairs:
            error = pairs.get("error")
            arguments = None if error is not None else _parse_arguments(text)
            return ToolUseBlock(pairs["id"], pairs["name"], arguments, text, error)
        case "tool_result" if "id" in pairs:
            return ToolResultBlock(pairs["id"], text, pairs.get("is_error") == "true")
        case "context":
            span = _read_range(pairs.get("range"))
            return ContextBlock(text, pairs.get("uri"), pairs.get("language"), span, pairs.get("label"))
        case "image":
            return ImageBlock(text, pairs.get("media_type"), origin=_read_origin(pairs.get("origin")))
        case "document":
            return DocumentBlock(text, pairs.get("media_type"), pairs.get("name"))
        case "redacted_thinking":
            return RedactedThinkingBlock(text, origin=_read_origin(pairs.get("origin")))
        case "other" if "kind" in pairs:
            origin = _read_origin(pairs.get("origin"))
            # One empty line is an empty text. If there is no line, the text is None.
            return OtherBlock(pairs["kind"], text if lines else None, origin=origin)
    return None


def _quote_value(value: str) -> str:
    # In Org, a value follows a space, so it can begin editor settings.
    if _PLAIN.fullmatch(value) and not has_settings(value):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    # An info string after backticks cannot contain backticks (CommonMark 0.31, section 4.5). The other
    # characters are control characters and separators. Some editors treat some of them as line endings.
    quoted = re.sub("[`\x7f-\x9f\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", quoted)
    return escape_settings(quoted, r"\u003a")


def _parse_arguments(raw: str) -> dict[str, object] | None:
    try:
        arguments = from_json(replace_escaped_nul(raw) or "{}", allow_inf_nan=False)
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None


def _write_origin(origin: Origin | None) -> str | None:
    return f"{origin.provider}:{origin.model}" if origin else None


def _read_origin(text: str | None) -> Origin | None:
    # Provider ids cannot contain a colon, but model names can.
    provider, colon, model = (text or "").partition(":")
    return Origin(provider, model) if colon else None


def _write_range(span: Range) -> str:
    return f"{span.start.line}:{span.start.character}-{span.end.line}:{span.end.character}"


def _read_range(text: str | None) -> Range | None:
    found = _RANGE.fullmatch(text or "")
    if found is None:
        return None
    a, b, c, d = map(int, found.groups())
    return Range(Position(a, b), Position(c, d))
