"""Errors for refused GitHub sign-ins, each with a hint for the user.

They cover the REST host's responses to `/copilot_internal/v2/token` and `/copilot_internal/user`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ProtocolError,
    RateLimitError,
    ServerError,
)
from jumpseat.dialects.provider_errors import clean_message
from jumpseat.http import HttpAnswer, error_from_response

_PERSONAL_TOKEN = re.compile(r"not accessible by personal access token", re.IGNORECASE)
_API_LIMIT = re.compile(r"rate limit", re.IGNORECASE)

# The hint for each `notification_id`; `{site}` is the web host, `{login}` the command that signs in.
# `_FOR_SUPPORT` lists the ids that only GitHub Support can resolve.
_NO_SEAT = "Get a plan, or ask your organization for a seat: {site}/settings/copilot."
_HINTS: dict[str, str] = {
    "no_copilot_access": _NO_SEAT,
    "not_signed_up": _NO_SEAT,
    "subscription_ended": "The subscription has ended. Renew it: {site}/settings/copilot.",
    "expired_coupon": "The coupon has expired. Choose a plan: {site}/settings/copilot.",
    "revoked_coupon": "The coupon was revoked. Choose a plan: {site}/settings/copilot.",
    "enterprise_managed_user_account": "Your enterprise manages this account: ask its administrator for a "
    "Copilot seat.",
    "feature_flag_blocked": "Copilot is disabled for this account: ask your organization's administrator.",
    "billing_locked": "Billing of this account is locked: {site}/settings/billing.",
    "trade_restricted": "GitHub does not offer Copilot to this account, because of trade controls.",
    "trade_restricted_country": "GitHub does not offer Copilot in this country, because of trade controls.",
    "codespaces_demo_inactive": "The demonstration in this codespace is over. Run `{login}` and "
    "sign in with your own account.",
    "snippy_not_configured": "Choose first whether suggestions may match public code: "
    "{site}/settings/copilot.",
}
_ASK_SUPPORT = "Ask GitHub Support why: {site}/contact."
_FOR_SUPPORT = frozenset({"spammy_user", "access_revoked", "go_http_client", "programmatic_token_generation"})


class ExchangeClosedError(AuthorizationError):
    """The exchange does not accept this kind of GitHub token. Copilot may accept the token itself."""


def error_body(answer: HttpAnswer) -> dict[str, Any]:
    """Return the response's JSON object; empty if the body is not one."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def exchange_error(answer: HttpAnswer, hosts: GitHubHosts, *, url: str, source: str) -> ChatError:
    """Return the error for a response of the exchange with status 400 or above.

    Takes the arguments of `error_from_github`. The error is an `ExchangeClosedError` if the exchange refuses
    this kind of token.
    """
    error = error_from_github(answer, hosts, url=url, source=source)
    if isinstance(error, AuthorizationError) and _refuses_the_kind(answer):
        return _convert(error, ExchangeClosedError, error.message, error.hint)
    return error


def _refuses_the_kind(answer: HttpAnswer) -> bool:
    # GitHub answers 404 if the exchange does not know the app that the token was issued to, or if the account
    # does not have Copilot, and 403 for personal access tokens.
    return answer.status == 404 or _refuses_personal_tokens(answer)


def _refuses_personal_tokens(answer: HttpAnswer) -> bool:
    message = error_body(answer).get("message")
    return answer.status == 403 and isinstance(message, str) and bool(_PERSONAL_TOKEN.search(message))


