"""The blocks that a provider refused, remembered so that they are not sent again.

A provider may reject reasoning that it sent earlier, for example after the key or the model changed. Some
reject only the ids in the reasoning, because these were issued on another connection. The client sends the
reasoning in every turn, so without this memory each turn would cost a refused request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Lock
from typing import assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
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
"""The maximum number of blocks to remember, more than a connection's conversations have."""


@dataclass(frozen=True, slots=True)
class _AcceptedForm:
    """The form in which the provider accepted a block: with this opaque data, or with none."""

    opaque: str | None


class Refusals:
    """The refused blocks; the least recently used are removed first. Thread-safe."""

    def __init__(self, *, max_refused: int = MAX_REFUSED) -> None:
        self._max_refused = max_refused
        self._refused: OrderedDict[bytes, _AcceptedForm | None] = OrderedDict()
        self._lock = Lock()

    def record(self, sent: Sequence[Message], accepted: Sequence[Message], origin: Origin) -> None:
        """Remember the blocks that had to be left out or sent in another form.

        Args:
            sent: the messages that were refused.
            accepted: the messages that the provider accepted instead.
            origin: the provider and model of the request.
        """
        kept = {_compute_key(block, origin) for block in _iterate_blocks(accepted)}
        forms = {
            _compute_key(block, origin, bare=True): _AcceptedForm(block.opaque)
            for block in _iterate_blocks(accepted)
        }
        for block in _iterate_blocks(sent):
            key = _compute_key(block, origin)
            if key is not None and key not in kept:
                bare = _compute_key(block, origin, bare=True)
                with self._lock:
                    self._refused[key] = None if bare is None else forms.get(bare)
                    self._refused.move_to_end(key)
        with self._lock:
            while len(self._refused) > self._max_refused:
                self._refused.popitem(last=False)

    def __len__(self) -> int:
        """Return the number of known refused blocks."""
        return len(self._refused)

    def apply(self, block: ContentBlock, origin: Origin) -> ContentBlock:
        """Return the block in the form that the model accepted.

        A block that is rejected in every form gets an origin that no model has, so that the plan leaves it
        out.

        Args:
            block: a block to send.
            origin: the provider and model of the request.
        """
        key = _compute_key(block, origin)
        if key is None or key not in self._refused:
            return block
        with self._lock:
            if key not in self._refused:
                return block
            self._refused.move_to_end(key)
            form = self._refused[key]
        if form is None:
            # The plan leaves out data of other origins, and no model has an empty name.
            return replace(block, origin=Origin(origin.provider, ""))
        return replace(block, opaque=form.opaque)


def _iterate_blocks(messages: Sequence[Message]) -> Iterator[ContentBlock]:
    return (block for message in messages for block in message.content)


def _compute_key(block: ContentBlock, origin: Origin, *, bare: bool = False) -> bytes | None:
    """Return a digest of a block with provider data; None if it has no such data.

    Args:
        block: the block.
        origin: the provider and model of the request.
        bare: whether to ignore the opaque data; a block without other provider data then has no digest.
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
        case (
            TextBlock()
            | ImageBlock()
            | DocumentBlock()
            | ContextBlock()
            | ToolUseBlock()
            | ToolResultBlock()
            | OtherBlock()
        ):
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
