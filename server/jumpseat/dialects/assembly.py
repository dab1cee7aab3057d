"""Builds the events of an answer for every dialect, according to the rules in `jumpseat.chat.events`.

A decoder passes in text, thinking and pieces of tool calls. The assembler opens and closes the blocks,
numbers them in first-seen order, and builds the finished blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from jumpseat.chat import (
    BlockDoneEvent,
    DoneEvent,
    ImageBlock,
    Origin,
    OtherBlock,
    ProtocolError,
    RedactedThinkingBlock,
    StopReason,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingBlock,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolUseBlock,
    ToolUseDeltaEvent,
    ToolUseDoneEvent,
    ToolUseStartEvent,
    Usage,
    WarningEvent,
)
from jumpseat.dialects.arguments import parse_arguments
from jumpseat.dialects.cut_text import Joiner
from jumpseat.dialects.opaque import CALL_ID, read_opaque, write_opaque
from jumpseat.dialects.provider_errors import clean_message
from jumpseat.dialects.stop_reasons import stop_reason_of

OpaqueSource: TypeAlias = Callable[[], str | None]

MAX_WHITESPACE = 4096
"""The longest accepted run of whitespace in arguments, in characters.

Whitespace in real arguments is much shorter, because JSON escapes line breaks in strings.
"""


@dataclass(slots=True)
class _Call:
    """An incomplete tool call."""

    ordinal: int
    """The number of the call in the answer, starting at 1."""

    id: str = ""
    """The id in the conversation; empty until the start event is emitted."""

    provider_id: str = ""
    """The id that the provider sent; empty if it has not sent any."""

    name: str = ""
    pieces: list[str] = field(default_factory=list)
    """The pieces of the arguments so far."""

    joiner: Joiner = field(default_factory=Joiner)
    """Joins the halves of characters that the provider split; `finish` replaces a half that is left over."""

    opaque: str | None = None
    block: int | None = None
    """The number of the block; None until the start event is emitted."""

    whitespace: int = 0
    """The number of whitespace characters at the end of the arguments so far."""


def id_suffix_of(response_id: str) -> str:
    """Return the `BlockAssembler.id_suffix` for an answer.

    The suffix differs between answers, but does not depend on how an answer is split into chunks.
    """
    tail = re.sub(r"[^a-zA-Z0-9]", "", response_id)[-8:]
    return f"_{tail}" if tail else ""


class BlockAssembler:
    """A builder of one answer's events; `take` returns the new ones.

    At most one block of text or thinking is open; the start of any other block closes it. Tool calls may
    overlap, and are identified by keys that the decoder chooses.
    """

    def __init__(self, provider: str, model: str, *, thinking_opaque: OpaqueSource | None = None) -> None:
        """
        Args:
            provider: the provider's id, for the blocks' origin.
            model: the model's name in the request, for the blocks' origin.
            thinking_opaque: called when a thinking block is closed; returns its opaque data.
        """
        self.id_suffix = ""
        """The end of generated call ids, which distinguishes the ids of different answers."""

        self.has_endless_whitespace = False
        """Whether a tool call exceeded `MAX_WHITESPACE`, so that the decoder should end the answer."""

        self._origin = Origin(provider, model)
        self._skipped: str | None = None
        """The beginning of the first event that was not JSON."""

        self._thinking_opaque = thinking_opaque or (lambda: None)
        self._events: list[StreamEvent] = []
        self._next_block = 0
        self._open: Literal["text", "thinking"] | None = None
        self._open_pieces: list[str] = []
        self._joiner = Joiner()
        self._open_block = -1
        self._signature: str | None = None
        self._opaque: str | None = None
        self._calls: dict[Hashable, _Call] = {}
        self._calls_seen = 0
        self._calls_emitted = 0
        self._ids: set[str] = set()

    def take(self) -> list[StreamEvent]:
        """Return the events that were added since `take` was last called."""
        events, self._events = self._events, []
        return events

    def emit(self, event: StreamEvent) -> None:
        """Add a complete event that does not belong to a block."""
        self._events.append(event)

    def skip_event(self, data: str) -> None:
        """Skip an event that is not JSON, such as a proxy's keep-alive, and warn once per answer.

        Raises:
            ProtocolError: the event begins like an object, so a part of the answer is lost.
        """
        excerpt = clean_message(data[:80])
        provider = self._origin.provider
        message = f"{provider} sent an event that is not JSON: {excerpt}"
        if data.lstrip().startswith("{"):
            raise ProtocolError(message, provider=provider)
        if self._skipped is None:
            self._skipped = excerpt
            self._events.append(WarningEvent("unreadable_event", message))

    def early_end_error(self) -> ProtocolError:
        """Create the error for an answer without an end mark. Its message quotes the first skipped event."""
        provider = self._origin.provider
        suffix = f" after an event that is not JSON: {self._skipped}" if self._skipped else "."
        return ProtocolError(f"{provider} ended its answer early{suffix}", provider=provider)

    @property
    def call_count(self) -> int:
        """The number of tool calls whose start event was emitted; a call without a name does not count."""
        return self._calls_emitted

    @property
    def text_block(self) -> int | None:
        """The number of the open text block, if one is open."""
        return self._open_block if self._open == "text" else None

    def add_text(self, piece: str) -> None:
        """Add text; an empty piece is ignored."""
        if not piece:
            return
        if self._open != "text":
            self._begin("text")
            self._events.append(TextStartEvent(self._open_block))
        if piece := self._joiner.add(piece):
            self._open_pieces.append(piece)
            self._events.append(TextDeltaEvent(self._open_block, piece))

    def add_thinking(self, piece: str) -> None:
        """Add reasoning; an empty piece is ignored."""
        if piece:
            self.open_thinking()
            if piece := self._joiner.add(piece):
                self._open_pieces.append(piece)
                self._events.append(ThinkingDeltaEvent(self._open_block, piece))

    def sign_thinking(self, signature: str) -> None:
        """Add to the signature of the open thinking block; open a block if none is open."""
        self.open_thinking()
        self._signature = (self._signature or "") + signature

    def set_opaque(self, opaque: str | None) -> None:
        """Set the opaque data of the open block of text or thinking; ignored if none is open."""
        if self._open is not None:
            self._opaque = opaque

    def add_block(self, block: RedactedThinkingBlock | OtherBlock | ImageBlock) -> None:
        """Add a complete block that has no deltas, and set its origin."""
        self.close_prose()
        number = self._allocate_block()
        self._events.append(BlockDoneEvent(number, replace(block, origin=self._origin)))

    def add_tool_call(
        self,
        key: Hashable,
        *,
        id: str | None = None,  # noqa: A002 - the field's name in every dialect
        name: str | None = None,
        arguments: str | None = None,
        opaque: str | None = None,
    ) -> None:
        """Add to a tool call, or create one if the key is new. The first non-empty id and name are used."""
        call = self._calls.get(key)
        if call is None:
            # Start the pending calls first, because the new call must get a higher block number.
            self._start_pending()
            self._calls_seen += 1
            call = self._calls[key] = _Call(self._calls_seen)
        # Id and name are not concatenated: Kimi repeats them in every delta, and Alibaba sends them empty
        # after the first one.
        call.provider_id = call.provider_id or id or ""
        call.name = call.name or name or ""
        call.opaque = call.opaque or opaque
        if call.block is None and call.provider_id and call.name:
            self._start_call(call)
        if arguments and (arguments := call.joiner.add(arguments)):
            call.pieces.append(arguments)
            self._watch_for_whitespace(call, arguments)
            if call.block is not None:
                self._events.append(ToolUseDeltaEvent(call.block, arguments))

    def _watch_for_whitespace(self, call: _Call, piece: str) -> None:
        """Detect a model that writes whitespace until its token limit, as some models behind Copilot do."""
        trailing = len(piece) - len(piece.rstrip())
        call.whitespace = call.whitespace + trailing if trailing == len(piece) else trailing
        if call.whitespace > MAX_WHITESPACE and not self.has_endless_whitespace:
            self.has_endless_whitespace = True
            name = f"{call.name!r}" if call.name else "a tool"
            message = f"The model wrote endless whitespace in a call of {name}. The answer ends there."
            self._events.append(WarningEvent("endless_whitespace", message))

    def has_complete_arguments(self, key: Hashable) -> bool:
        """Whether the arguments of an open call are already a complete, non-empty object."""
        call = self._calls.get(key)
        return call is not None and bool(parse_arguments("".join(call.pieces))[0])

    def close_tool_call(self, key: Hashable) -> None:
        """Complete a call. Unknown keys are ignored; a call without a name is dropped."""
        call = self._calls.pop(key, None)
        if call is None:
            return
        if not call.name:
            message = f"{self._origin.provider} sent a tool call without a name. The call was left out."
            self._events.append(WarningEvent("nameless_call_dropped", message))
            return
        block_number = self._start_call(call) if call.block is None else call.block
        if replacement := call.joiner.finish():
            call.pieces.append(replacement)
            self._events.append(ToolUseDeltaEvent(block_number, replacement))
        raw = "".join(call.pieces)
        arguments, error = parse_arguments(raw)
        opaque = call.opaque
        # Another call of this answer may have the same id. The id was then replaced, but requests need the
        # original one.
        if call.provider_id not in ("", call.id):
            opaque = write_opaque({**read_opaque(opaque), CALL_ID: call.provider_id})
        block = ToolUseBlock(
            id=call.id,
            name=call.name,
            arguments=arguments,
            raw=raw,
            error=error,
            origin=self._origin,
            opaque=opaque,
        )
        self._events.append(ToolUseDoneEvent(block_number, block))

    def close_all(self) -> None:
        """Close the open block of text or thinking, and then the tool calls in first-seen order."""
        self.close_prose()
        for key in tuple(self._calls):
            self.close_tool_call(key)

    def end(
        self,
        raw: str | None,
        usage: Usage | None = None,
        *,
        refused: bool = False,
        fallback: StopReason | None = None,
    ) -> None:
        """Close all open blocks, and end the answer.

        Args:
            raw: the provider's stop reason; None or empty if it does not report one.
            usage: the token counts; None if the provider does not report them.
            refused: whether the text is a refusal.
            fallback: the stop reason to use if `raw` is unknown; None to add a warning instead.
        """
        self.close_all()
        stop = (stop_reason_of(raw) or fallback) if raw else "end_turn"
        if raw and stop is None:
            provider = self._origin.provider
            reason = clean_message(raw)
            message = f"{provider} reported an unknown stop reason ({reason}). The answer may be incomplete."
            self._events.append(WarningEvent("unknown_stop_reason", message))
        stop = stop or "end_turn"
        if stop in ("end_turn", "tool_use"):
            # Many servers report "stop" after calls, or "tool_calls" without a call.
            stop = "tool_use" if self._calls_emitted else "refusal" if refused else "end_turn"
        self._events.append(DoneEvent(stop, usage, raw or None))

    def _allocate_block(self) -> int:
        """Start the pending calls, and return the number of a new block."""
        self._start_pending()
        self._next_block += 1
        return self._next_block - 1

    def _begin(self, kind: Literal["text", "thinking"]) -> None:
        self.close_prose()
        self._open_block = self._allocate_block()
        self._open = kind
        self._open_pieces = []
        self._signature = self._opaque = None

    def open_thinking(self) -> None:
        """Open a thinking block unless one is open. It can stay empty if it has opaque data."""
        if self._open != "thinking":
            self._begin("thinking")
            self._events.append(ThinkingStartEvent(self._open_block))

    def close_prose(self) -> None:
        """Close the open block of text or thinking; later text or thinking starts a new block."""
        if self._open is None:
            return
        if replacement := self._joiner.finish():
            (self.add_text if self._open == "text" else self.add_thinking)(replacement)
        kind, self._open = self._open, None
        whole = "".join(self._open_pieces)
        if kind == "text":
            text = TextBlock(whole, origin=self._origin, opaque=self._opaque)
            self._events.append(TextDoneEvent(self._open_block, text))
            return
        opaque = self._thinking_opaque() if self._opaque is None else self._opaque
        thinking = ThinkingBlock(whole, self._signature, origin=self._origin, opaque=opaque)
        self._events.append(ThinkingDoneEvent(self._open_block, thinking))

    def _start_pending(self) -> None:
        """Start the calls that wait for an id from the provider."""
        # A call waits for its id only until another block starts, because block numbers must be ascending.
        for call in self._calls.values():
            if call.block is None and call.name:
                self._start_call(call)

    def _reserve_id(self, call_id: str) -> str:
        """Reserve and return this id, or an id derived from it if another call of the answer has it."""
        unique, number = call_id, 1
        while unique in self._ids:
            number += 1
            unique = f"{call_id}_{number}{self.id_suffix}"
        self._ids.add(unique)
        return unique

    def _start_call(self, call: _Call) -> int:
        """Emit the start event of a call, and return the number of its block."""
        self.close_prose()
        call.id = self._reserve_id(call.provider_id or f"call_{call.ordinal}{self.id_suffix}")
        self._calls_emitted += 1
        number = call.block = self._next_block
        self._next_block += 1
        self._events.append(ToolUseStartEvent(number, call.id, call.name))
        if call.pieces:
            self._events.append(ToolUseDeltaEvent(number, "".join(call.pieces)))
        return number
