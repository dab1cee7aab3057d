"""GitHub's REST plane: the user, the token exchange, the plan and quotas, and one GraphQL query.

The paths are the same as on api.github.com. An Enterprise Server has them below /api/v3, and GraphQL at
/api/graphql.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from typing import Any

from jumpseat.testing.upstream import RecordedRequest, Reply
from tests.emulator.accounts import PLANS, Account
from tests.emulator.credentials import Credential
from tests.emulator.refusals import Refused, rest_error
from tests.emulator.state import State, body_object

_LIMIT = 15000
_LIMIT_UNAUTHENTICATED = 60
_NO_ACCESS = "No access to GitHub Copilot found. You are currently logged in as {login}."


def answer(state: State, request: RecordedRequest) -> Reply:
    """Return the answer of api.github.com with its rate limit headers."""
    credential: Credential | None = None
    try:
        if "user-agent" not in request.headers:
            raise Refused(rest_error(403, "Request forbidden by administrative rules. Set a User-Agent."))
        route = _ROUTES.get((request.method, request.path))
        if route is None:
            raise Refused(_not_found())
        credential = _authenticate(state, request)
        _count_request(credential.account)
        reply = route(state, credential, request)
    except Refused as refused:
        reply = refused.reply
    return _with_headers(state, reply, credential)


def _authenticate(state: State, request: RecordedRequest) -> Credential:
    """Return the GitHub token of the request. Its scheme may be `token` or `Bearer`.

    Raises:
        Refused: there is no valid GitHub token (401). Copilot tokens are not accepted.
    """
    scheme, value = state.parse_authorization(request)
    if not value:
        raise Refused(rest_error(401, "Requires authentication"))
    credential = state.credentials.find(value)
    good = credential is not None and not credential.revoked and credential.kind != "copilot"
    if scheme not in ("token", "bearer") or credential is None or not good:
        raise Refused(rest_error(401, "Bad credentials"))
    return credential


def _count_request(account: Account) -> None:
    if account.rest_remaining <= 0:
        raise Refused(rest_error(403, f"API rate limit exceeded for user ID {account.id}."))
    account.rest_remaining -= 1


def _with_headers(state: State, reply: Reply, credential: Credential | None) -> Reply:
    remaining = _LIMIT_UNAUTHENTICATED if credential is None else credential.account.rest_remaining
    limit = _LIMIT_UNAUTHENTICATED if credential is None else _LIMIT
    headers = {
        "X-GitHub-Media-Type": "github.v3; format=json",
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Used": str(limit - remaining),
        "X-RateLimit-Reset": str(int(state.clock.now()) + 3600),
        "X-RateLimit-Resource": "core",
    }
    if credential is not None:
        headers["X-OAuth-Scopes"] = credential.scope
        if credential.client_id is not None:
            headers["x-oauth-client-id"] = credential.client_id
    return dataclasses.replace(reply, headers={**reply.headers, **headers})


def _not_found() -> Reply:
    return rest_error(404, "Not Found")


def _user(state: State, credential: Credential, request: RecordedRequest) -> Reply:
    account = credential.account
    return Reply.json({"login": account.login, "id": account.id, "type": "User", "name": account.login})


def _exchange(state: State, credential: Credential, request: RecordedRequest) -> Reply:
    account = credential.account
    if credential.kind in ("github_pat", "ghp"):
        return rest_error(403, "Resource not accessible by personal access token")
    if credential.client_id not in state.credentials.exchange_apps or account.invisible:
        return _not_found()
    if account.blocked is not None:
        return _no_access(account)
    copilot = state.credentials.exchange(credential, state.proxy_host())
    state.exchanges.append(copilot)
    plan, free = account.plan, account.plan.chat is not None
    reset = int(state.clock.first_of_next_month().timestamp())
    quotas = {name: int(account.buckets[name].remaining) for name in ("chat", "completions")}
    body = {
        "annotations_enabled": not plan.individual,
        "chat_enabled": account.chat_enabled,
        "chat_jetbrains_enabled": account.chat_enabled,
        "code_quote_enabled": plan.individual,
        "code_review_enabled": not free,
        "codesearch": True,
        "copilotignore_enabled": not plan.individual,
        "endpoints": state.endpoints(plan),
        "expires_at": int(copilot.expires_at or 0),
        "individual": plan.individual,
        "limited_user_quotas": quotas if free else None,
        "limited_user_reset_date": reset if free else None,
        "organization_list": [] if plan.individual else ["0" * 32],
        "prompt_8k": True,
        "public_suggestions": "enabled",
        "refresh_in": state.credentials.refresh_in_seconds,
        "sku": plan.sku,
        "snippy_load_test_enabled": False,
        "telemetry": "disabled",
        "token": copilot.value,
        "tracking_id": account.tracking_id,
        "vsc_electron_fetcher_v2": False,
        "xcode": True,
        "xcode_chat": False,
        **({} if plan.individual else {"enterprise_list": [1]}),
    }
    return Reply.json(body, Cache_Control="private, max-age=60, s-maxage=60")


def _no_access(account: Account) -> Reply:
    details = {
        "url": "https://github.com/github-copilot/signup?editor={EDITOR}",
        "message": _NO_ACCESS.format(login=account.login),
        "title": "Signup for GitHub Copilot",
        "notification_id": account.blocked,
    }
    body = {
        "can_signup_for_limited": account.blocked == "not_signed_up",
        "error_details": details,
        "message": "Resource not accessible by integration",
    }
    return Reply.json(body, 403)


def _copilot_user(state: State, credential: Credential, request: RecordedRequest) -> Reply:
    account = credential.account
    if account.invisible:
        return _not_found()
    if account.blocked is not None:
        return _no_access(account)
    plan, reset = account.plan, state.clock.first_of_next_month()
    body: dict[str, Any] = {
        "login": account.login,
        "access_type_sku": plan.sku,
        "analytics_tracking_id": account.tracking_id,
        "assigned_date": "2026-05-25T09:57:18+02:00",
        "can_signup_for_limited": False,
        "can_upgrade_plan": plan.individual,
        "chat_enabled": account.chat_enabled,
        "cli_enabled": True,
        "copilot_plan": plan.name,
        "copilotignore_enabled": not plan.individual,
        "editor_preview_features_enabled": True,
        "endpoints": state.endpoints(plan),
        "is_mcp_enabled": True,
        "organization_list": [] if plan.individual else [{"login": "octo", "name": "Octo"}],
        "organization_login_list": [] if plan.individual else ["octo"],
        "restricted_telemetry": False,
        "token_based_billing": False,
    }
    if account.old_free_shape:
        quotas = {name: account.buckets[name] for name in ("chat", "completions")}
        body["monthly_quotas"] = {name: bucket.entitlement for name, bucket in quotas.items()}
        body["limited_user_quotas"] = {name: int(bucket.remaining) for name, bucket in quotas.items()}
        body["limited_user_reset_date"] = reset.date().isoformat()
    else:
        moment = datetime.datetime.fromtimestamp(state.clock.now(), datetime.UTC)
        stamp = moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        body["quota_reset_date"] = reset.date().isoformat()
        body["quota_snapshots"] = {name: bucket.snapshot(stamp) for name, bucket in account.buckets.items()}
    return Reply.json(body)


def _graphql(state: State, credential: Credential, request: RecordedRequest) -> Reply:
    query = (body_object(request) or {}).get("query", "")
    if "copilotEndpoints" not in query:
        errors = [{"message": "The emulator supports viewer.copilotEndpoints only."}]
        return Reply.json({"data": None, "errors": errors})
    account = credential.account
    entitled = account.blocked is None and not account.invisible
    endpoints = state.endpoints(account.plan) if entitled else None
    return Reply.json({"data": {"viewer": {"login": account.login, "copilotEndpoints": endpoints}}})


def _subscribe(state: State, credential: Credential, request: RecordedRequest) -> Reply:
    account = credential.account
    if account.blocked != "not_signed_up":
        return rest_error(422, "The user cannot sign up for Copilot Free.")
    account.blocked, account.plan = None, PLANS["free"]
    account.give_month()
    return Reply.json({"subscribed": True})


def _notification(state: State, credential: Credential, request: RecordedRequest) -> Reply:
    return Reply.json({})


_Route = Callable[[State, Credential, RecordedRequest], Reply]
_ROUTES: dict[tuple[str, str], _Route] = {
    ("GET", "/user"): _user,
    ("GET", "/copilot_internal/v2/token"): _exchange,
    ("GET", "/copilot_internal/user"): _copilot_user,
    ("GET", "/copilot_internal/notification"): _notification,
    ("POST", "/copilot_internal/subscribe_limited_user"): _subscribe,
    ("POST", "/graphql"): _graphql,
    ("POST", "/api/graphql"): _graphql,
}
