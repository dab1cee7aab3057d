"""Admits requests to the data plane: checks the credential, host and headers, and charges chats."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jumpseat.testing.upstream import RecordedRequest
from tests.emulator.accounts import Account
from tests.emulator.catalogue import Model
from tests.emulator.credentials import Credential
from tests.emulator.refusals import (
    Refused,
    make_coded_error,
    make_plain_error,
    model_not_supported,
    quota_exceeded,
)
from tests.emulator.state import COPILOT, PROXY, Charge, State

CLI_INTEGRATION = "copilot-developer-cli"
_EDITOR = re.compile(r"^([^\s/]+)/\d\S*$")
_UNVERIFIED = "unauthorized: unauthorized: AuthenticateToken authentication failed\n"
_TERMS = (
    "Access to this endpoint is forbidden. Please review our "
    "[Terms of Service](https://docs.github.com/site-policy/github-terms/github-terms-of-service).\n"
)
_NO_PATS = "checking third-party user token: bad request: Personal Access Tokens are not supported"


@dataclass(frozen=True, slots=True)
class Entry:
    """An admitted request."""

    credential: Credential
    integrator: str | None
    api_version: str | None

    @property
    def account(self) -> Account:
        """The owner of the credential."""
        return self.credential.account


def admit(state: State, plane: str, request: RecordedRequest) -> Entry:
    """Check the credential, the host and the headers.

    Raises:
        Refused: the service would refuse the request; the answer has the service's status and message.
    """
    if "authorization" not in request.headers:
        raise Refused(make_plain_error(400, "bad request: missing Authorization header\n"))
    scheme, value = state.parse_authorization(request)
    credential = state.credentials.find(value)
    if scheme != "bearer" or credential is None or credential.revoked:
        raise Refused(make_plain_error(401, _UNVERIFIED))
    if state.credentials.is_expired(credential):
        raise Refused(make_plain_error(401, "IDE token expired: unauthorized: token expired\n"))
    integrator = request.headers.get("copilot-integration-id")
    _check_kind(state, credential, integrator, request)
    account = credential.account
    host = credential.host or account.plan.host
    if plane not in (COPILOT, PROXY, f"copilot-{host}"):
        raise Refused(make_plain_error(421, "Misdirected Request\n"))
    if account.blocked == "access_revoked":
        raise Refused(make_plain_error(403, _TERMS))
    if account.blocked is not None or account.invisible or not account.chat_enabled:
        raise Refused(make_plain_error(403, "unauthorized: not authorized to use this Copilot feature\n"))
    return Entry(credential, integrator, request.headers.get("x-github-api-version"))


def _check_kind(
    state: State, credential: Credential, integrator: str | None, request: RecordedRequest
) -> None:
    if credential.kind == "copilot":
        editor = request.headers.get("editor-version")
        if not editor:
            raise Refused(make_plain_error(400, "bad request: missing Editor-Version header for IDE auth\n"))
        name = _EDITOR.match(editor)
        if name is None or name[1].lower() in state.unknown_editors:
            raise Refused(make_plain_error(400, "bad request: unknown Editor-Version header for IDE auth\n"))
    pat = credential.kind in ("github_pat", "ghp")
    if pat and (credential.kind == "ghp" or integrator != CLI_INTEGRATION):
        raise Refused(make_plain_error(400, f"{_NO_PATS} for this endpoint\n"))
    if pat and not credential.copilot_requests:
        message = "unauthorized: Personal Access Token does not have Copilot Requests permission\n"
        raise Refused(make_plain_error(401, message))


def choose_model(state: State, entry: Entry, wanted: object, path: str) -> Model:
    """Return the requested model.

    Raises:
        Refused: this account may not use the model through this integrator at this endpoint.
    """
    model = state.models.default() if wanted is None else state.models.find(str(wanted))
    if model is None:
        raise Refused(model_not_supported())
    available = [each.id for each in state.models.available(entry.integrator) if each.broken is None]
    if model.id not in available:
        message = (
            f'The requested model is not available for integrator "{entry.integrator}". '
            f"Available models: [{' '.join(sorted(available))}]. "
            "Verify the correct Copilot-Integration-Id header is being sent."
        )
        code = "model_not_available_for_integrator"
        raise Refused(make_coded_error(400, message, code, param="model", type="invalid_request_error"))
    policy = model.policy_for(entry.account)
    if not model.in_plan(entry.account) or policy not in (None, "enabled"):
        raise Refused(model_not_supported())
    if model.type != "chat" or not model.serves(path):
        message = f'model "{model.id}" is not accessible via the {path} endpoint'
        raise Refused(make_coded_error(400, message, "unsupported_api_for_model"))
    return model


def charge(state: State, entry: Entry, model: Model, request: RecordedRequest) -> dict[str, str]:
    """Charge the request. Return the quota headers of its answer, with the quotas before the charge.

    A request is charged only if its initiator is `user`, which is the default.

    Raises:
        Refused: the quota is used up (402).
    """
    account = entry.account
    initiator = request.headers.get("x-initiator", "user")
    cost = _cost_with_discount(state, entry, model, request) if initiator == "user" else 0.0
    chat = 1.0 if initiator == "user" else 0.0
    snapshot = account.quota_headers(state.clock)
    if not account.premium.can_pay(cost) or not account.buckets["chat"].can_pay(chat):
        # The service sends a date instead of seconds, because the next month is far away.
        reset = state.clock.first_of_next_month().strftime("%a, %d %b %Y %H:%M:%S GMT")
        raise Refused(quota_exceeded(reset))
    account.premium.charge(cost)
    account.buckets["chat"].charge(chat)
    state.charges.append(Charge(account, model.id, initiator, cost))
    return snapshot


def _cost_with_discount(state: State, entry: Entry, model: Model, request: RecordedRequest) -> float:
    token = request.headers.get("copilot-session-token")
    if token is None:
        return model.cost
    session = state.sessions.get(token)
    if session is None or session.account is not entry.account or session.expires_at <= state.clock.now():
        raise Refused(make_coded_error(401, "The session token is not valid.", "session_expired"))
    return model.cost * (1 - session.discounts.get(model.id, 0.0))
