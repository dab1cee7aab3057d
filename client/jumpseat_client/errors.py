"""The exceptions that the client raises.

ClientError
├── StartFailed      the daemon could not be started, or did not answer in time
├── DaemonDied       the daemon's process ended
├── RequestTimeout   the daemon runs but did not answer in time
└── RequestFailed    the daemon answered with an error
    └── ChatFailed   a chat ended with an error; `partial` is the result so far
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat.wire import RpcError
from jumpseat_client.results import ChatResult


class ClientError(Exception):
    """The base class. An error's text is one or more plain sentences."""

    hint: str | None = None
    """The next step for the user, if it is known."""


class StartFailed(ClientError):  # noqa: N818 - reads as what happened
    """The daemon could not be started, or did not answer `initialize` in time."""


class RequestTimeout(ClientError):  # noqa: N818 - reads as what happened
    """The daemon did not answer in time; the request was cancelled."""


class DaemonDied(ClientError):  # noqa: N818 - reads as what happened
    """The daemon's process has ended: it failed, or the shared daemon was stopped."""

    hint = "Try again; this starts a new daemon."

    def __init__(self, return_code: int | None, stderr_tail: Sequence[str]) -> None:
        """
        Args:
            return_code: the exit code, negative for a signal on POSIX; None if unknown.
            stderr_tail: the last lines that the daemon wrote to stderr.
        """
        self.return_code = return_code
        self.stderr_tail = tuple(stderr_tail)
        lines = "".join(f"\n  {line}" for line in self.stderr_tail)
        code = "" if return_code is None else f" with code {return_code}"
        super().__init__(f"The daemon ended{code}." + (f" Its last lines:{lines}" if lines else ""))


class RequestFailed(ClientError):  # noqa: N818 - reads as what happened
    """The daemon answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        """
        Args:
            code: see `docs/protocol/errors.md`.
            message: one plain sentence.
            data: the wire error's `data`; anything but an object counts as empty.
        """
        super().__init__(message)
        self.code = code
        self.message = message
        self.data: Mapping[str, Any] = data if isinstance(data, dict) else {}
        self.kind: str = _text(self.data.get("kind")) or "internal"
        self.hint = _text(self.data.get("hint"))
        self.retryable = self.data.get("retryable") is True

    @classmethod
    def from_rpc_error(cls, error: RpcError) -> RequestFailed:
        """Convert an error response from the daemon."""
        return cls(error.code, error.message, error.data)

    def as_dict(self) -> dict[str, Any]:
        """Return the error in wire form."""
        return {"code": self.code, "message": self.message, "data": dict(self.data)}


class ChatFailed(RequestFailed):
    """A chat ended with an error; for a cancelled chat, `kind` is "cancelled"."""

    @property
    def partial(self) -> ChatResult | None:
        """The result so far, which has no `stop_reason`."""
        partial = self.data.get("partial")
        return ChatResult(partial) if isinstance(partial, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
