"""Explains the data plane's refusals, on every route: the change that may help, and an error with a hint.

Source: the Copilot API, statuses and bodies of errors, and codes for limits.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jumpseat.adapters.github.hosts import login_command
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConfigError,
    ContentFilterError,
    ContextExceededError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    UnknownModelError,
)
from jumpseat.dialects import ProviderFault, clean_message

Cure: TypeAlias = Literal["expired_token", "wrong_host", "wrong_endpoint", "unknown_item_ids"]
"""The part of a request that another attempt must change.

`expired_token` stands for the short-lived token, `wrong_host` for the data host, `wrong_endpoint` for the
route, and `unknown_item_ids` for the ids of reasoning items, which are valid only for one connection.
"""

_EXPIRED = re.compile(r"token (has )?expired|authenticatetoken|bad credentials|invalid token", re.IGNORECASE)
_POLICY = re.compile(r"policy|terms (not|have not)|enable (access|this model)", re.IGNORECASE)
_TERMS_OF_SERVICE = re.compile(r"terms of service", re.IGNORECASE)
_NO_PLAN = re.compile(
    r"not authorized to use this copilot feature|no (copilot )?access|subscri", re.IGNORECASE
)
_PERSONAL_TOKEN = re.compile(r"personal access token", re.IGNORECASE)
_EDITOR_VERSION = re.compile(r"editor-version", re.IGNORECASE)
_ITEM_IDS = re.compile(r"item id does not belong", re.IGNORECASE)
_TOO_LONG = re.compile(r"token count of \d+ exceeds|model_max_prompt_tokens_exceeded", re.IGNORECASE)
_RATE_CODES = (
    "rate_limited",
    "user_model_rate_limited",
    "user_global_rate_limited",
    "user_weekly_rate_limited",
    "integration_rate_limited",
    "agent_mode_limit_exceeded",
    "extension_blocked",
)
_QUOTA_CODES = ("quota_exceeded", "free_quota_exceeded", "overage_limit_reached", "billing_not_configured")


class AccountDeniedError(AuthorizationError):
    """The service does not serve this account: GitHub has blocked the account, or it has no seat or plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalContext:
    """The circumstances of a refusal, for messages and hints."""

    provider: str
    site: str
    """The base URL of the GitHub instance's web pages, without a trailing slash: `https://github.com`."""

    model: str | None = None
    """The requested model; None if the request was not a chat."""

    policy: str | None = None
    """The model's policy in the list."""

    plans: str = ""
    """A space and a sentence about the plans that include the model; empty if they are unknown."""

    fallback: str | None = None
    """A model that the plan includes, suggested to the user but never used automatically."""


def find_cure(fault: ProviderFault, error: ChatError) -> Cure | None:
    """Return what to change so that the same turn may succeed; None if no change helps.

    Args:
        fault: the parsed error body.
        error: the general error for the same response, with its status.
    """
    if error.status_code == 401:
        return "expired_token"
    if error.status_code == 421:
        return "wrong_host"
    if fault.code == "unsupported_api_for_model" or "not accessible via the" in fault.message:
        return "wrong_endpoint"
    if error.status_code == 400 and _ITEM_IDS.search(fault.message):
        return "unknown_item_ids"
    return None


def explain(fault: ProviderFault, error: ChatError, context: RefusalContext) -> ChatError:
    """Return the error to raise, of the right kind and with a hint.

    Args:
        fault: the parsed error body.
        error: the general error for the same response; its facts are copied.
        context: the circumstances of the refusal.
    """
    status, words = error.status_code, fault.words
    code = (fault.code or "").partition(":")[0]
    match status:
        case 401:
            return _explain_signed_out(fault, error, context)
        case 402:
            return _explain_quota(error, context)
        case 403:
            return _explain_forbidden(fault, error, context)
        case 301 | 302 | 303 | 307 | 308:
            hint = f"Set providers.{context.provider}.copilot_url to the URL that serves Copilot."
            return _convert(error, type(error), error.message, hint)
        case 421:
            message = f"{context.provider} says that this account is served by another host"
            key = f"providers.{context.provider}.copilot_url"
            hint = f"Try again in a minute. If {key} is set, it may name the host of another plan."
            return _convert(error, type(error), _add_words(message, fault), hint)
        case 422:
            message = f"The content filter of {context.provider} blocked the prompt"
            return _convert(
                error, ContentFilterError, _add_words(message, fault), "Change the wording, and try again."
            )
        case 466:
            message = f"{context.provider} no longer accepts this version of jumpseat"
            return _convert(error, RequestError, _add_words(message, fault), "Update jumpseat.")
        case 413:
            message = f"The request is too large for {context.provider}"
            return _convert(error, RequestError, _add_words(message, fault), "Send fewer or smaller parts.")
    if code in _QUOTA_CODES:
        return _explain_quota(error, context)
    if status == 429 or code in _RATE_CODES:
        return _explain_rate_limit(fault, error, context)
    if status == 400:
        return _explain_bad_request(code, words, fault, error, context)
    return error


def temporary_refusal(error: ChatError, provider: str, seconds: float) -> ChatError:
    """Return the error for a refused short-lived token that cannot be replaced now.

    GitHub issued the token, so the sign-in works; the service may not recognize the token yet.
    """
    seconds = max(1, math.ceil(seconds))
    message = f"{provider} does not accept the short-lived token that GitHub issued."
    found = _convert(error, AuthenticationError, message, f"Try again in {seconds} s.", retryable=True)
    found.retry_after = seconds
    found.forbids_retry = True  # The wait is too long for another attempt in the same turn.
    return found


