"""Reads the token counts of this dialect.

Source: `Usage` and `MessageDeltaUsage` of Anthropic's API reference: counts in a stream are cumulative, and
`input_tokens` does not include cached tokens. `iterations` lists the usage of every sampling pass,
including passes that the totals omit, such as a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import Cost, Usage
from jumpseat.dialects.loose_values import count_in, mappings_in

_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class UsageCounter:
    """The usage of one answer so far. Each report overwrites the fields that it contains."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._thinking: int | None = None
        self.cost: Cost | None = None
        """The price of the answer, if known."""

    def add(self, usage: Any) -> None:
        """Apply the `usage` of an event; a field that is absent or null does not change."""
        if not isinstance(usage, Mapping):
            return
        # Later counts replace earlier ones. In `message_start`, gateways may report 0, and so may a provider
        # that runs its own tools.
        iterations = mappings_in(usage.get("iterations"))
        for name in _FIELDS:
            count = count_in(usage.get(name))
            if iterations:
                total = sum(count_in(each.get(name)) or 0 for each in iterations)
                count = max(total, count or 0)
            if count is not None:
                self._counts[name] = count
        details = usage.get("output_tokens_details")
        if isinstance(details, Mapping):
            thinking = count_in(details.get("thinking_tokens"))
            self._thinking = self._thinking if thinking is None else thinking

    @property
    def usage(self) -> Usage | None:
        """The counts; the input includes cached tokens. None if nothing was reported."""
        if not self._counts:
            return None
        read = self._counts.get("cache_read_input_tokens", 0)
        created = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=self._counts.get("input_tokens", 0) + read + created,
            output_tokens=self._counts.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_creation_tokens=created,
            reasoning_tokens=self._thinking,
            cost=self.cost,
        )
