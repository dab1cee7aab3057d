"""The bearer that authenticates one request to Copilot's data plane."""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.adapters.github.copilot.token import CopilotToken
from jumpseat.system.secrets import Secret


class NoOtherBearer(Exception):  # noqa: N818 - not a failure by itself: the caller has the error to raise
    """A bearer was refused, and no other one is available.

    `retry_after` is the number of seconds until another one may be available; None if waiting does not help.
    """

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Bearer:
    """A bearer token and the only host that may receive it."""

    token: Secret
    data_host: str
    """The base URL of the host, without a trailing slash."""

    exchanged: CopilotToken | None = None
    """The short-lived token with its times; None if the bearer is the GitHub token itself."""
