"""An adapter's request for another attempt."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from jumpseat.chat import ChatError, ChatRequest, WarningEvent

T = TypeVar("T")


class Replan(Exception):  # noqa: N818 - control flow between adapter and engine
    """This attempt failed, and a changed request would fix the failure.

    The engine makes another attempt immediately. But it raises `error` if this attempt has already yielded
    output, or if an earlier attempt of the turn had the same `reason`.
    """

    def __init__(
        self,
        reason: str,
        error: ChatError,
        request: ChatRequest | None = None,
        warning: WarningEvent | None = None,
    ) -> None:
        """
        Args:
            reason: the reason for a change, in snake_case: `expired_token`, `refused_parameter:temperature`.
            error: the error to raise if there is no other attempt.
            request: the changed request; None if only the adapter changed (a new token).
            warning: warns the user of parts that the changed request leaves out.
        """
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.request = request
        self.warning = warning


async def repeat_once(attempt: Callable[[], Awaitable[T]]) -> T:
    """Make a request other than a chat, and repeat it once if it raises `Replan`.

    Raises:
        ChatError: an error of an attempt, or the error of the second `Replan`.
    """
    with contextlib.suppress(Replan):
        return await attempt()
    try:
        return await attempt()
    except Replan as replan:
        raise replan.error from None
