"""Encodes chat requests in the parlour's dialect, with pure functions."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    ContextBlock,
    JsonSchemaOutput,
    NamedTool,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects import render_context


def parameters(request: ChatRequest) -> dict[str, Any]:
    """Return the body without the turns."""
    body: dict[str, Any] = {"voice": request.model, "live": request.stream, "at_most": request.max_tokens}
    if request.system is not None:
        body["manners"] = request.system
    if request.thinking is not None:
        body["ponder"] = request.thinking
    if isinstance(request.output_mode, JsonSchemaOutput):
        body["shape"] = dict(request.output_mode.schema)
    elif request.output_mode == "json":
        body["shape"] = {}
    if request.tools:
        body["errands"] = [
            {"name": tool.name, "about": tool.description, "takes": dict(tool.parameters)}
            for tool in request.tools
        ]
        choice = request.tool_choice
        body["errand"] = choice.name if isinstance(choice, NamedTool) else f"*{choice}"
    return body


def turns(request: ChatRequest, provider: str) -> list[dict[str, Any]]:
    """Return the turns of the conversation. A seal is sent only to the model that made it."""
    here = Origin(provider, request.model)
    said = []
    for message in request.messages:
        parts = [part for block in message.content if (part := _part(block, here)) is not None]
        said.append({"who": "guest" if message.role == "user" else "host", "parts": parts})
    return said


def _part(block: ContentBlock, here: Origin) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return {"say": block.text}
        case ContextBlock():
            return {"say": render_context(block)}
        case ThinkingBlock() if block.opaque is not None and block.origin == here:
            return {"ponder": block.thinking, "seal": block.opaque}
        case ToolUseBlock():
            return {"errand": block.name, "ref": block.id, "input": block.raw or "{}"}
        case ToolResultBlock():
            return {"ref": block.tool_use_id, "outcome": block.text, "failed": bool(block.is_error)}
        case _:
            return None
