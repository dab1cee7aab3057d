"""Sends the events of a turn as `session/update` notifications."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from jumpseat.acp.client import AcpClient
from jumpseat.acp.content import encode_image
from jumpseat.acp.conversation import AcpConversation
from jumpseat.chat import (
    BLOCK_EVENTS,
    BlockDoneEvent,
    CitationEvent,
    ImageBlock,
    ResponseEvent,
    RetryEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolApprovalEvent,
    ToolResultBlock,
    ToolStatusEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    WarningEvent,
)
from jumpseat.engine import Sink
from jumpseat.wire import write_json

if TYPE_CHECKING:
    from jumpseat.acp.tool_calls import TurnCalls

ANSWER, THOUGHT, QUESTION = "agent_message_chunk", "agent_thought_chunk", "user_message_chunk"

SILENT_WARNINGS = ("conversation_forked",)
"""The warnings that concern only clients of jumpseat's own protocol."""


class UpdateSink(Sink):
    """Sends the events of one turn to the client."""

    def __init__(
        self,
        client: AcpClient,
        conversation: AcpConversation,
        *,
        on_begin: Callable[[], None],
        on_answer: Callable[[], None],
    ) -> None:
        """
        Args:
            client: the client.
            conversation: the conversation of the turn.
            on_begin: called when the first event is sent.
            on_answer: called each time the provider begins an answer, including retries.
        """
        self._client = client
        self._id = conversation.id
        self._on_begin = on_begin
        self._on_answer = on_answer
        self._begin_message()
        self._finished_block = -1
        """The block number of the last tool result, or -1. Blocks up to this number can no longer change."""

        self._cited: set[str] = set()
        self.calls: TurnCalls | None = None
        """Shows the tool calls. None if the turn has no tools; calls by the model are then not shown."""

        self.start: StartEvent | None = None
        """The first event of the turn, which names its model."""

    def send(self, event: StreamEvent) -> None:
        """Send the event, if the protocol has a form for it."""
        # Most events are text, so build their messages from bytes, which is faster than from objects.
        if type(event) is TextDeltaEvent:
            if event.block > self._finished_block:
                self._client.outbox.send_body(b"%b%b}}}}" % (self._answer_head, write_json(event.text)))
            return
        if isinstance(event, BLOCK_EVENTS) and event.block <= self._finished_block:
            return  # If an answer starts again, the blocks of earlier rounds arrive again. Skip them.
        match event:
            case ThinkingDeltaEvent():
                self._client.outbox.send_body(b"%b%b}}}}" % (self._thought_head, write_json(event.text)))
            case StartEvent():
                self.start = event
                self._on_begin()
            case ResponseEvent():
                self._on_answer()
                if self.calls is not None:
                    self.calls.fail_unfinished()
            case ToolUseStartEvent() | ToolUseDoneEvent() | ToolApprovalEvent() | ToolStatusEvent():
                if self.calls is not None:
                    self.calls.show(event)
            case BlockDoneEvent(content=ToolResultBlock() as result):
                if self.calls is not None:
                    self.calls.show_result(result)
                self._finished_block = event.block
                self._begin_message()
            case BlockDoneEvent(content=ImageBlock() as image):
                self._send_chunk(encode_image(image))
            case CitationEvent(url=str(url)) if url not in self._cited:
                self._cited.add(url)
                self._send_chunk({"type": "resource_link", "uri": url, "name": event.title or url})
            case WarningEvent() if event.code not in SILENT_WARNINGS:
                self._client.notify(self._id, "warning", event.message)
            case RetryEvent():
                self._client.notify(self._id, "warning", f"{event.error.message} Trying again.")
            case _:
                pass

    def wait_until_ready(self) -> Coroutine[Any, Any, None]:
        """Wait until the output queue has room again."""
        return self._client.outbox.wait_until_ready()

    def close(self) -> None:
        """Close the open questions about tool calls, and mark unfinished calls as failed."""
        if self.calls is not None:
            self.calls.close()

    def _begin_message(self) -> None:
        """Use a new message id from now on, so that clients show the next text below the tool calls."""
        self._message_id = str(uuid4())
        self._answer_head = self._head_of(ANSWER)
        self._thought_head = self._head_of(THOUGHT)

    def _head_of(self, kind: str) -> bytes:
        """Return the beginning of the message for a chunk of text. The text as JSON and `}}}}` follow."""
        params = write_json({"sessionId": self._id})[:-1]
        update = write_json({"sessionUpdate": kind, "messageId": self._message_id})[:-1]
        return (
            b'{"jsonrpc":"2.0","method":"session/update","params":%b,"update":%b'
            b',"content":{"type":"text","text":' % (params, update)
        )

    def _send_chunk(self, content: dict[str, Any]) -> None:
        self._client.update(self._id, ANSWER, messageId=self._message_id, content=content)


def show_text(client: AcpClient, conversation: AcpConversation, text: str) -> None:
    """Send a message that no model wrote."""
    content = {"type": "text", "text": text}
    client.update(conversation.id, ANSWER, messageId=str(uuid4()), content=content)
