"""Run turns with the tools of a scripted server: script their rounds, and read their outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from jumpseat.chat import (
    ChatError,
    ContentBlock,
    DoneEvent,
    Fold,
    Response,
    ResponseEvent,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    Usage,
)
from jumpseat.engine import TurnRequest, run_turn
from tests.unit.scripted import RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text
from tests.unit.tools.scripted_server import ScriptedServer, begin_turn, make_host

END = DoneEvent("end_turn", Usage(3, 2), "stop")
CALLS = DoneEvent("tool_use", Usage(10, 5), "tool_calls")
GREP = ToolDefinition("grep", "finds", {})


def script_calls(*calls: ToolUseBlock, first: int = 0) -> list[Step]:
    """Return the events of a round that consists of these calls."""
    steps: list[Step] = []
    for number, call in enumerate(calls, first):
        steps += [ToolUseStartEvent(number, call.id, call.name), ToolUseDoneEvent(number, call)]
    return [ResponseEvent("m"), *steps, CALLS]


ANSWER: list[Step] = [ResponseEvent("m"), *script_text("Done."), END]


async def run(
    adapter: ScriptedAdapter,
    server: ScriptedServer,
    turn_request: TurnRequest | None = None,
    sink: RecordingSink | None = None,
    **options: Any,
) -> tuple[Response | ChatError, RecordingSink]:
    """Run a turn with the server's tools, which need no approval; return its outcome and its events."""
    sink = sink or RecordingSink()
    host = make_host(server, **{"allow": ["shed/*"], **options})
    try:
        async with asyncio.timeout(10):
            outcome = await run_turn(
                registry_of(adapter), turn_request or ask(), sink, tools=begin_turn(host)
            )
    except ChatError as error:
        return error, sink
    return outcome, sink


def shapes(content: Sequence[ContentBlock]) -> list[str]:
    """Return each block in short: a call by its id, a result by its id and text, a text by its text."""
    shown = []
    for block in content:
        match block:
            case ToolUseBlock():
                shown.append(f"call {block.id}")
            case ToolResultBlock():
                shown.append(f"{'error' if block.is_error else 'result'} {block.tool_use_id}: {block.text}")
            case TextBlock():
                shown.append(block.text)
    return shown


def refold(sink: RecordingSink) -> Sequence[ContentBlock]:
    """Return the content as a client folds it from the events."""
    fold = Fold("fake", "m")
    for event in sink.events:
        fold.add(event)
    return fold.response().content
