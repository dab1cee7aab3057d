"""The one way in which an adapter asks the engine for another attempt."""

from __future__ import annotations

from jumpseat.chat import ChatError, ChatRequest


class Replan(Exception):  # noqa: N818 - control flow between adapter and engine, with the error inside
    """This attempt failed in a way that a changed request would cure.

    The engine tries again at once, within its one budget, and each `reason` only once in a turn; when
    it may not, it raises `error`.
    """

    def __init__(self, reason: str, error: ChatError, request: ChatRequest | None = None) -> None:
        """
        Args:
            reason: what is changed, in snake_case: `expired_token`, `refused_parameter:temperature`.
            error: what the user is told if the engine may not try again.
            request: the changed request; None where the adapter itself has changed (a fresh token).
        """
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.request = request
