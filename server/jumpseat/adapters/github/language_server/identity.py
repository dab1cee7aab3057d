"""The state of the sign-in to a Copilot language server, as the provider's `AuthStatus`.

The server signs in by itself and keeps the token, which the daemon never sees.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from jumpseat.adapters.base import OnPrompt
from jumpseat.adapters.base.account import AuthState, AuthStatus, Quota
from jumpseat.adapters.github.account import crossed_thresholds, merged_quotas
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
"""How long lists of providers wait, all together, for a server that has to be started first."""

REFRESH_SECONDS = 30.0
"""How long a question is waited for that GitHub has to answer."""

GIVING_UP_SECONDS = 0.5
"""How long a sign-in waits for the one before it, which may have been cancelled just now."""

SOURCE = "language server"
REFUSED = "1000"
"""The code of the server's answer while it has no credential for Copilot."""

AccountState: TypeAlias = tuple[AuthState, str | None]
"""The state and who it is of."""


class LanguageServerIdentity:
    """One provider's user, as the server tells of them. Used on the event loop only."""

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
            hosts: the GitHub that the server signs in to.
            server: the server, which is started when it is first asked.
            on_change: called when the state, the account or its plan changed, or a quota crossed a threshold.
            status_seconds: how long `status` waits without `refresh`.
        """
        self._hosts = hosts
        self._server = server
        self._on_change = on_change
        self._status_seconds = status_seconds
        self._sign_in: SignInReport | None = None
        self._heard_of: ServerConnection | None = None
        """The run of the server that reported it; another run has to be asked."""

        self._kind = "Normal"
        self._plan: str | None = None
        self._quotas: Sequence[Quota] = ()
        self._reported: AuthStatus | None = None
        self._looking: SingleFlight[AuthStatus] = SingleFlight()
        self._refreshing: SingleFlight[AuthStatus] = SingleFlight()
        self._look_until = 0.0
        """When the look under way has had its time, by the loop's clock."""

        self._sign_in_lock = asyncio.Lock()
        self._signing_in: DeviceSignIn | None = None
        self._is_closed = False

    @property
    def account(self) -> AccountState:
        """Whose models are listed, as far as is known."""
        return self._state, self._sign_in.login if self._sign_in is not None else None

    async def status(self, *, refresh: bool = False) -> AuthStatus:
        """Who is signed in; with `refresh` the sign-in is tried, and plan and quotas are asked for.

        Starts the server if it does not run. One that cannot be started, or does not answer in time, is a
        `signed_out` that says so; what it answers later is reported as a change.
        """
        flight, work = (self._refreshing, self._refreshed) if refresh else (self._looking, self._looked)
        seconds = REFRESH_SECONDS if refresh else self._status_seconds
        until = asyncio.get_running_loop().time() + seconds
        if not refresh:
            # A caller that comes while it is silent shares the wait: editors ask often.
            until = self._look_until = self._look_until if flight.is_running else until
        try:
            async with asyncio.timeout_at(until):
                return await flight.run(work)
        except TimeoutError:
            why = (
                f"The language server has not answered within {seconds:g} s and is still waited for. "
                "Ask again in a moment."
            )
        except ChatError as error:
            why = " ".join(filter(None, (error.message, error.hint)))
        is_known = self._heard_of is not None and self._heard_of is self._server.running
        # Stored without a notification: the caller gets it, and what the server says later is a change.
        self._reported = replace(self._known() if is_known else self._status("signed_out"), message=why)
        return self._reported

    async def require(self, connection: ServerConnection) -> None:
        """Let a chat begin if the server is signed in, as far as it knows without asking GitHub.

        Raises:
            AuthenticationError: it is signed out.
            AuthorizationError: the account may not use Copilot.
            ChatError: the server does not answer.
        """
        if self._heard_of is connection and self._state == "signed_in":
            return
        try:
            await self._check(connection, {"localChecksOnly": True})
            if self._state != "signed_in":
                # The user may have signed in since then; only a failure costs this request.
                await self._check(connection, {"forceRefresh": True})
        except RpcError as error:
            # The network may be there for the chat, which says it better if it is not.
            logger.info("%s cannot say who is signed in: %s", self._hosts.provider, error.message)
            return
        self._report()
        if self._state != "signed_in":
            raise self._not_ready()

    def explained(self, error: AuthenticationError) -> AuthenticationError:
        """The refusal of a chat, with the reason where the server has reported one meanwhile.

        It calls everything "not authenticated", an account too that may not use Copilot.
        """
        refused = error.provider_code == REFUSED and self._state in ("not_authorized", "expired")
        return self._not_ready() if refused else error

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Sign a person in with a code.

        Raises:
            AuthenticationError: they did not, or not in time.
            RequestError: another sign-in is under way.
            ChatError: the server failed, or names a page that is not the configured GitHub's.
        """
        try:
            async with asyncio.timeout(GIVING_UP_SECONDS):
                await self._sign_in_lock.acquire()
        except TimeoutError:
            # The server tells a code without saying for which of them it is.
            raise RequestError(
                f"A sign-in to {self._hosts.provider} is under way already.",
                provider=self._hosts.provider,
                hint="Finish it on its page, or cancel it.",
            ) from None
        try:
            connection = await self._server.connection()
            self._signing_in = DeviceSignIn(connection, self._hosts, on_prompt)
            self._take(connection, read_sign_in(await self._signing_in.run()))
        finally:
            self._signing_in = None
            self._sign_in_lock.release()
        if self._state != "signed_in":
            raise self._not_ready()
        self._report(is_change=True)
        status = await self.status(refresh=True)
        # Whatever became of plan and quotas, the server has said that the person is signed in.
        return status if status.state != "signed_out" else self._status("signed_in")

    async def sign_out(self) -> AuthStatus:
        """Have the server forget its sign-in; one in its environment stays.

        Raises:
            ChatError: it could not be asked.
        """
        connection = await self._server.connection()
        try:
            answer = await connection.request("signOut", {}, seconds=REFRESH_SECONDS)
        except RpcError as error:
            raise request_error(error, provider=self._hosts.provider) from error
        self._sign_in = None  # Why it could not be used does not matter any more.
        self._take(connection, read_sign_in(answer))
        status = self._report(is_change=True)
        if status.state != "signed_out":
            who = status.login or "The account"
            why = (
                f"{who} stays signed in: the language server has a token from its environment "
                "(GH_COPILOT_TOKEN or GITHUB_COPILOT_TOKEN). Unset it there to sign out."
            )
            return replace(status, message=why)
        return status

    def notified(self, method: str, params: Any) -> None:
        """Take a notification of the server's, if it is about the account."""
        params = params if isinstance(params, Mapping) and not self._is_closed else {}
        match method:
            case "didChangeStatus/v2":
                # It comes with every answer about the sign-in too, so it is never a reason to ask.
                rows = params.get("statuses")
                for row in rows if isinstance(rows, list) else []:
                    if isinstance(row, Mapping) and row.get("category") == "auth" and row.get("result"):
                        self._take(self._server.running, read_sign_in(row["result"], row))
                        self._report()
            case "didChangeStatus" | "statusNotification":
                # Older servers say no more than this: who is signed in has to be asked.
                kind = params.get("kind") or params.get("status")
                if kind in ("Normal", "Error") and kind != self._kind:
                    self._kind = kind
                    self._looking.start(self._looked)
            case "copilot/quotaChange":
                self._note_account(params)
            case "signInWithDeviceFlowProgress" if self._signing_in is not None:
                self._signing_in.notified(params)

    def look(self) -> None:
        """Have the server read its store again, which another run of it has changed; report a change."""
        if self._server.running is not None and not self._is_closed:
            self._looking.start(self._looked)

    async def aclose(self) -> None:
        """End questions under way, and begin no other."""
        self._is_closed = True
        await self._looking.aclose()
        await self._refreshing.aclose()

    async def _looked(self) -> AuthStatus:
        """The status by what the server knows without asking GitHub.

        Raises:
            ChatError: the server cannot be started, or does not answer.
        """
        connection = await self._server.connection()
        try:
            await self._check(connection, {"localChecksOnly": True})
        except RpcError as error:
            raise request_error(error, provider=self._hosts.provider) from error
        return self._report()

    async def _refreshed(self) -> AuthStatus:
        """The status with GitHub's word on it.

        Raises:
            ChatError: as `_looked` raises it.
        """
        connection = await self._server.connection()
        try:
            await self._check(connection, {"forceRefresh": True})
        except RpcError as error:
            if self._heard_of is not connection:
                await self._looked()
            why = request_error(error, provider=self._hosts.provider).message
            return replace(self._known(), message=why)
        if self._state == "signed_in":
            try:
                answer = await connection.request("checkQuota", {}, seconds=REFRESH_SECONDS)
            except RpcError as error:
                logger.info("plan and quotas of %s are not known: %s", self._hosts.provider, error.message)
            else:
                self._note_account(answer if isinstance(answer, Mapping) else {})
        return self._report()

    async def _check(self, connection: ServerConnection, options: Mapping[str, bool]) -> None:
        """Ask the server who is signed in.

        Raises:
            RpcError: it could not find out.
            ChatError: it does not answer.
        """
        answer = await connection.request("checkStatus", {"options": options}, seconds=REFRESH_SECONDS)
        self._take(connection, read_sign_in(answer))

    def _take(self, connection: ServerConnection | None, now: SignInReport) -> None:
        """Take what the server says, with what it said before where that is more."""
        before = self._sign_in if self._heard_of is connection else None
        if before is not None:
            is_out = ("signed_out", "expired")
            is_refused = before.state in ("not_authorized", "expired")
            if is_refused and now.state == "signed_in" and not now.is_tried and now.login == before.login:
                return  # What GitHub refused is not undone by a look at the disk.
            if now.state == "signed_out" and before.state in is_out and not now.words:
                now = before  # A notification came first, and knew why.
            elif now.state == before.state and now.login == before.login and not now.words:
                now = replace(now, words=before.words)
        if before is None or now.login != before.login:
            self._plan, self._quotas = None, ()
        self._sign_in, self._heard_of = now, connection

    @property
    def _state(self) -> AuthState:
        return self._sign_in.state if self._sign_in is not None else "signed_out"

    def _note_account(self, answer: Mapping[str, Any]) -> None:
        """Take plan and quotas; the client hears of it when a quota that was known crosses a threshold."""
        self._plan = read_plan(answer) or self._plan
        fresh = read_quotas(answer)
        crossed = crossed_thresholds(self._quotas, fresh) if self._quotas else []
        self._quotas = merged_quotas(self._quotas, fresh)
        if self._sign_in is not None:
            self._report(is_change=bool(crossed))

    def _not_ready(self) -> AuthenticationError:
        """Why a chat cannot begin, with what to do about it."""
        known = self._sign_in or SignInReport("signed_out")
        host, command = self._hosts.authority, self._hosts.login_command
        words = f" {known.words.rstrip('.')}." if known.words else ""
        if known.state == "not_authorized":
            who = f"{known.login} at {host}" if known.login else f"The account at {host}"
            return AuthorizationError(
                f"{who} may not use Copilot.{words}",
                provider=self._hosts.provider,
                hint=f"See {self._hosts.github}/settings/copilot, or use another account: `{command}`.",
            )
        message = f"The language server is not signed in to {host}."
        if known.state == "expired":
            message = f"The sign-in of the language server to {host} has expired."
        return AuthenticationError(
            f"{message}{words}", provider=self._hosts.provider, hint=f"Sign in: `{command}`."
        )

    def _known(self) -> AuthStatus:
        """The status by what is known now."""
        if self._state == "signed_in":
            return self._status("signed_in")
        error = self._not_ready()
        return replace(self._status(self._state), message=f"{error.message} {error.hint}")

    def _status(self, state: AuthState) -> AuthStatus:
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

    def _report(self, *, is_change: bool = False) -> AuthStatus:
        """Report the status if it has changed; the first one is no change by itself."""
        before, status = self._reported, self._known()
        self._reported = status
        if (before is not None and _facts(before) != _facts(status)) or (is_change and before != status):
            self._on_change(status)
        return status


def _facts(status: AuthStatus) -> tuple[AuthState, str | None, str | None]:
    return status.state, status.login, status.plan
