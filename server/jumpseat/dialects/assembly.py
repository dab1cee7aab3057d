"""The one place that keeps the laws of events, for every dialect.

A decoder says what came: text, thinking, pieces of a tool call. The assembler numbers blocks in
first-seen order, opens and closes them, and makes the finished blocks. Laws: `jumpseat.chat.events`.
Above it are the decoders; it knows no dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from jumpseat.chat import (
    BlockDoneEvent,
    DoneEvent,
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
from jumpseat.dialects.provider_errors import plain_words
from jumpseat.dialects.stop_reasons import stop_reason_of

OpaqueSource: TypeAlias = Callable[[], str | None]

MAX_WHITESPACE = 4096
"""No tool's arguments hold more white space in a row: within a JSON string line ends are escaped."""


@dataclass(slots=True)
class _Call:
    """A tool call that is not complete. `block` is None until its start event is out."""

    ordinal: int
    id: str = ""
    """Its id in the conversation, once it is started."""

    given: str = ""
    """The provider's id."""

    name: str = ""
    pieces: list[str] = field(default_factory=list)
    joiner: Joiner = field(default_factory=Joiner)
    opaque: str | None = None
    block: int | None = None
    whitespace: int = 0
    """How many white-space characters the arguments end in by now."""


class BlockAssembler:
    """Collects the events of one answer; `take` gives those since the last time.

    At most one block of text or thinking is open: whatever else starts closes it. Tool calls stay open,
    by the decoder's own key, until they are closed.
    """

    def __init__(self, provider: str, model: str, *, thinking_opaque: OpaqueSource | None = None) -> None:
        """
        Args:
            provider: the provider's id, for the blocks' origin.
            model: the model as the request names it, for the blocks' origin.
            thinking_opaque: asked for the opaque data of a thinking block when that is closed.
        """
        self.mint_suffix = ""
        """Put behind the ids that are made up for calls without one, to keep them apart between answers."""

        self.endless_whitespace = False
        """A tool call's arguments go on and on with nothing in them: the answer should be cut off here."""

        self._origin = Origin(provider, model)
        self._left_out: str | None = None
        self._thinking_opaque = thinking_opaque or (lambda: None)
        self._events: list[StreamEvent] = []
        self._next_block = 0
        self._open: Literal["text", "thinking"] | None = None
        self._open_pieces: list[str] = []
        self._joiner = Joiner()
        self._open_block = -1
        self._signature: str | None = None
        self._stamp: str | None = None
        self._calls: dict[Hashable, _Call] = {}
        self._calls_begun = 0
        self._calls_started = 0
        self._ids: set[str] = set()

    def take(self) -> list[StreamEvent]:
        """The events made since the last call."""
        events, self._events = self._events, []
        return events

    def emit(self, event: StreamEvent) -> None:
        """Put an event of another kind between those of the blocks."""
        self._events.append(event)

    def leave_out(self, data: str) -> None:
        """Leave out an event that is no JSON, with one warning for all: a proxy's word, a keep-alive.

        Raises:
            ProtocolError: it began as an object, so a part of the answer is lost.
        """
        told = plain_words(data[:80])
        provider = self._origin.provider
        if data.lstrip().startswith("{"):
            raise ProtocolError(f"{provider} sent an event that is not JSON: {told}", provider=provider)
        if self._left_out is None:
            self._left_out = told
            words = f"{provider} sent an event that is not JSON: {told}"
            self._events.append(WarningEvent("unreadable_event", words))

    def early_end(self) -> ProtocolError:
        """The error for an answer that ended before its end mark, with the words that were left out."""
        provider = self._origin.provider
        behind = f" after an event that is not JSON: {self._left_out}" if self._left_out else "."
        return ProtocolError(f"{provider} ended its answer early{behind}", provider=provider)

    @property
    def calls_seen(self) -> int:
        """How many tool calls have been started; one without a name never is."""
        return self._calls_started

    @property
    def text_block(self) -> int | None:
        """The number of the open text block."""
        return self._open_block if self._open == "text" else None

    def text(self, piece: str) -> None:
        """More text; nothing happens where it is empty."""
        if not piece:
            return
        if self._open != "text":
            self._begin("text")
            self._events.append(TextStartEvent(self._open_block))
        if piece := self._joiner.add(piece):
            self._open_pieces.append(piece)
            self._events.append(TextDeltaEvent(self._open_block, piece))

    def thinking(self, piece: str) -> None:
        """More reasoning; nothing happens where it is empty."""
        if piece:
            self._begin_thinking()
            if piece := self._joiner.add(piece):
                self._open_pieces.append(piece)
                self._events.append(ThinkingDeltaEvent(self._open_block, piece))

    def sign_thinking(self, signature: str) -> None:
        """The signature of the open thinking block, or of one without text that this begins."""
        self._begin_thinking()
        self._signature = (self._signature or "") + signature

    def stamp(self, opaque: str | None) -> None:
        """The opaque data of the block of text or thinking that is open now; nothing happens without one."""
        if self._open is not None:
            self._stamp = opaque

    def close_prose(self) -> None:
        """Close the open block of text or thinking, so that what follows begins another one."""
        self._close_open()

    def touch_thinking(self) -> None:
        """Make sure that a thinking block is open, for opaque data that comes without text."""
        self._begin_thinking()

    def whole(self, block: RedactedThinkingBlock | OtherBlock) -> None:
        """A block that has no deltas; its origin is stamped here."""
        self._close_open()
        number = self._number()
        self._events.append(BlockDoneEvent(number, _with_origin(block, self._origin)))

    def tool_call(
        self,
        key: Hashable,
        *,
        id: str | None = None,  # noqa: A002 - the field's name in every dialect
        name: str | None = None,
        arguments: str | None = None,
        opaque: str | None = None,
    ) -> None:
        """More of a tool call, begun if the key is new. The first id and name that are not empty count.

        An id that another call of the answer has is replaced, and kept in `opaque`.
        """
        call = self._calls.get(key)
        if call is None:
            self._start_pending()  # Before the new one, whose number is higher.
            self._calls_begun += 1
            call = self._calls[key] = _Call(self._calls_begun)
        call.given = call.given or id or ""
        call.name = call.name or name or ""
        call.opaque = call.opaque or opaque
        if call.block is None and call.given and call.name:
            self._start_call(call)
        if arguments and (arguments := call.joiner.add(arguments)):
            call.pieces.append(arguments)
            self._watch_for_whitespace(call, arguments)
            if call.block is not None:
                self._events.append(ToolUseDeltaEvent(call.block, arguments))

    def _watch_for_whitespace(self, call: _Call, piece: str) -> None:
        """Notice a model that is caught in writing white space; behind Copilot some are, until the limit."""
        trailing = len(piece) - len(piece.rstrip())
        call.whitespace = call.whitespace + trailing if trailing == len(piece) else trailing
        if call.whitespace > MAX_WHITESPACE and not self.endless_whitespace:
            self.endless_whitespace = True
            told = f"{call.name or 'A tool call'} was written with endless white space; it was cut off there."
            self._events.append(WarningEvent("endless_whitespace", told))

    def holds_arguments(self, key: Hashable) -> bool:
        """Whether an open call has a whole object of arguments, which is not empty, by now."""
        call = self._calls.get(key)
        return call is not None and bool(parse_arguments("".join(call.pieces))[0])

    def close_tool_call(self, key: Hashable) -> None:
        """The call is complete; a key that is not open is ignored, and a call without a name is dropped."""
        call = self._calls.pop(key, None)
        if call is None:
            return
        if not call.name:
            told = f"{self._origin.provider} sent a tool call that names no tool; it was left out."
            self._events.append(WarningEvent("nameless_call_dropped", told))
            return
        block_number = self._start_call(call) if call.block is None else call.block
        if half := call.joiner.finish():
            call.pieces.append(half)
            self._events.append(ToolUseDeltaEvent(block_number, half))
        raw = "".join(call.pieces)
        arguments, error = parse_arguments(raw)
        opaque = call.opaque
        if call.given not in ("", call.id):
            opaque = write_opaque({**read_opaque(opaque), CALL_ID: call.given})
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
        """Close what is open, in the order in which it was begun."""
        self._close_open()
        for key in tuple(self._calls):
            self.close_tool_call(key)

    def end(
        self,
        raw: str | None,
        usage: Usage | None = None,
        *,
        refused: bool = False,
        unknown: StopReason = "end_turn",
    ) -> None:
        """Close what is open, and end the answer.

        Args:
            raw: the provider's word for why it stopped; None or empty where it says none.
            usage: the tokens; None where the provider reports none.
            refused: the text is a refusal.
            unknown: the stop reason where the word is not known, which a warning says.
        """
        self.close_all()
        stop = stop_reason_of(raw) if raw else "end_turn"
        if raw and stop is None:
            provider = self._origin.provider
            told = f"{provider} stopped for a reason that is not known ({plain_words(raw)})"
            self._events.append(WarningEvent("unknown_stop_reason", f"{told}; the answer may be cut off."))
        stop = stop or unknown
        if stop in ("end_turn", "tool_use"):
            # Half of the servers say "stop" after calls, or "tool_calls" without any.
            stop = "tool_use" if self._calls_started else "refusal" if refused else "end_turn"
        self._events.append(DoneEvent(stop, usage, raw or None))

    def _number(self) -> int:
        self._start_pending()
        self._next_block += 1
        return self._next_block - 1

    def _begin(self, kind: Literal["text", "thinking"]) -> None:
        self._close_open()
        self._open_block = self._number()
        self._open = kind
        self._open_pieces = []
        self._signature = self._stamp = None

    def _begin_thinking(self) -> None:
        if self._open != "thinking":
            self._begin("thinking")
            self._events.append(ThinkingStartEvent(self._open_block))

    def _close_open(self) -> None:
        if self._open is None:
            return
        if half := self._joiner.finish():
            (self.text if self._open == "text" else self.thinking)(half)
        kind, self._open = self._open, None
        whole = "".join(self._open_pieces)
        if kind == "text":
            text = TextBlock(whole, origin=self._origin, opaque=self._stamp)
            self._events.append(TextDoneEvent(self._open_block, text))
            return
        opaque = self._thinking_opaque() if self._stamp is None else self._stamp
        thinking = ThinkingBlock(whole, self._signature, origin=self._origin, opaque=opaque)
        self._events.append(ThinkingDoneEvent(self._open_block, thinking))

    def _start_pending(self) -> None:
        # A call waits for its id only until something else starts: numbers are told in rising order.
        for call in self._calls.values():
            if call.block is None and call.name:
                self._start_call(call)

    def _unused_id(self, wanted: str) -> str:
        """The id, or one made from it where another call of the answer has it."""
        name, number = wanted, 1
        while name in self._ids:
            number += 1
            name = f"{wanted}_{number}{self.mint_suffix}"
        self._ids.add(name)
        return name

    def _start_call(self, call: _Call) -> int:
        self._close_open()
        call.id = self._unused_id(call.given or f"call_{call.ordinal}{self.mint_suffix}")
        self._calls_started += 1
        number = call.block = self._next_block
        self._next_block += 1
        self._events.append(ToolUseStartEvent(number, call.id, call.name))
        if call.pieces:
            self._events.append(ToolUseDeltaEvent(number, "".join(call.pieces)))
        return number


def _with_origin(
    block: RedactedThinkingBlock | OtherBlock, origin: Origin
) -> RedactedThinkingBlock | OtherBlock:
    if isinstance(block, RedactedThinkingBlock):
        return RedactedThinkingBlock(block.data, origin=origin, opaque=block.opaque)
    return OtherBlock(block.kind, block.text, origin=origin, opaque=block.opaque)
