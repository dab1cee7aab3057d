"""What authenticates one request to Copilot's data plane."""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.adapters.github.copilot.token import CopilotToken
from jumpseat.system.secrets import Secret


class NoOtherBearer(Exception):  # noqa: N818 - not a failure by itself: the caller has the error to raise
    """A bearer was refused and there is no other one; `retry_after` if there may be one later."""

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Bearer:
    """A bearer token, and the only data host that it may be sent to (a base URL without a last slash)."""

    token: Secret
    data_host: str
    exchanged: CopilotToken | None = None
    """The short-lived token with its times; None if the GitHub token itself is used."""
