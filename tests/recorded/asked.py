"""Decodes recorded requests of any dialect to `ChatRequest`, but only the parts that the tests need."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)


def request_of(body: Mapping[str, Any]) -> ChatRequest:
    """Return the request in a body of any dialect."""
    items = body.get("messages") or body.get("input") or []
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    system = [_text(body.get("system") or body.get("instructions") or "")]
    messages: list[Message] = []
    for item in items:
        if item.get("role") in ("system", "developer"):
            system.append(_text(item.get("content")))
            continue
        role = "assistant" if item.get("role") == "assistant" or "arguments" in item else "user"
        messages.append(Message(role, tuple(_blocks(item))))
    return ChatRequest(
        messages=messages,
        model=str(body.get("model", "")),
        system="\n".join(filter(None, system)) or None,
        tools=[_tool(tool) for tool in body.get("tools") or []],
    )


def _tool(tool: Mapping[str, Any]) -> ToolDefinition:
    function = tool.get("function") or tool
    schema = function.get("parameters") or function.get("input_schema") or {}
    return ToolDefinition(function.get("name", ""), function.get("description") or "", schema)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content or ())


def _blocks(item: Mapping[str, Any]) -> Iterator[ContentBlock]:
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        yield ToolResultBlock(item["call_id"], _text(item["output"]))
        return
    if item.get("type") == "function_call":
        yield ToolUseBlock(item["call_id"], item["name"], None, item["arguments"])
        return
    if item.get("type") == "custom_tool_call":
        yield ToolUseBlock(item["call_id"], item["name"], None, item["input"])
        return
    if item.get("role") == "tool":
        yield ToolResultBlock(item.get("tool_call_id", ""), _text(item.get("content")))
        return
    content = item.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for part in parts:
        yield from _part(part)
    for call in item.get("tool_calls") or []:
        function = call["function"]
        raw = function["arguments"]
        yield ToolUseBlock(
            call.get("id", ""), function["name"], None, raw if isinstance(raw, str) else json.dumps(raw)
        )


def _source(part: Mapping[str, Any]) -> str:
    """Return the base64 or the URL of an image in any dialect."""
    place = part.get("source") or part.get("image_url") or {}
    if isinstance(place, str):
        return place
    return str(place.get("data") or place.get("url") or "")


def _part(part: Mapping[str, Any]) -> Iterator[ContentBlock]:
    kind = part.get("type", "")
    if "image" in kind or kind in ("document", "file", "input_file"):
        yield ImageBlock(_source(part))
    elif kind == "tool_use":
        yield ToolUseBlock(part["id"], part["name"], None, json.dumps(part["input"]))
    elif kind == "tool_result":
        yield ToolResultBlock(part["tool_use_id"], _text(part.get("content")))
    elif kind == "thinking":
        yield ThinkingBlock(part["thinking"])
    elif "text" in part:
        yield TextBlock(part["text"])
    else:
        yield OtherBlock(kind, json.dumps(part))