def _explain_signed_out(fault: ProviderFault, error: ChatError, context: RefusalContext) -> ChatError:
    if _PERSONAL_TOKEN.search(fault.message):
        return _explain_personal_token(error, context)
    message = f"{context.provider} no longer accepts the sign-in"
    return _convert(
        error,
        AuthenticationError,
        _add_words(message, fault),
        f"Run `{login_command(context.provider)}` again.",
    )


def _explain_personal_token(error: ChatError, context: RefusalContext) -> ChatError:
    return _convert(
        error,
        AuthenticationError,
        f"{context.provider} does not accept this personal access token.",
        'Give a fine-grained token the permission "Copilot Requests", or '
        f"run `{login_command(context.provider)}`.",
    )


def _explain_quota(error: ChatError, context: RefusalContext) -> ChatError:
    has_alternative = context.fallback not in (None, context.model)
    instead = f"{context.provider}:{context.fallback}" if has_alternative else None
    hint = (
        f"Choose {instead}, which the plan includes, or raise" if instead else "Wait for the reset, or raise"
    )
    what = f" for {context.model}" if context.model else ""
    return _convert(
        error,
        QuotaExceededError,
        f"The allowance of {context.provider}{what} is used up.",
        f"{hint} the budget: {context.site}/settings/billing.",
    )


def _explain_forbidden(fault: ProviderFault, error: ChatError, context: RefusalContext) -> ChatError:
    words = fault.words
    if isinstance(error, RateLimitError):
        return _explain_rate_limit(fault, error, context)
    if isinstance(error, QuotaExceededError):
        return _explain_quota(error, context)
    if _TERMS_OF_SERVICE.search(words):
        return _convert(
            error,
            AccountDeniedError,
            _add_words(f"{context.provider} has blocked the account", fault),
            f"See GitHub's terms of service, or ask GitHub Support: {context.site}/contact.",
        )
    if _POLICY.search(words) and context.model is not None:
        return _explain_not_enabled(fault, error, context)
    if _POLICY.search(words):
        return _convert(
            error,
            AuthorizationError,
            _add_words(f"{context.provider} does not allow this", fault),
            f"See {context.site}/settings/copilot/features. In an organization, an administrator enables it.",
        )
    if _NO_PLAN.search(words):
        return _convert(
            error,
            AccountDeniedError,
            _add_words("The account's plan does not include this", fault),
            f"Check the plan, or ask the organization for a seat: {context.site}/settings/copilot.",
        )
    return _convert(
        error,
        AuthorizationError,
        _add_words(f"{context.provider} does not allow this", fault),
        f"Check what the account may use: {context.site}/settings/copilot.",
    )


def _explain_not_enabled(fault: ProviderFault, error: ChatError, context: RefusalContext) -> ChatError:
    return _convert(
        error,
        AuthorizationError,
        _add_words(f"{context.model} is not enabled for this account", fault),
        f"Run `jumpseat accept-terms {context.provider}:{context.model}`, or accept the terms on "
        f"{context.site}/settings/copilot/features. In an organization, an administrator does that."
        f"{context.plans}",
    )


def _explain_rate_limit(fault: ProviderFault, error: ChatError, context: RefusalContext) -> ChatError:
    code = fault.code or ""
    if code.startswith("user_model") and context.model is not None:
        hint = f"The limit applies to {context.model}. Another model may answer now."
    elif code.startswith("user_weekly"):
        hint = "This is a weekly limit. Another provider may answer now."
    elif code.startswith("integration"):
        hint = "All users of this integration id share the limit. Try again later."
    else:
        hint = "Wait, and send fewer requests. Another provider may answer now."
    return _convert(
        error,
        RateLimitError,
        _add_words(f"{context.provider} is limiting requests for now", fault),
        hint,
        retryable=True,
    )


def _explain_bad_request(
    code: str, words: str, fault: ProviderFault, error: ChatError, context: RefusalContext
) -> ChatError:
    if _PERSONAL_TOKEN.search(words):
        return _explain_personal_token(error, context)
    if _TOO_LONG.search(words):
        message = f"The conversation is too long for {context.model or context.provider}"
        return _convert(
            error,
            ContextExceededError,
            _add_words(message, fault),
            "Start a new conversation, or remove parts of this one.",
        )
    if code == "model_not_available_for_integrator" and context.model is not None:
        return _convert(
            error,
            RequestError,
            f"{context.provider} does not offer {context.model} to this integration id.",
            f"Choose another model, or set providers.{context.provider}.integration_id.",
        )
    if code == "model_not_supported" and context.model is not None:
        if context.policy not in (None, "enabled"):
            return _explain_not_enabled(fault, error, context)
        return _convert(
            error,
            UnknownModelError,
            f"{context.provider} does not offer the model {context.model!r} to this account.",
            f"Run `jumpseat models --provider {context.provider} --refresh` to see what it offers.",
        )
    if _EDITOR_VERSION.search(words):
        return _convert(
            error,
            ConfigError,
            _add_words(f"{context.provider} does not recognize the editor", fault),
            f'Set providers.{context.provider}.editor_version, for example to "Neovim/0.11.0".',
        )
    if _EXPIRED.search(words) and "authorization header" not in words.lower():
        return _explain_signed_out(fault, error, context)
    return error


def _add_words(lead: str, fault: ProviderFault) -> str:
    words = clean_message(fault.message)
    message = f"{lead}: {words}" if words else lead
    return message if message[-1] in ".!?…" else f"{message}."


def _convert(
    error: ChatError, kind: type[ChatError], message: str, hint: str, *, retryable: bool | None = None
) -> ChatError:
    return kind(
        message,
        status_code=error.status_code,
        provider=error.provider,
        provider_code=error.provider_code,
        retry_after=error.retry_after,
        reset_at=error.reset_at,
        provider_request_id=error.provider_request_id,
        hint=hint,
        retryable=retryable,
    )