def error_from_github(answer: HttpAnswer, hosts: GitHubHosts, *, url: str, source: str) -> ChatError:
    """Return the error for a response with status 400 or above.

    Args:
        answer: the response of the REST host.
        hosts: the hosts that were asked.
        url: the requested URL.
        source: the source of the rejected sign-in: `keyring`, `gh`, `env:GH_TOKEN`.
    """
    body = error_body(answer)
    base = error_from_response(answer.status, answer.headers, answer.body, provider=hosts.provider, url=url)
    details = body.get("error_details")
    if answer.status == 401:
        return _convert(
            base,
            AuthenticationError,
            f"{hosts.authority} does not accept the sign-in from {source}: it was revoked or has expired.",
            f"Run `{hosts.login_command}` again.",
        )
    message = body.get("message")
    if answer.status in (403, 429) and isinstance(message, str) and _API_LIMIT.search(message):
        words = clean_message(message)
        return _convert(base, RateLimitError, f"{hosts.authority} limits requests: {words}", None)
    if isinstance(details, dict):
        return _no_access_error(base, details, hosts)
    if answer.status == 404:
        return _convert(
            base,
            AuthorizationError,
            f"{hosts.authority} does not offer Copilot to the sign-in from {source}.",
            f"Check that the account has Copilot ({hosts.github}/settings/copilot), then run "
            f"`{hosts.login_command}`.",
        )
    if _refuses_personal_tokens(answer):
        return _convert(
            base,
            AuthorizationError,
            f"{hosts.authority} does not accept a personal access token from {source} here.",
            f'Give the token the permission "Copilot Requests", or run `{hosts.login_command}`.',
        )
    if answer.status == 403:
        return _convert(base, AuthorizationError, _sentence(base.message), _NO_SEAT.format(site=hosts.github))
    return base


def not_signed_in_error(hosts: GitHubHosts, notes: Sequence[str]) -> AuthenticationError:
    """Return the error for a provider without a sign-in.

    Args:
        hosts: the provider's hosts.
        notes: sentences about sign-ins that were found but cannot be used.
    """
    return AuthenticationError(
        " ".join((f"No account is signed in to {hosts.authority}.", *notes)),
        provider=hosts.provider,
        hint=f"Run `{hosts.login_command}`.",
    )


def not_json_error(hosts: GitHubHosts) -> ProtocolError:
    """Return the error for a response with status 200 that does not come from GitHub."""
    return ProtocolError(
        f"The response to a request to {hosts.authority} is not from GitHub.",
        provider=hosts.provider,
        hint="A proxy, or the sign-in page of a network, may have answered instead.",
    )


def _no_access_error(base: ChatError, details: dict[str, Any], hosts: GitHubHosts) -> ChatError:
    notification = details.get("notification_id")
    notification = notification if isinstance(notification, str) else ""
    words = details.get("message") or details.get("title")
    message = clean_message(words) if isinstance(words, str) else ""
    base.provider_code = notification or base.provider_code
    if notification == "server_error":
        return _convert(base, ServerError, _sentence(message or f"{hosts.authority} failed"), None)
    template = _ASK_SUPPORT if notification in _FOR_SUPPORT else _HINTS.get(notification, _NO_SEAT)
    hint = template.format(site=hosts.github, login=hosts.login_command)
    page = _own_page(details.get("url"), hosts)
    if page is not None:
        hint = f"{hint} GitHub's page about it: {page}"
    return _convert(base, AuthorizationError, _sentence(message or "This account may not use Copilot"), hint)


def _own_page(url: object, hosts: GitHubHosts) -> str | None:
    """Return the page's URL with `{EDITOR}` filled in; None if the page is not on github.com itself."""
    if not isinstance(url, str) or not hosts.is_dotcom:
        return None
    url = url.replace("{EDITOR}", "jumpseat")
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    legal = re.fullmatch(r"[\x21-\x7e]{1,300}", url) and parts.scheme == "https"
    return url if legal and parts.netloc == hosts.authority else None


def _convert(base: ChatError, kind: type[ChatError], message: str, hint: str | None) -> ChatError:
    return kind(
        _sentence(message),
        status_code=base.status_code,
        provider=base.provider,
        provider_code=base.provider_code,
        retry_after=base.retry_after,
        reset_at=base.reset_at,
        provider_request_id=base.provider_request_id,
        hint=hint,
    )


def _sentence(text: str) -> str:
    return text if text[-1:] in (".", "!", "?", "…") else f"{text}."
