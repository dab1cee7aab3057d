"""Sends the events of a turn, and kept messages, as `session/update` notifications."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.chat import (
    BlockDoneEvent,
    CitationEvent,
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    ResponseEvent,
    RetryEvent,
    StartEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    ThinkingBlock,
    ThinkingDeltaEvent,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)
from jumpseat.engine import Sink
from jumpseat.wire import write_json

ANSWER, THOUGHT, QUESTION = "agent_message_chunk", "agent_thought_chunk", "user_message_chunk"

SILENT_WARNINGS = ("conversation_forked",)
"""The warnings that concern clients of jumpseat's own contract only."""


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
            on_begin: called with the first event.
            on_answer: called whenever the provider begins an answer, so again after a retry.
        """
        self._client = client
        self._id = conversation.id
        self._on_begin = on_begin
        self._on_answer = on_answer
        self._message_id = str(uuid4())
        self._answer_head = self._head_of(ANSWER)
        self._thought_head = self._head_of(THOUGHT)
        self._cited: set[str] = set()
        self.start: StartEvent | None = None
        """The first event of the turn, which names its model."""

    def send(self, event: StreamEvent) -> None:
        """Send the event, if the protocol has a form for it."""
        # Most events are text, so build their messages from bytes, which is faster than from objects.
        if type(event) is TextDeltaEvent:
            self._client.outbox.send_body(b"%b%b}}}}" % (self._answer_head, write_json(event.text)))
            return
        match event:
            case ThinkingDeltaEvent():
                self._client.outbox.send_body(b"%b%b}}}}" % (self._thought_head, write_json(event.text)))
            case StartEvent():
                self.start = event
                self._on_begin()
            case ResponseEvent():
                self._on_answer()
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
        """Wait until the client has read enough."""
        return self._client.outbox.wait_until_ready()

    def _head_of(self, kind: str) -> bytes:
        """Return the JSON text of a text chunk up to its text."""
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


def replay(client: AcpClient, conversation: AcpConversation, message: Message) -> None:
    """Send a message of the past."""
    message_id = str(uuid4())
    for block in message.content:
        match block:
            case ToolUseBlock():
                client.update(
                    conversation.id,
                    "tool_call",
                    toolCallId=block.id,
                    title=block.name,
                    kind="other",
                    status="completed",
                    rawInput=block.arguments or {},
                )
            case ToolResultBlock():
                status = "failed" if block.is_error else "completed"
                parts = [TextBlock(block.content)] if isinstance(block.content, str) else block.content
                client.update(
                    conversation.id,
                    "tool_call_update",
                    toolCallId=block.tool_use_id,
                    status=status,
                    content=[{"type": "content", "content": _encode_block(part)} for part in parts],
                )
            case ThinkingBlock():
                content = {"type": "text", "text": block.thinking}
                client.update(conversation.id, THOUGHT, messageId=message_id, content=content)
            case _:
                if (shown := _encode_block(block)) is not None:
                    kind = QUESTION if message.role == "user" else ANSWER
                    client.update(conversation.id, kind, messageId=message_id, content=shown)


def _encode_block(block: ContentBlock) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return encode_image(block)
        case ContextBlock(uri=str(uri)):
            return {"type": "resource", "resource": {"uri": uri, "text": block.text}}
        case ContextBlock():
            return {"type": "text", "text": block.text}
        case DocumentBlock():
            return _encode_document(block)
        case _:
            return None


def _encode_document(document: DocumentBlock) -> dict[str, Any]:
    """Return a document as content, or a link to it."""
    name = document.name or "document"
    if document.source.startswith("https:"):
        return {"type": "resource_link", "uri": document.source, "name": name}
    media_type, data = _split_source(document.source, document.media_type or "application/octet-stream")
    return {"type": "resource", "resource": {"uri": name, "blob": data, "mimeType": media_type}}


def encode_image(image: ImageBlock) -> dict[str, Any]:
    """Return an image as content, or a link to it."""
    if image.source.startswith("https:"):
        return {"type": "resource_link", "uri": image.source, "name": "image"}
    media_type, data = _split_source(image.source, image.media_type or "image/png")
    return {"type": "image", "data": data, "mimeType": media_type}


def _split_source(source: str, media_type: str) -> tuple[str, str]:
    """Return the media type and the base64 data of a `data:` URL, or of data with this media type."""
    head, comma, data = source.partition(",")
    return (head.removeprefix("data:").partition(";")[0], data) if comma else (media_type, source)
