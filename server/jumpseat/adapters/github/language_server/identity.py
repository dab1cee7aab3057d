"""The sign-in state of a Copilot language server, as the provider's `AuthStatus`.

The server signs in and stores the token, which the daemon never sees.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from jumpseat.adapters.base import OnPrompt
from jumpseat.adapters.base.account import AuthState, AuthStatus, Quota
from jumpseat.adapters.github.account import crossed_thresholds, merge_quotas
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.language_server.account import (
    SignInReport,
    read_plan,
    read_quotas,
    read_sign_in,
)
from jumpseat.adapters.github.language_server.errors import request_error
from jumpseat.adapters.github.language_server.server import LanguageServer, ServerConnection
from jumpseat.adapters.github.language_server.sign_in import DeviceSignIn
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, RequestError
from jumpseat.system.single_flight import SingleFlight
from jumpseat.wire import RpcError

logger = logging.getLogger(__name__)

STATUS_SECONDS = 5.0
"""The time limit of `get_status` without `refresh`, including the start of the server if it does not run."""

REFRESH_SECONDS = 30.0
"""The time limit of a request for which the server may have to reach GitHub."""

CANCEL_SECONDS = 0.5
"""The time that a new sign-in waits for a cancelled one to end."""

SOURCE = "language server"
NOT_AUTHENTICATED = "1000"
"""The server's error code while it has no credential for Copilot."""

AccountState: TypeAlias = tuple[AuthState, str | None]
"""The state and the login."""


