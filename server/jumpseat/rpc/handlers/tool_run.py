"""Handles `tools/run`. See `docs/protocol/tools.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import InvalidRequestError, RequestError, ToolUseBlock
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.rpc.encode import to_wire
from jumpseat.rpc.handlers.chat import create_sink
from jumpseat.rpc.handlers.tools import begin_call
from jumpseat.rpc.params import ToolsRunParams

CALL_ID = "call"
"""The `toolUseId` of the only call."""


async def tools_run(session: Session, call: MethodCall[ToolsRunParams]) -> dict[str, Any]:
    """Run one tool call. The same rules and approvals apply as to a call in a chat.

    Raises:
        InvalidRequestError: there is no such tool, or a rule denies it.
        RequestError: the server of the tool cannot be used.
    """
    params = call.params
    sink = create_sink(session, call)
    tools = await begin_call(session, params, sink.turn_id)
    try:
        warnings = await tools.open((), sink.send)
        if warnings:
            raise RequestError(warnings[0].message)
        if not tools.definitions:
            message = f"{params.server} has no tool named {params.tool!r}, or a rule denies its calls"
            raise InvalidRequestError.at("tool", message)
        (definition,) = tools.definitions
        result = await tools.run(ToolUseBlock(CALL_ID, definition.name, params.arguments, ""), sink.send)
    finally:
        await tools.aclose()
    encoded: dict[str, Any] = {"content": to_wire(result.content)}
    return {**encoded, "isError": True} if result.is_error else encoded
