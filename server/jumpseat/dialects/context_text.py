"""Renders context blocks for the model: path, label, line numbers, and a fence that the text cannot close."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from jumpseat.chat import ContextBlock, Range
from jumpseat.chat.fence import make_fence

MAX_NAME = 300
"""The maximum length of a name in characters: enough for a path, too short for an injected prompt."""

_NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029`]+")
_NOT_LANGUAGE = re.compile(r"[^\w+#.-]")


def render_context(block: ContextBlock) -> str:
    """Return the block as a heading and a fenced text, without a trailing line ending."""
    # `dict.fromkeys` drops a label that repeats the name.
    names = dict.fromkeys(filter(None, (_plain(_name_of(block.uri)), _plain(block.label or ""))))
    heading = (
        ", ".join(filter(None, (*(f"`{name}`" for name in names), _format_lines(block.range)))) or "Context"
    )
    fence = make_fence(block.text)
    language = _NOT_LANGUAGE.sub("", block.language_id or "")
    end = "" if block.text.endswith("\n") or not block.text else "\n"
    return f"{heading}:\n{fence}{language}\n{block.text}{end}{fence}"


def _plain(name: str) -> str:
    return " ".join(_NOT_PLAIN.sub(" ", name).split())[:MAX_NAME]


def _name_of(uri: str | None) -> str:
    return path_of(uri) or uri or ""


def path_of(uri: str | None) -> str | None:
    """Return the path of a `file:` URI; None for any other URI."""
    try:
        parts = urlsplit(uri or "")
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    # A Windows path in a URI starts with `/C:/`.
    return path[1:] if re.match(r"/[A-Za-z]:", path) else path


def _format_lines(span: Range | None) -> str:
    """Return the line numbers of a range, counted from 1, including the last line."""
    if span is None:
        return ""
    first, last = span.start.line + 1, span.end.line + 1
    # A range that ends at the start of a line does not include that line.
    if span.end.character == 0 and last > first:
        last -= 1
    return f"line {first}" if first == last else f"lines {first}-{last}"
