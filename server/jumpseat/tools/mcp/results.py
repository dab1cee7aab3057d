"""Converts the result of a call for the model.

Source: section "Tool Result" of MCP's specification, revisions up to 2026-07-28.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from jumpseat.chat import DocumentBlock, ImageBlock, ResultPart, TextBlock
from jumpseat.chat.media import join_parts
from jumpseat.tools.server import ToolOutput
from jumpseat.wire import write_json

MAX_PARTS = 1000
"""The maximum number of parts of a result; a note replaces all further parts."""

PDF = "application/pdf"


def read_result(result: Mapping[str, Any]) -> ToolOutput:
    """Convert the result of `tools/call` into the output for the model."""
    is_error = result.get("isError") is True
    content = result.get("content")
    listed = content if isinstance(content, list) else []
    parts = _join_texts(islice(map(_read_part, listed), MAX_PARTS))
    if len(listed) > MAX_PARTS:
        parts.append(TextBlock(f"\n[{len(listed) - MAX_PARTS} more parts were left out.]"))
    structured = result.get("structuredContent")
    if structured is not None and not any(isinstance(part, TextBlock) for part in parts):
        parts.append(TextBlock(write_json(structured).decode()))
    if not parts:
        parts = [
            TextBlock("The tool failed without a message." if is_error else "The tool returned nothing.")
        ]
    return ToolOutput(join_parts(parts), is_error)


def _join_texts(parts: Iterator[ResultPart]) -> list[ResultPart]:
    """Join adjacent texts with line feeds."""
    joined: list[ResultPart] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextBlock):
            texts.append(part.text)
            continue
        if texts:
            joined.append(TextBlock("\n".join(texts)))
            texts = []
        joined.append(part)
    return [*joined, TextBlock("\n".join(texts))] if texts else joined


def _read_part(part: Any) -> ResultPart:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text)
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return ImageBlock(data, kind)
        case {"type": "audio", "data": str(data)}:
            return TextBlock(f"[The tool returned audio of {len(data) // 1024} KiB, which was left out.]")
        case {"type": "resource_link", "uri": str(uri)}:
            name = part.get("title") or part.get("name")
            return TextBlock(f"{name}: {uri}" if isinstance(name, str) else uri)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return TextBlock(f"{uri}:\n{text}")
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)}}:
            kind = part["resource"].get("mimeType")
            return _read_blob(uri, data, kind if isinstance(kind, str) else "")
        case _:
            return TextBlock("[The tool returned a part of an unknown type, which was left out.]")


def _read_blob(uri: str, data: str, kind: str) -> ResultPart:
    if kind.startswith("image/"):
        return ImageBlock(data, kind)
    if kind == PDF:
        return DocumentBlock(data, kind, uri)
    what = f" of the type {kind}" if kind else ""
    return TextBlock(f"[The tool returned {uri}{what}, {len(data) // 1024} KiB, which was left out.]")
