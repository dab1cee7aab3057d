"""The calls that wait for the user's decision."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from jumpseat.chat import Remember


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's decision about a call."""

    is_allowed: bool
    remember: Remember | None = None
    """How long to remember the decision; None if it applies only to this call."""

    scope: Literal["tool", "server"] = "tool"
    """Whether a remembered decision covers the tool, or all current tools of its server."""

    message: str | None = None
    """A message from the user to the model that explains a denial."""


class Approvals:
    """The pending approvals of one client. Other clients cannot decide about them."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, str], asyncio.Future[Decision]] = {}

    @contextmanager
    def open(self, turn_id: str, tool_use_id: str) -> Iterator[Awaitable[Decision]]:
        """Accept a decision about a call until the context ends.

        Inside the context, ask the user, then await the yielded decision.
        """
        key = (turn_id, tool_use_id)
        decided = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            yield decided
        finally:
            del self._pending[key]

    def decide(self, turn_id: str, tool_use_id: str, decision: Decision) -> bool:
        """Decide about a call; return False if the call is not waiting for a decision."""
        decided = self._pending.get((turn_id, tool_use_id))
        if decided is None or decided.done():
            return False
        decided.set_result(decision)
        return True
