"""The hierarchy of errors.

    ChatError
    ├── AuthenticationError        the credential is missing or invalid
    │   └── AuthorizationError     the credential is valid but does not allow this
    ├── RateLimitError             too many requests for now (retryable)
    ├── QuotaExceededError         the allowance is used up (never retried)
    ├── RequestError               the request, a parameter or the model is rejected
    │   ├── UnknownModelError      the provider has no such model
    │   ├── InfillUnsupportedError the model cannot fill in the middle of a text
    │   ├── ContextExceededError   the prompt is too long
    │   ├── ContentFilterError     the prompt was blocked
    │   └── InvalidRequestError    the caller's values are invalid
    ├── ServerError                the provider failed (retryable)
    ├── ConnectionError            the provider could not be reached or stopped responding (retryable)
    ├── ProtocolError              the provider's answer is invalid or incomplete
    ├── ConfigError                a provider's configuration is wrong
    └── ChatCancelled              the turn was cancelled

`message` is one sentence that the user can act on, without tracebacks, secrets or raw HTML.
`connections/faults.py` assigns a code to each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from jumpseat.chat.response import Response


class ChatError(Exception):
    """The base class of all errors, with a message for users and fields for programs."""

    kind: ClassVar[str] = "internal"
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        provider: str | None = None,
        provider_code: str | None = None,
        retry_after: float | None = None,
        reset_at: datetime | None = None,
        provider_request_id: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        """
        Args:
            message: one plain sentence.
            status_code: the HTTP status, if there was one.
            provider: the configured provider's id.
            provider_code: the provider's own error code.
            retry_after: the delay in seconds that the provider requested.
            reset_at: the time when the limit is lifted.
            provider_request_id: the provider's id of the request, for questions to the provider.
            hint: the next step for the user: a command, a page, a setting.
            retryable: whether the same request may succeed later; None for the default of the class.
        """
        super().__init__(message)
        self.message = message
        self.status_code = status_code
        self.provider = provider
        self.provider_code = provider_code
        self.retry_after = retry_after
        self.reset_at = reset_at
        self.provider_request_id = provider_request_id
        self.hint = hint
        self.retryable = self.default_retryable if retryable is None else retryable
        self.forbids_retry = False
        """Whether the daemon must not retry in this turn, even if `retryable` is true.

        For example, the provider's own program has already retried.
        """

        self.partial: Response | None = None
        """The answer received before the failure. Adapters do not set it."""


def daemon_failure(task: str, *, provider: str | None = None) -> ChatError:
    """Return the error for an exception in the daemon's own code. The exception's text is only logged.

    Args:
        task: the failed action, in the past tense: "ran this chat".
        provider: the configured provider's id.
    """
    return ChatError(f"The daemon failed while it {task}; its log has the details.", provider=provider)


class AuthenticationError(ChatError):
    """The credential is missing, or the provider rejects it."""

    kind = "authentication"


class AuthorizationError(AuthenticationError):
    """The credential is valid but does not allow this, because of a plan, a policy or terms."""

    kind = "authorization"


class RateLimitError(ChatError):
    """Too many requests were sent. `retry_after` is the delay that the provider requested, if any."""

    kind = "rate_limit"
    default_retryable = True


class QuotaExceededError(ChatError):
    """The allowance or credit is used up. Such requests are never retried."""

    kind = "quota_exceeded"


class RequestError(ChatError):
    """The provider or the daemon rejects the request, for example because of an invalid parameter."""

    kind = "request"


class UnknownModelError(RequestError):
    """The provider has no such model."""


class InfillUnsupportedError(RequestError):
    """The model or its provider cannot fill in the middle of a text."""

    @classmethod
    def of(cls, provider: str, model: str, reason: str = "", *, status_code: int | None = None) -> Self:
        """Return the error for a model.

        Args:
            provider: the configured provider's id.
            model: the model's name.
            reason: the provider's own words, if there are any.
            status_code: the HTTP status, if there was one.
        """
        words = f": {reason}{'' if reason.endswith(('.', '!', '?', '…')) else '.'}" if reason else "."
        message = f"The model {model} of {provider} cannot fill in the middle of a text{words}"
        return cls(message, provider=provider, status_code=status_code)


class ContextExceededError(RequestError):
    """The prompt does not fit into the model's context."""

    kind = "context_exceeded"


class ContentFilterError(RequestError):
    """The prompt was blocked by a content filter."""

    kind = "content_filter"


@dataclass(frozen=True, slots=True)
class Problem:
    """An invalid value. `path` is dotted, with list indices: `messages.0.role`."""

    path: str
    message: str


class InvalidRequestError(RequestError):
    """The caller's values are invalid. Raised before a request is sent."""

    kind = "invalid_params"

    def __init__(self, message: str, problems: Sequence[Problem]) -> None:
        """
        Args:
            message: one plain sentence.
            problems: all invalid values, at least one.
        """
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def at(cls, path: str, message: str) -> InvalidRequestError:
        """Return an error for a single value."""
        return cls(f"{path}: {message}", [Problem(path, message)])


class ServerError(ChatError):
    """The provider failed (5xx) or is overloaded."""

    kind = "server"
    default_retryable = True


class ConnectionError(ChatError):  # noqa: A001 - always imported by name, never with a star
    """The provider could not be reached or stopped responding: DNS, TLS, refusal, timeout, stall."""

    kind = "connection"
    default_retryable = True


class ProtocolError(ChatError):
    """The provider's answer breaks the provider's own protocol, or ended before it was complete."""

    kind = "protocol"


class ConfigError(ChatError):
    """A provider's configuration is wrong. The message names the key."""

    kind = "config"


class ChatCancelled(ChatError):  # noqa: N818 - not a failure
    """The client cancelled the turn. `partial` is the answer so far."""

    kind = "cancelled"
