"""What a request to Copilot is signed with, for one sign-in: an exchanged token, or the GitHub token itself.

Decides by the token's prefix, tries the other way once if GitHub or the data plane refuses the first, and
remembers which one works; where neither does, it begins anew after a while, as services have bad moments.
Pairs each credential with the data host that came with it. Above it is the adapter, which asks before each
request and tells when one was refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jumpseat.adapters.github.account import AccountFacts, fetch_account
from jumpseat.adapters.github.copilot.token import CopilotToken, OtherRouteWanted
from jumpseat.adapters.github.copilot.tokens import CopilotTokens, NoOtherCredential
from jumpseat.adapters.github.errors import again
from jumpseat.adapters.github.failure_memory import FINAL_SECONDS, FailureMemory
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_ins import SignIn
from jumpseat.adapters.github.token_kinds import Route, check_usable, first_route, other_route
from jumpseat.chat import AuthenticationError, ChatError
from jumpseat.http import HttpClient
from jumpseat.system.clock import SYSTEM_CLOCK, Clock
from jumpseat.system.secrets import Secret
from jumpseat.system.single_flight import SingleFlight


@dataclass(frozen=True, slots=True)
class CopilotCredential:
    """A bearer token and the one data host that it may go to, a base URL without a last slash."""

    token: Secret
    data_host: str
    route: Route
    exchanged: CopilotToken | None = None


class CopilotCredentials:
    """The credentials of one sign-in, for any number of turns at once."""

    def __init__(
        self,
        http: HttpClient,
        hosts: GitHubHosts,
        sign_in: SignIn,
        *,
        headers: Mapping[str, str] | None = None,
        directory: Path | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """
        Args:
            http: the shared client.
            hosts: the GitHub of the sign-in.
            sign_in: whose credentials.
            headers: who asks for an exchange: `editor-version` and its like.
            directory: where daemons share tokens.
            clock: measures and waits.
        """
        self._http = http
        self._hosts = hosts
        self.sign_in = sign_in
        self._tokens = CopilotTokens(http, hosts, sign_in, headers=headers, directory=directory, clock=clock)
        self._route = first_route(sign_in.token)
        self._closed_route: Route | None = None
        self._clock = clock
        self._begin_anew_at: float | None = None
        self._account: AccountFacts | None = None
        self._account_flight: SingleFlight[AccountFacts] = SingleFlight()
        self._account_failures = FailureMemory(clock)

    async def get(self, *, insist: bool = False) -> CopilotCredential:
        """What to sign the next request with.

        Args:
            insist: ask GitHub even if it has just refused.

        Raises:
            AuthenticationError: this sign-in does not work; the hint says what to do.
            ChatError: GitHub could not be asked.
        """
        check_usable(self.sign_in.token, provider=self._hosts.provider, source=self.sign_in.source)
        if self._begin_anew_at is not None and self._clock.monotonic() >= self._begin_anew_at:
            self._route, self._closed_route = first_route(self.sign_in.token), None
            self._begin_anew_at = None
        if self._route == "direct":
            return await self._direct(insist=insist)
        try:
            token = await self._tokens.get(insist=insist)
        except OtherRouteWanted as wanted:
            if not self._switch_from("exchange"):
                raise again(wanted.error) from None
            try:
                return await self._direct(insist=insist)
            except AuthenticationError:
                # It is no matter of the token's kind. Once the account is in order, the first way counts.
                self._route, self._closed_route = "exchange", None
                raise
        return CopilotCredential(token.secret, token.data_host, "exchange", token)

    async def refused(self, credential: CopilotCredential) -> str:
        """Note that the data plane answered 401 to a credential.

        Returns:
            Why `get` gives another one, so that the request is worth repeating, once for each reason.

        Raises:
            NoOtherCredential: it gives no other one now.
        """
        if credential.exchanged is not None:
            return await self._tokens.refuse(credential.exchanged)
        if self._route == "direct" and not self._switch_from("direct"):
            raise NoOtherCredential
        return "expired_token"

    async def doubt(self) -> None:
        """Have `get` ask GitHub again: the service, or GitHub's word on the account, denies the access."""
        await self._tokens.doubt()

    async def account(self, *, refresh: bool = False) -> AccountFacts:
        """What GitHub says of the account; remembered until `refresh`.

        Raises:
            ChatError: it could not be asked, or does not accept the sign-in.
        """
        if self._account is not None and not refresh:
            return self._account
        failure = None if refresh else self._account_failures.current()
        if failure is not None:
            raise again(failure)
        try:
            return await self._account_flight.run(self._fetch_account)
        except ChatError as error:
            raise again(error) from None

    async def forget(self) -> None:
        """Drop what was derived from the sign-in, here and in the file that daemons share."""
        self._account = None
        await self._tokens.forget()

    async def aclose(self) -> None:
        """End requests under way."""
        await self._account_flight.aclose()
        await self._tokens.aclose()

    async def _direct(self, *, insist: bool) -> CopilotCredential:
        account = await self.account(refresh=insist)
        data_host = self._hosts.data_host(account.endpoint)
        return CopilotCredential(self.sign_in.token, data_host, "direct")

    async def _fetch_account(self) -> AccountFacts:
        try:
            account = await fetch_account(
                self._http, self._hosts, self.sign_in.token, source=self.sign_in.source
            )
        except ChatError as error:
            self._account_failures.note(error)
            if error.status_code == 401:
                self._tokens.drop()
            raise
        self._account_failures.clear()
        self._account = account
        return account

    def _switch_from(self, route: Route) -> bool:
        """Take the other way from now on, unless that one is closed already."""
        if self._route != route:
            return True  # Another caller has found out before.
        if self._closed_route is not None:
            # Neither way works, so that neither refusal says anything of the token's kind.
            if self._begin_anew_at is None:
                self._begin_anew_at = self._clock.monotonic() + FINAL_SECONDS
            return False
        self._closed_route, self._route = route, other_route(route)
        return True


def not_signed_in(hosts: GitHubHosts, notes: str = "") -> AuthenticationError:
    """The error for a provider that nobody has signed in to."""
    told = f" {notes}" if notes else ""
    return AuthenticationError(
        f"Nobody is signed in to {hosts.authority}.{told}",
        provider=hosts.provider,
        hint=f"Sign in: `{hosts.login_command}`.",
    )
