"""Tool calls in the updates of a turn whose answers start again, and whose servers report progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.tool_calls import TurnCalls
from jumpseat.acp.updates import UpdateSink
from jumpseat.chat import (
    BlockDoneEvent,
    Origin,
    ResponseEvent,
    StartEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ToolResultBlock,
    ToolStatusEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
)
from jumpseat.connections.outbox import Outbox
from jumpseat.system.environment import environment_of_process
from jumpseat.wire import encode_frame
from tests.acp import check
from tests.unit.connections.recorder import RecordingWriter
from tests.unit.tools.scripted_server import ScriptedServer, begin_turn, make_call, make_host

pytestmark = [pytest.mark.requirement("12:acp-calls"), pytest.mark.usefixtures("home")]


class Wire:
    """A sink and the updates that it has sent."""

    def __init__(self) -> None:
        self.writer = RecordingWriter()
        client = AcpClient(
            Outbox(self.writer, encode_frame),
            environment_of_process(),
            config_file=None,
            stop=lambda: None,
            cancel=lambda request_id: False,
            watch_parent=lambda process_id: None,
        )
        conversation = AcpConversation("session", Path("/project"))
        host = make_host(ScriptedServer())
        self.sink = UpdateSink(client, conversation, on_begin=lambda: None, on_answer=lambda: None)
        self.sink.calls = TurnCalls(client, conversation, begin_turn(host), host.approvals, "t")
        self.send(StartEvent("p", "m"), ResponseEvent("m"))

    def send(self, *events: StreamEvent) -> None:
        for event in events:
            self.sink.send(event)

    @property
    def updates(self) -> list[dict[str, Any]]:
        """The updates, each of which must match the schema."""
        for message in self.writer.messages:
            check(message["method"], message["params"])
        return [message["params"]["update"] for message in self.writer.messages]

    @property
    def texts(self) -> list[str]:
        chunks = [each for each in self.updates if each["sessionUpdate"] == "agent_message_chunk"]
        return [each["content"]["text"] for each in chunks]

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(each["toolCallId"], each["status"]) for each in self.updates if "status" in each]


def text_events(text: str, block: int = 0) -> list[StreamEvent]:
    return [TextStartEvent(block), TextDeltaEvent(block, text), TextDoneEvent(block, TextBlock(text))]


def call_events(block: int = 0) -> list[StreamEvent]:
    return [
        ToolUseStartEvent(block, "c1", "shed__dig"),
        ToolUseDoneEvent(block, make_call("shed__dig", "c1", deep=True)),
    ]


def test_a_call_of_an_answer_that_starts_again_is_not_left_running() -> None:
    wire = Wire()
    wire.send(*call_events(), ResponseEvent("m"), *call_events())

    assert wire.states == [("c1", "pending"), ("c1", "failed"), ("c1_2", "pending")]


def test_blocks_of_earlier_rounds_are_not_shown_again() -> None:
    wire = Wire()
    result = BlockDoneEvent(2, ToolResultBlock("c1", "dug", origin=Origin("daemon", "shed/dig")))
    first = [*text_events("I dig."), *call_events(1), result]
    wire.send(*first, *text_events("Half", 3), ResponseEvent("m"), *first, *text_events("Done.", 3))

    assert wire.texts == ["I dig.", "Half", "Done."]
    assert wire.states == [("c1", "pending"), ("c1", "completed")]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (ToolStatusEvent("c1", "running", "Loading", 3, 10), "3 of 10: Loading"),
        (ToolStatusEvent("c1", "running", "Loading"), "Loading"),
        (ToolStatusEvent("c1", "running", None, 0.5), "0.5"),
    ],
)
def test_progress_is_content_of_the_running_call(event: ToolStatusEvent, text: str) -> None:
    wire = Wire()
    wire.send(*call_events(), event)

    assert wire.updates[-1]["status"] == "in_progress"
    assert wire.updates[-1]["content"] == [{"type": "content", "content": {"type": "text", "text": text}}]


def test_a_call_that_is_running_when_its_turn_ends_is_shown_as_failed() -> None:
    wire = Wire()
    wire.send(*call_events(), ToolStatusEvent("c1", "running"))
    wire.sink.close()

    assert wire.states == [("c1", "pending"), ("c1", "in_progress"), ("c1", "failed")]
    # Some clients show each update by itself, so every update has the title and the kind.
    assert {(each["title"], each["kind"]) for each in wire.updates} == {("shed__dig", "other")}
