"""The prompt cache. Requests with marks read from it and add to it.

A segment of a prompt is the list of tools, the system prompt or one message. A mark on a segment stores the
prompt up to the end of this segment. It also finds the longest stored prefix that ends with this segment or
with one of the 20 segments before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_TOKENS = 1024
"""The minimum number of tokens in a stored prefix."""

_LIFETIME_SECONDS = 300
_SEGMENTS_BACK = 20
_MARKS = ("cache_control", "copilot_cache_control")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a prompt in the form in which it was sent."""

    sent: Any
    tokens: int

    @property
    def is_marked(self) -> bool:
        return _without_marks(self.sent) != self.sent

    @property
    def text(self) -> str:
        """The content without marks."""
        return json.dumps(_without_marks(self.sent), sort_keys=True)


class PromptCache:
    """The stored prefixes of all accounts and models."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._used: dict[Hashable, float] = {}

    def use(self, owner: Hashable, segments: Sequence[Segment]) -> tuple[int, int]:
        """Return the number of tokens that a request reads from the cache and the number that it adds.

        Args:
            owner: the account and the model.
            segments: the prompt in order.
        """
        digest, total = hashlib.sha256(), 0
        prefixes: list[tuple[Hashable, int]] = []
        for segment in segments:
            digest.update(segment.text.encode() + b"\n")
            total += segment.tokens
            prefixes.append(((owner, digest.hexdigest()), total))
        marked = [index for index, segment in enumerate(segments) if segment.is_marked]
        near = {at for index in marked for at in range(max(0, index - _SEGMENTS_BACK), index + 1)}
        read = max((prefixes[at][1] for at in near if self._is_stored(prefixes[at][0])), default=0)
        longest = 0
        for key, tokens in (prefixes[index] for index in marked):
            if tokens >= LEAST_TOKENS:
                self._used[key] = self._now()
                longest = max(longest, tokens)
        return read, max(0, longest - read)

    def _is_stored(self, key: Hashable) -> bool:
        return key in self._used and self._now() - self._used[key] <= _LIFETIME_SECONDS


def _without_marks(sent: Any) -> Any:
    if isinstance(sent, dict):
        return {name: _without_marks(value) for name, value in sent.items() if name not in _MARKS}
    return [_without_marks(each) for each in sent] if isinstance(sent, list) else sent
