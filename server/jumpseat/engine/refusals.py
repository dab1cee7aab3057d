"""What a provider has refused of its own, so that it is not sent a second time.

Reasoning that a provider does not accept any more (another organisation's key, a model that was replaced), or
takes only without the ids of another connection, costs a refused request in every turn, because the client
goes on sending it. Above it is `turn`, which notes what an attempt succeeded with instead.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

MAX_REFUSED = 4096
"""Blocks: more than the conversations of one connection hold. Each takes a digest of 16 bytes."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """A block was taken after all, with this as its opaque data."""

    opaque: str | None


class Refusals:
    """The blocks that were refused; the least recently met go first."""

    def __init__(self, *, max_refused: int = MAX_REFUSED) -> None:
        self._max_refused = max_refused
        self._refused: OrderedDict[bytes, _Taken | None] = OrderedDict()

    def note(self, sent: Sequence[Message], accepted: Sequence[Message], origin: Origin) -> None:
        """Note what had to be left out, or to be said in another form.

        Args:
            sent: the messages that were refused.
            accepted: those that the provider took in their place.
            origin: the provider and model that were asked.
        """
        kept = {_seal(block, origin) for block in _blocks(accepted)}
        taken = {_seal(block, origin, bare=True): _Taken(block.opaque) for block in _blocks(accepted)}
        for block in _blocks(sent):
            seal = _seal(block, origin)
            if seal is not None and seal not in kept:
                bare = _seal(block, origin, bare=True)
                self._refused[seal] = None if bare is None else taken.get(bare)
                self._refused.move_to_end(seal)
        while len(self._refused) > self._max_refused:
            self._refused.popitem(last=False)

    def __len__(self) -> int:
        """How many refused blocks are known."""
        return len(self._refused)

    def applied_to(self, block: ContentBlock, origin: Origin) -> ContentBlock:
        """The block as the model accepted it; one that it accepts in no form gets an origin of no model.

        Args:
            block: a block to send.
            origin: the provider and model of the request.
        """
        seal = _seal(block, origin)
        if seal is None or seal not in self._refused:
            return block
        self._refused.move_to_end(seal)
        taken = self._refused[seal]
        if taken is None:
            return replace(block, origin=Origin(origin.provider, ""))
        return replace(block, opaque=taken.opaque)


def _blocks(messages: Sequence[Message]) -> Iterator[ContentBlock]:
    return (block for message in messages for block in message.content)


def _seal(block: ContentBlock, origin: Origin, *, bare: bool = False) -> bytes | None:
    """What tells a block with data of a provider's own from every other; None where it holds none.

    Args:
        block: the block.
        origin: the provider and model that are asked.
        bare: leave the opaque data out of it; what is told apart by that alone has no such seal.
    """
    if block.origin not in (None, origin):
        return None
    match block:
        case ThinkingBlock():
            if bare and block.signature is None:
                return None
            parts: tuple[str | None, ...] = (block.signature, block.thinking)
        case RedactedThinkingBlock():
            parts = (block.data,)
        case TextBlock() | ImageBlock() | ContextBlock() | ToolUseBlock() | ToolResultBlock() | OtherBlock():
            if bare or block.opaque is None:
                return None
            parts = ()
        case _:
            assert_never(block)
    digest = blake2b(digest_size=16)
    for part in (origin.provider, origin.model, block.type, *parts, None if bare else block.opaque):
        data = (part or "").encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8))
        digest.update(data)
    return digest.digest()
