"""Reads a server's list of tools. The list may have any length and may contain anything."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.tools.display import make_title
from jumpseat.tools.server import Tool
from jumpseat.wire import write_json

logger = logging.getLogger(__name__)

MAX_TOOLS = 20_000
"""The maximum number of tools of one server; a turn offers far fewer."""

MAX_NAME = 128
"""The length of the longest name that the specification allows (2025-11-25, "Tool Names")."""

MAX_DESCRIPTION = 8000
"""The maximum number of characters of a description. Every request to the model contains it."""

_HEADER_MARK = b"x-mcp-header"


def read_tools(listed: Sequence[Any]) -> list[Tool]:
    """Return the usable tools of a list. If several tools have the same name, only the last is returned."""
    tools = {tool.name: tool for each in listed[:MAX_TOOLS] if (tool := _read_tool(each)) is not None}
    if len(tools) < len(listed):
        logger.warning("%d of %d listed tools cannot be used", len(listed) - len(tools), len(listed))
    return list(tools.values())


def select_annotated(listed: Sequence[Any]) -> list[Any]:
    """Return the name and schema of each tool whose schema marks arguments that are also sent as headers.

    The SDK needs nothing else of the list.
    """
    return [
        {key: value for key, value in each.items() if key in ("name", "inputSchema")}
        for each in listed
        if isinstance(each, Mapping) and _HEADER_MARK in write_json(each.get("inputSchema"))
    ]


def _read_tool(tool: Any) -> Tool | None:
    if not isinstance(tool, Mapping):
        return None
    name, schema = tool.get("name"), tool.get("inputSchema")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        return None
    if not isinstance(schema, Mapping):
        return None
    description, annotations = tool.get("description"), tool.get("annotations")
    title = tool.get("title") or (annotations.get("title") if isinstance(annotations, Mapping) else None)
    return Tool(
        name=name,
        description=_cut(description) if isinstance(description, str) else "",
        parameters={"type": "object", **schema},
        title=make_title(title) if isinstance(title, str) else None,
    )


def _cut(text: str) -> str:
    if len(text) <= MAX_DESCRIPTION:
        return text
    return f"{text[:MAX_DESCRIPTION]} … ({len(text)} characters)"
