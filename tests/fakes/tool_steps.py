"""Steps for the scripted daemon (`daemon.py`), for chats in which the daemon runs tools."""

from __future__ import annotations

from typing import Any

START = {"delta": {"type": "start", "provider": "fake", "model": "m"}}
DECIDED = {"tools/decide": {"decided": True}}
"""An entry of `answers` in a scenario: the daemon's answer to a decision."""


def call(name: str, call_id: str = "c1", *, block: int = 0, **arguments: Any) -> list[dict[str, Any]]:
    """Return the deltas of a tool call of the model."""
    content = {"type": "tool_use", "id": call_id, "name": name, "arguments": arguments, "raw": ""}
    return [
        {"delta": {"type": "tool_use_start", "block": block, "id": call_id, "name": name}},
        {"delta": {"type": "tool_use_done", "block": block, "content": content}},
    ]


def question(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    """Return the delta of a question about a call."""
    return {
        "delta": {
            "type": "tool_approval",
            "toolUseId": call_id,
            "server": "shed",
            "tool": "dig",
            "title": "Dig a hole",
            "kind": "edit",
            "arguments": {"depth": 2},
            "reason": "ask",
            "remember": ["turn", "conversation", "always"],
            **more,
        }
    }


def wait_for_decisions(times: int = 1) -> dict[str, Any]:
    """Return a step that waits for this many decisions."""
    return {"wait": "message", "method": "tools/decide", "times": times}


def status(status: str, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    """Return the delta of a call's status."""
    return {"delta": {"type": "tool_status", "toolUseId": call_id, "status": status, **more}}


def result(text: str, call_id: str = "c1", *, tool: str = "shed/dig", **more: Any) -> dict[str, Any]:
    """Return the delta of a call's result."""
    content = result_block(text, call_id, tool=tool, **more)
    return {"delta": {"type": "block_done", "block": 1, "content": content}}


def result_block(text: str, call_id: str = "c1", *, tool: str = "shed/dig", **more: Any) -> dict[str, Any]:
    """Return the block of a call's result."""
    origin = {"provider": "daemon", "model": tool}
    return {"type": "tool_result", "toolUseId": call_id, "content": text, "origin": origin, **more}
