"""The account of one sign-in, and its credential for requests to Copilot.

A credential is the GitHub token itself (direct use) or a short-lived token that GitHub exchanges for it. The
prefix of the GitHub token decides which of these routes is tried first; if it is refused, the other one is
tried once.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jumpseat.adapters.base.account import Quota
from jumpseat.adapters.github.account import AccountFacts, crossed_thresholds, fetch_account, merged_quotas
from jumpseat.adapters.github.copilot.shared_token import SharedTokenFile
from jumpseat.adapters.github.copilot.token import CopilotToken, exchange
from jumpseat.adapters.github.errors import ExchangeClosedError
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.shared_request import FINAL_SECONDS, SharedRequest
from jumpseat.adapters.github.sign_in.tokens import Route, SignIn, check_usable, first_route, other_route
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError
from jumpseat.http import HttpClient
from jumpseat.system.clock import SYSTEM_CLOCK, Clock
from jumpseat.system.secrets import Secret

logger = logging.getLogger(__name__)

REPLACEMENT_SECONDS = 60.0
"""The shortest time between early replacements of a token by all daemons of the machine: more exchanges would
look like abuse."""


class NoOtherCredential(Exception):  # noqa: N818 - not a failure by itself: the caller has the error to raise
    """A credential was refused and there is no other one; `retry_after` if there may be one later."""

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class CopilotCredential:
    """A bearer token, and the only data host that it may be sent to (a base URL without a last slash)."""

    token: Secret
    data_host: str
    exchanged: CopilotToken | None = None
    """The short-lived token with its times; None if the GitHub token itself is used."""


class TokenCache:
    """The credentials and the account of one sign-in, for any number of turns of any number of sessions."""

    def __init__(
        self,
        http: HttpClient,
        hosts: GitHubHosts,
        sign_in: SignIn,
        directory: Path,
        *,
        headers: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """
        Args:
            http: a client of its own; `aclose` closes it.
            hosts: the GitHub of the sign-in.
            sign_in: the sign-in.
            directory: where daemons share tokens.
            headers: the client's identity for an exchange: `editor-version` and similar.
            clock: measures and waits.
            jitter: a number from 0 to 1, for each token.
        """
        self._http = http
        self._hosts = hosts
        self.sign_in = sign_in
        self._headers = dict(headers or {})
        self._clock = clock
        self._jitter = jitter

        self._route = first_route(sign_in.token)
        self._closed_route: Route | None = None
        self._reopen_at: float | None = None

        self.facts: AccountFacts | None = None
        """The last facts of the account from GitHub, with the quotas of later answers."""

        self.failure: ChatError | None = None
        """Why there is no credential."""

        self.denial: ChatError | None = None
        """Why the data plane does not serve the account, although there is a credential."""

        self.listeners: set[Callable[[], None]] = set()
        """Called when one of these three changed in a way that users should see."""

        self._account: AccountFacts | None = None
        self._account_request = SharedRequest(self._fetch_account, clock)

        self._token: CopilotToken | None = None
        self._token_since = 0.0
        """When the token was obtained, by the monotonic clock."""

        self._discarded: CopilotToken | None = None
        """The token to replace: it is not taken from the shared file again."""

        self._replaced_at: float | None = None
        """When a daemon of this machine last replaced a discarded token, in seconds since 1970."""

        self._file = SharedTokenFile(hosts, sign_in.token, directory=directory, clock=clock)
        self._token_request = SharedRequest(self._obtain, clock)

    async def get(self, *, insist: bool = False) -> CopilotCredential:
        """The credential for the next request.

        Args:
            insist: make a request to GitHub even if it has just refused one.

        Raises:
            AuthenticationError: this sign-in does not work; the hint says what to do.
            ChatError: GitHub does not answer.
        """
        check_usable(self.sign_in.token, provider=self._hosts.provider, source=self.sign_in.source)
        if self._reopen_at is not None and self._clock.monotonic() >= self._reopen_at:
            self._route, self._closed_route = first_route(self.sign_in.token), None
            self._reopen_at = None
        if self._route == "direct":
            return await self._direct(insist=insist)
        try:
            token = await self._fresh_token(insist=insist)
        except ExchangeClosedError:
            if not self._switch_from("exchange"):
                raise
            try:
                return await self._direct(insist=insist)
            except AuthenticationError:
                # The kind of token is not the cause: the exchange may work once the account is in order.
                self._route, self._closed_route = "exchange", None
                raise
        return CopilotCredential(token.secret, token.data_host, token)

    async def refused(self, credential: CopilotCredential) -> str:
        """Note that the data plane answered 401 to a credential.

        Returns:
            Why `get` gives another one, so that the request is worth repeating, once for each reason:
            `newer_token` if this daemon or another already has one, else `expired_token`.

        Raises:
            NoOtherCredential: there is no other one now.
        """
        if credential.exchanged is not None:
            return await self._discard(credential.exchanged)
        if self._route == "direct" and not self._switch_from("direct"):
            raise NoOtherCredential
        return "expired_token"

    async def recheck(self) -> None:
        """Replace the short-lived token, unless that was done in the last minute.

        GitHub may not give it any more: the service, or GitHub's answer about the account, denies the access.
        """
        if self._token is not None:
            with contextlib.suppress(NoOtherCredential):
                await self._discard(self._token)

    async def refresh(self) -> None:
        """Request the account, then a credential, which shows whether the account has access.

        Raises:
            ChatError: there is no credential.
        """
        try:
            await self._account_request.run(insist=True)
        except AuthorizationError as error:
            await self.recheck()
            token = (await self.get(insist=True)).exchanged
            if token is None:
                raise
            logger.info("plan and quotas are not known: %s", error.message)
            self.facts = AccountFacts(sku=token.sku, chat_enabled=token.chat_enabled)
        else:
            await self.get(insist=True)

    def note(self, *, failure: ChatError | None, denial: ChatError | None = None) -> None:
        """Set why there is no credential, or why it does not work; None if it works."""
        before, (self.failure, self.denial) = (self.failure, self.denial), (failure, denial)
        if before != (failure, denial):
            self.announce()

    async def denied(self, error: ChatError) -> None:
        """Note that the data plane does not serve the account, until it does or GitHub is asked again."""
        await self.recheck()
        self.note(failure=self.failure, denial=error)

    def served(self, quotas: Sequence[Quota]) -> None:
        """Note that the data plane serves the account; a quota that crosses a threshold is announced."""
        self.note(failure=self.failure)
        if not quotas:
            return
        facts = self.facts or AccountFacts()
        self.facts = replace(facts, quotas=tuple(merged_quotas(facts.quotas, quotas)))
        if crossed_thresholds(facts.quotas, self.facts.quotas):
            self.announce()

    def announce(self) -> None:
        """Call the listeners."""
        for listener in tuple(self.listeners):
            listener()

    async def forget(self) -> None:
        """Drop what was derived from the sign-in, here and in the shared file."""
        self._account = self.facts = None
        await self._token_request.aclose()
        self._token = None
        await self._file.erase()

    async def aclose(self) -> None:
        """End requests under way."""
        await self._account_request.aclose()
        await self._token_request.aclose()
        await self._http.aclose()

    def _switch_from(self, route: Route) -> bool:
        """Use the other route from now on; False if that one is already closed."""
        if self._route != route:
            return True  # Another caller has switched before.
        if self._closed_route is not None:
            # Both routes are closed, so the kind of token is not the cause; a failure of the service may be.
            if self._reopen_at is None:
                self._reopen_at = self._clock.monotonic() + FINAL_SECONDS
            return False
        self._closed_route, self._route = route, other_route(route)
        return True

    async def _direct(self, *, insist: bool) -> CopilotCredential:
        account = self._account
        if account is None or insist:
            account = await self._account_request.run(insist=insist)
        return CopilotCredential(self.sign_in.token, self._hosts.data_host(account.endpoint))

    async def _fetch_account(self) -> AccountFacts:
        try:
            self._account = self.facts = await fetch_account(
                self._http, self._hosts, self.sign_in.token, source=self.sign_in.source
            )
        except ChatError as error:
            if error.status_code == 401:
                # The short-lived token outlives the sign-in, and must not be used without it.
                self._token, self._discarded = None, self._token or self._discarded
            if isinstance(error, AuthenticationError):
                self._token_request.supersede(error)
            raise
        return self._account

    async def _fresh_token(self, *, insist: bool) -> CopilotToken:
        """A usable token.

        Raises:
            ExchangeClosedError: the exchange does not take this kind of token.
            ChatError: there is none.
        """
        token = self._token
        if token is not None and self._is_usable(token, token.refresh_at):
            return token
        if token is not None and self._is_usable(token, token.expires_at):
            if insist or self._token_request.failure is None:
                self._token_request.start()
            return token
        return await self._token_request.run(insist=insist)

    def _is_usable(self, token: CopilotToken, until: float) -> bool:
        # By both clocks: the wall clock may have been set, the monotonic one may have stopped in sleep.
        elapsed = self._clock.monotonic() - self._token_since
        now = self._clock.now()
        return token.is_alive(now) and now < until and token.obtained_at + elapsed < until

    async def _discard(self, token: CopilotToken) -> str:
        """Discard a token; result and exception as for `refused`."""
        if _differs(self._token, token):
            return "newer_token"
        if self._discarded is not None and not _differs(self._discarded, token):
            return "expired_token"  # Another caller has discarded it.
        shared = await self._shared(discarded=token)
        if _differs(self._token, token):
            return "newer_token"
        if shared is not None:
            self._keep(shared)
            return "newer_token"
        age = REPLACEMENT_SECONDS if self._replaced_at is None else self._clock.now() - self._replaced_at
        if 0 <= age < REPLACEMENT_SECONDS:
            raise NoOtherCredential(REPLACEMENT_SECONDS - age)
        self._token, self._discarded = None, token
        return "expired_token"

    async def _obtain(self) -> CopilotToken:
        async with self._file.lock():
            token = await self._shared(self._discarded)
            if token is None:
                token = await self._exchange_or_supersede()
        self._discarded = None
        self._keep(token)
        return token

    def _keep(self, token: CopilotToken) -> None:
        age = self._clock.now() - token.obtained_at
        self._token, self._token_since = token, self._clock.monotonic() - age

    async def _shared(self, discarded: CopilotToken | None) -> CopilotToken | None:
        """The token that another daemon has written, if it is newer than ours and the discarded one."""
        token, replaced_at = await self._file.read()
        if replaced_at is not None:
            self._replaced_at = max(replaced_at, self._replaced_at or replaced_at)
        if token is None or not token.is_fresh(self._clock.now()):
            return None
        if discarded is not None and (
            token.obtained_at < discarded.obtained_at or not _differs(discarded, token)
        ):
            return None
        # Ours is not fresh here. The same token in the file looks fresh only if a clock was set back.
        return token if self._token is None or _differs(self._token, token) else None

    async def _exchange_or_supersede(self) -> CopilotToken:
        try:
            return await self._exchange()
        except ExchangeClosedError:
            raise  # It is about the kind of token, not about the account.
        except AuthenticationError as error:
            self._account_request.supersede(error)
            raise

    async def _exchange(self) -> CopilotToken:
        token = await exchange(
            self._http,
            self._hosts,
            self.sign_in.token,
            source=self.sign_in.source,
            headers=self._headers,
            clock=self._clock,
            jitter=self._jitter(),
        )
        if self._discarded is not None:
            self._replaced_at = token.obtained_at
        await self._file.write(token, self._replaced_at)
        return token


def _differs(one: CopilotToken | None, other: CopilotToken) -> bool:
    return one is not None and one.secret.reveal() != other.secret.reveal()