class LanguageServerIdentity:
    """A provider's account, as its server reports it. Use it on the event loop only."""

    def __init__(
        self,
        hosts: GitHubHosts,
        server: LanguageServer,
        *,
        on_change: Callable[[AuthStatus], None],
        status_seconds: float = STATUS_SECONDS,
    ) -> None:
        """
        Args:
            hosts: the hosts that the server signs in to.
            server: the provider's server.
            on_change: called when the state, the account or its plan changed, or a quota crossed a threshold.
            status_seconds: the time limit of `get_status` without `refresh`.
        """
        self._hosts = hosts
        self._server = server
        self._on_change = on_change
        self._status_seconds = status_seconds
        self._sign_in: SignInReport | None = None
        self._reported_by: ServerConnection | None = None
        """The run of the server that reported `_sign_in`. The report is not valid for another run."""

        self._kind = "Normal"
        """The general status in the last notification from a server of an older version."""

        self._plan: str | None = None
        self._quotas: Sequence[Quota] = ()
        self._reported: AuthStatus | None = None
        """The status that was last reported to clients, or returned to one."""

        self._checking: SingleFlight[AuthStatus] = SingleFlight()
        self._refreshing: SingleFlight[AuthStatus] = SingleFlight()
        self._check_until = 0.0
        """The deadline of the check in progress, by the loop's clock."""

        self._sign_in_lock = asyncio.Lock()
        self._signing_in: DeviceSignIn | None = None
        self._is_closed = False

    @property
    def account(self) -> AccountState:
        """The last reported state and login."""
        return self._state, self._sign_in.login if self._sign_in is not None else None

    async def get_status(self, *, refresh: bool) -> AuthStatus:
        """Return the status; with `refresh`, the server checks with GitHub and reports plan and quotas.

        Starts the server if it does not run. If the server fails or takes too long, the status is the last
        one that this run of the server reported, or else `signed_out`, and the message describes the failure.
        A later answer of the server is reported as a change.
        """
        flight, work = (
            (self._refreshing, self._check_with_github) if refresh else (self._checking, self._check_locally)
        )
        seconds = REFRESH_SECONDS if refresh else self._status_seconds
        until = asyncio.get_running_loop().time() + seconds
        if not refresh:
            # Callers during a check share its deadline. Editors request the status often, and must not wait
            # again and again for the same check.
            until = self._check_until = self._check_until if flight.is_running else until
        try:
            async with asyncio.timeout_at(until):
                return await flight.run(work)
        except TimeoutError:
            why = (
                f"The language server has not answered within {seconds:g} s. Request the status again in a "
                "moment."
            )
        except ChatError as error:
            why = " ".join(filter(None, (error.message, error.hint)))
        is_known = self._reported_by is not None and self._reported_by is self._server.running_connection
        # Store the status, so that a later answer of the server counts as a change. Do not report it now,
        # because the caller receives it.
        self._reported = replace(
            self._build_status() if is_known else self._build_status_of("signed_out"), message=why
        )
        return self._reported

    async def require_sign_in(self, connection: ServerConnection) -> None:
        """Check before a chat that the server is signed in.

        The server asks GitHub only if its local data do not contain a sign-in.

        Raises:
            AuthenticationError: the server is signed out.
            AuthorizationError: the account may not use Copilot.
            ChatError: the server does not answer.
        """
        if self._reported_by is connection and self._state == "signed_in":
            return
        try:
            await self._check(connection, {"localChecksOnly": True})
            if self._state != "signed_in":
                # The user may have signed in with another program since the server started.
                await self._check(connection, {"forceRefresh": True})
        except RpcError as error:
            # Try the chat nevertheless; if it fails too, its error is more precise.
            logger.info("%s cannot report its sign-in: %s", self._hosts.provider, error.message)
            return
        self._report()
        if self._state != "signed_in":
            raise self._not_ready_error()

    def explain(self, error: AuthenticationError) -> AuthenticationError:
        """Replace the refusal of a chat with a more precise error if the server has reported the reason."""
        # The server also refuses an account without Copilot as "not authenticated".
        is_vague = error.provider_code == NOT_AUTHENTICATED and self._state in ("not_authorized", "expired")
        return self._not_ready_error() if is_vague else error

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Sign a user in with a code.

        Raises:
            AuthenticationError: the user refused, or took too long.
            RequestError: another sign-in is in progress.
            ChatError: the server failed, or named a page that is not on the configured GitHub host.
        """
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._sign_in_lock.acquire()
        except TimeoutError:
            # Allow one sign-in at a time: the server's notification of a code does not identify the sign-in.
            raise RequestError(
                f"A sign-in to {self._hosts.provider} is already in progress.",
                provider=self._hosts.provider,
                hint="Finish it on its page, or cancel it.",
            ) from None
        try:
            connection = await self._server.connect()
            self._signing_in = DeviceSignIn(connection, self._hosts, on_prompt)
            self._store_report(connection, read_sign_in(await self._signing_in.run()))
        finally:
            self._signing_in = None
            self._sign_in_lock.release()
        if self._state != "signed_in":
            raise self._not_ready_error()
        self._report(any_difference=True)
        status = await self.get_status(refresh=True)
        # The sign-in succeeded, even if the refresh failed.
        return status if status.state != "signed_out" else self._build_status_of("signed_in")

    async def sign_out(self) -> AuthStatus:
        """Have the server delete its sign-in. A token in the server's environment remains.

        Raises:
            ChatError: the server failed.
        """
        connection = await self._server.connect()
        try:
            answer = await connection.request("signOut", {}, seconds=REFRESH_SECONDS)
        except RpcError as error:
            raise request_error(error, provider=self._hosts.provider) from error
        # Without this, `_store_report` would keep the reason of an earlier `signed_out`.
        self._sign_in = None
        self._store_report(connection, read_sign_in(answer))
        status = self._report(any_difference=True)
        if status.state != "signed_out":
            login = status.login or "The account"
            why = (
                f"{login} stays signed in: the language server has a token from its environment "
                "(GH_COPILOT_TOKEN or GITHUB_COPILOT_TOKEN). Unset the variable to sign out."
            )
            return replace(status, message=why)
        return status

    def handle_notification(self, method: str, params: Any) -> None:
        """Handle a notification of the server if it concerns the account."""
        params = params if isinstance(params, Mapping) and not self._is_closed else {}
        match method:
            case "didChangeStatus/v2":
                # The server sends this with every response about the sign-in, so a check here would cause an
                # endless loop.
                rows = params.get("statuses")
                for row in rows if isinstance(rows, list) else []:
                    if isinstance(row, Mapping) and row.get("category") == "auth" and row.get("result"):
                        self._store_report(self._server.running_connection, read_sign_in(row["result"], row))
                        self._report()
            case "didChangeStatus" | "statusNotification":
                # These notifications of older servers do not contain the account, so check the sign-in.
                kind = params.get("kind") or params.get("status")
                if kind in ("Normal", "Error") and kind != self._kind:
                    self._kind = kind
                    self._checking.start(self._check_locally)
            case "copilot/quotaChange":
                self._store_account(params)
            case "signInWithDeviceFlowProgress" if self._signing_in is not None:
                self._signing_in.handle_notification(params)

    def recheck(self) -> None:
        """Have a running server read its stored sign-in again, and report a change."""
        if self._server.running_connection is not None and not self._is_closed:
            self._checking.start(self._check_locally)

    async def aclose(self) -> None:
        """Cancel requests in progress, and refuse new ones."""
        self._is_closed = True
        await self._checking.aclose()
        await self._refreshing.aclose()

    async def _check_locally(self) -> AuthStatus:
        """Return the status according to the server's local data.

        Raises:
            ChatError: the server cannot be started, or does not answer.
        """
        connection = await self._server.connect()
        try:
            await self._check(connection, {"localChecksOnly": True})
        except RpcError as error:
            raise request_error(error, provider=self._hosts.provider) from error
        return self._report()

    async def _check_with_github(self) -> AuthStatus:
        """Return the status after a check with GitHub.

        Raises:
            ChatError: see `_check_locally`.
        """
        connection = await self._server.connect()
        try:
            await self._check(connection, {"forceRefresh": True})
        except RpcError as error:
            if self._reported_by is not connection:
                await self._check_locally()
            why = request_error(error, provider=self._hosts.provider).message
            return replace(self._build_status(), message=why)
        if self._state == "signed_in":
            try:
                answer = await connection.request("checkQuota", {}, seconds=REFRESH_SECONDS)
            except RpcError as error:
                logger.info("plan and quotas of %s are unknown: %s", self._hosts.provider, error.message)
            else:
                self._store_account(answer if isinstance(answer, Mapping) else {})
        return self._report()

    async def _check(self, connection: ServerConnection, options: Mapping[str, bool]) -> None:
        """Request the state of the sign-in from the server, and store it.

        Raises:
            RpcError: the request failed.
            ChatError: the server does not answer.
        """
        answer = await connection.request("checkStatus", {"options": options}, seconds=REFRESH_SECONDS)
        self._store_report(connection, read_sign_in(answer))

    def _store_report(self, connection: ServerConnection | None, now: SignInReport) -> None:
        """Store a report of the server. The previous report may override it, or add a reason to it."""
        before = self._sign_in if self._reported_by is connection else None
        if before is not None:
            is_refused = before.state in ("not_authorized", "expired")
            # A report from the server's disk does not override GitHub's refusal.
            if (
                is_refused
                and now.state == "signed_in"
                and not now.is_checked_with_github
                and now.login == before.login
            ):
                return
            if now.state == "signed_out" and before.state in ("signed_out", "expired") and not now.words:
                # Keep the previous report: it may have the reason from a notification, and this one has none.
                now = before
            elif now.state == before.state and now.login == before.login and not now.words:
                now = replace(now, words=before.words)
        if before is None or now.login != before.login:
            self._plan, self._quotas = None, ()
        self._sign_in, self._reported_by = now, connection

    @property
    def _state(self) -> AuthState:
        return self._sign_in.state if self._sign_in is not None else "signed_out"

    def _store_account(self, answer: Mapping[str, Any]) -> None:
        """Store plan and quotas. Report the status if the plan changed, or a quota crossed a threshold."""
        self._plan = read_plan(answer) or self._plan
        fresh = read_quotas(answer)
        crossed = crossed_thresholds(self._quotas, fresh) if self._quotas else []
        self._quotas = merge_quotas(self._quotas, fresh)
        if self._sign_in is not None:
            self._report(any_difference=bool(crossed))

    def _not_ready_error(self) -> AuthenticationError:
        """Return the error for a chat without a usable sign-in."""
        known = self._sign_in or SignInReport("signed_out")
        host, command = self._hosts.authority, self._hosts.login_command
        words = f" {known.words.rstrip('.')}." if known.words else ""
        if known.state == "not_authorized":
            account = f"{known.login} at {host}" if known.login else f"The account at {host}"
            return AuthorizationError(
                f"{account} may not use Copilot.{words}",
                provider=self._hosts.provider,
                hint=f"See {self._hosts.github}/settings/copilot, or run `{command}` and use "
                "another account.",
            )
        message = f"The language server is not signed in to {host}."
        if known.state == "expired":
            message = f"The sign-in of the language server to {host} has expired."
        return AuthenticationError(
            f"{message}{words}", provider=self._hosts.provider, hint=f"Run `{command}`."
        )

    def _build_status(self) -> AuthStatus:
        """Return the status according to the last report."""
        if self._state == "signed_in":
            return self._build_status_of("signed_in")
        error = self._not_ready_error()
        return replace(self._build_status_of(self._state), message=f"{error.message} {error.hint}")

    def _build_status_of(self, state: AuthState) -> AuthStatus:
        known = self._sign_in if state in ("signed_in", "not_authorized") else None
        return AuthStatus(
            provider=self._hosts.provider,
            state=state,
            host=self._hosts.authority,
            login=known.login if known else None,
            plan=self._plan if known else None,
            source=SOURCE if known else None,
            chat_enabled=False if state == "not_authorized" else None,
            quotas=(tuple(self._quotas) or None) if known else None,
        )

    def _report(self, *, any_difference: bool = False) -> AuthStatus:
        """Return the status. Report it if its state, login or plan has changed.

        Args:
            any_difference: report any other change too, and the first status.
        """
        before, status = self._reported, self._build_status()
        self._reported = status
        if (before is not None and _facts(before) != _facts(status)) or (any_difference and before != status):
            self._on_change(status)
        return status


def _facts(status: AuthStatus) -> tuple[AuthState, str | None, str | None]:
    return status.state, status.login, status.plan
