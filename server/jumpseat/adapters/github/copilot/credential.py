"""The credential of one sign-in for requests to Copilot, and the facts about its account.

A bearer is either the GitHub token itself (the direct route) or a short-lived token obtained in exchange for
it. The prefix of the GitHub token decides which route is tried first. If that route is refused, the other one
is used. If both were refused, the credential starts over with the first one after a while.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from jumpseat.adapters.base.account import Quota
from jumpseat.adapters.github.account import AccountFacts, crossed_thresholds, fetch_account, merge_quotas
from jumpseat.adapters.github.copilot.bearer import Bearer, NoOtherBearer
from jumpseat.adapters.github.copilot.shared_token import SharedTokenFile, exchange_lock
from jumpseat.adapters.github.copilot.token import CopilotToken, exchange
from jumpseat.adapters.github.errors import ExchangeClosedError
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.tokens import Route, SignIn, routes_of
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError
from jumpseat.http import HttpClient
from jumpseat.system.clock import SYSTEM_CLOCK, Clock
from jumpseat.system.single_flight import SingleFlight

logger = logging.getLogger(__name__)

T = TypeVar("T")

REPLACEMENT_SECONDS = 60.0  # More frequent exchanges would look like abuse.
"""The minimum time between two replacements of refused tokens, counted over all daemons of the machine."""

FIRST_BACKOFF_SECONDS = 0.25
"""The time for which a first retryable failure is cached, so short that the engine's retry reaches GitHub."""

MAX_BACKOFF_SECONDS = 60.0
NON_RETRYABLE_SECONDS = 30.0
"""The time for which a non-retryable failure is cached. It is short, because the user may fix the cause."""

_MAX_DOUBLINGS = 16


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failed request to GitHub, cached so that many failing chats do not cause many requests."""

    error: ChatError
    preceding_failures: int
    """The number of failed requests directly before this one."""

    until: float
    """The time until which the failure is cached, by the monotonic clock."""


class CopilotCredential:
    """The bearers and the account of one sign-in, for any number of turns and sessions."""

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
            http: a client for this object alone; `aclose` closes it.
            hosts: the hosts that the sign-in is for.
            directory: the directory in which daemons share tokens.
            headers: the client's identity for an exchange: `editor-version` and similar.
            clock: the clock that determines whether tokens and cached failures are still valid.
            jitter: returns a number from 0 to 1 for each token.
        """
        self._http = http
        self._hosts = hosts
        self.sign_in = sign_in
        self._headers = dict(headers or {})
        self._clock = clock
        self._jitter = jitter

        self._routes = routes_of(sign_in.token)
        """The route in use, followed by the other route if that was not refused yet."""

        self._reopen_at: float | None = None
        """The time at which to start over, by the monotonic clock; None unless both routes were refused."""

        self.facts: AccountFacts | None = None
        """The facts in `_account`, or else in a short-lived token, with the latest known quotas."""

        self.failure: ChatError | None = None
        """The reason why no bearer is available; None if one is."""

        self.denial: ChatError | None = None
        """The reason why Copilot's API (the data plane) denies access, although a bearer is available."""

        self.listeners: set[Callable[[], None]] = set()
        """The callbacks for changes of `facts`, `failure` and `denial` that users should see."""

        self._account: AccountFacts | None = None
        """The facts in GitHub's last response about the account."""

        self._token: CopilotToken | None = None
        self._is_refused = False
        """Whether the token must be replaced, and must not be read from the shared file again."""

        self._file = SharedTokenFile(hosts, sign_in.token, directory=directory, clock=clock)
        self._exchanging: SingleFlight[CopilotToken] = SingleFlight()
        self._fetching: SingleFlight[AccountFacts] = SingleFlight()
        self._failures: dict[Route, _Failure] = {}

    async def get_bearer(self, *, insist: bool = False) -> Bearer:
        """Return the bearer for the next request.

        Args:
            insist: ignore cached failures and, on the direct route, request the account again.

        Raises:
            AuthenticationError: this sign-in does not work; the hint names the remedy.
            ChatError: GitHub does not answer.
        """
        if self._reopen_at is not None and self._clock.monotonic() >= self._reopen_at:
            self._routes, self._reopen_at = routes_of(self.sign_in.token), None
        if self._routes[0] == "direct":
            return await self._get_direct_bearer(insist=insist)
        try:
            token = await self._get_valid_token(insist=insist)
        except ExchangeClosedError:
            if not self._leave_route("exchange"):
                raise
            try:
                return await self._get_direct_bearer(insist=insist)
            except AuthenticationError:
                # Both routes failed, so the account is the cause. Both may work once the account is in order.
                self._routes = ["exchange", "direct"]
                raise
        return Bearer(token.secret, token.data_host, token)

    async def discard_bearer(self, bearer: Bearer) -> str:
        """Discard a bearer that the data plane refused with 401.

        Returns:
            The reason why the next `get_bearer` returns another bearer: `newer_token` if any daemon already
            has a newer token, else `expired_token`. A turn repeats its request at most once for the same
            reason.

        Raises:
            NoOtherBearer: no other bearer is available now.
        """
        if bearer.exchanged is not None:
            return await self._discard_token(bearer.exchanged)
        if not self._leave_route("direct"):
            raise NoOtherBearer
        return "expired_token"

    async def refresh(self) -> None:
        """Request the account, then a bearer, to find out whether the account has access.

        Raises:
            ChatError: no bearer is available.
        """
        try:
            await self._request_account(insist=True)
        except AuthorizationError as error:  # GitHub may still issue a token, so try a new exchange.
            await self._discard_current_token()
            token = (await self.get_bearer(insist=True)).exchanged
            if token is None:
                raise
            logger.info("the plan and the quotas are unknown: %s", error.message)
            self.facts = AccountFacts(sku=token.sku, chat_enabled=token.chat_enabled)
        else:
            # On the direct route, a bearer needs only the account, which was just fetched.
            await self.get_bearer(insist=self._routes[0] == "exchange")

    def record_state(self, *, failure: ChatError | None, denial: ChatError | None) -> None:
        """Record why no bearer is available (`failure`), or why Copilot's API denies access (`denial`)."""
        if (failure, denial) != (self.failure, self.denial):
            self.failure, self.denial = failure, denial
            self.announce()

    async def record_denial(self, error: ChatError) -> None:
        """Record that the data plane denies access, and discard the short-lived token."""
        await self._discard_current_token()
        self.record_state(failure=self.failure, denial=error)

    def record_served(self, quotas: Sequence[Quota]) -> None:
        """Record that the data plane serves the account, and announce a quota that crosses a threshold."""
        self.record_state(failure=self.failure, denial=None)
        if not quotas:
            return
        facts = self.facts or AccountFacts()
        self.facts = replace(facts, quotas=tuple(merge_quotas(facts.quotas, quotas)))
        if crossed_thresholds(facts.quotas, self.facts.quotas):
            self.announce()

    def announce(self) -> None:
        """Call the listeners."""
        for listener in tuple(self.listeners):
            listener()

    async def forget(self) -> None:
        """Drop everything derived from the sign-in, here and in the shared file."""
        self._account = self.facts = None
        await self._exchanging.aclose()
        self._token, self._is_refused = None, False
        await self._file.erase()

    async def aclose(self) -> None:
        """Cancel requests in progress, and close the HTTP client."""
        await self._fetching.aclose()
        await self._exchanging.aclose()
        await self._http.aclose()

    # -- routes

    def _leave_route(self, route: Route) -> bool:
        """Switch from this route to the other one; return False if the other one was refused before."""
        if self._routes[0] != route:
            return True  # Another caller has already switched.
        if len(self._routes) > 1:
            del self._routes[0]
            return True
        # Both routes are refused. The cause may be a failure of the service, so try both again later.
        if self._reopen_at is None:
            self._reopen_at = self._clock.monotonic() + NON_RETRYABLE_SECONDS
        return False

    async def _get_direct_bearer(self, *, insist: bool) -> Bearer:
        account = self._account
        if account is None or insist:
            account = await self._request_account(insist=insist)
        return Bearer(self.sign_in.token, self._hosts.data_host(account.endpoint))

    async def _request_account(self, *, insist: bool) -> AccountFacts:
        return await self._request_once("direct", self._fetching, self._fetch_account, insist=insist)

    async def _fetch_account(self) -> AccountFacts:
        try:
            self._account = self.facts = await fetch_account(
                self._http, self._hosts, self.sign_in.token, source=self.sign_in.source
            )
        except ChatError as error:
            # If GitHub rejects the sign-in, its short-lived token may still work, but must not be used.
            self._is_refused |= self._token is not None and error.status_code == 401
            raise
        return self._account

    # -- the short-lived token

    async def _get_valid_token(self, *, insist: bool) -> CopilotToken:
        """Return a usable token.

        Raises:
            ExchangeClosedError: the exchange does not accept this kind of token.
            ChatError: no token is available.
        """
        token = None if self._is_refused else self._token
        if token is not None and token.is_valid(self._clock, until=token.refresh_at):
            return token
        if token is not None and token.is_valid(self._clock, until=token.expires_at):
            if insist or self._cached_failure("exchange") is None:
                self._exchanging.start(partial(self._run_and_cache_failure, "exchange", self._obtain_token))
            return token
        return await self._request_once("exchange", self._exchanging, self._obtain_token, insist=insist)

    async def _obtain_token(self) -> CopilotToken:
        async with exchange_lock(self._file.lock_path):
            stored = await self._file.read()
            if stored is not None and self._is_better(stored, self._token):
                token = stored
            else:
                token = await exchange(
                    self._http,
                    self._hosts,
                    self.sign_in.token,
                    source=self.sign_in.source,
                    headers=self._headers,
                    clock=self._clock,
                    jitter=self._jitter(),
                )
                replaced_at = (
                    token.obtained_at if self._is_refused else _last_replacement(self._token, stored)
                )
                token = replace(token, replaced_at=replaced_at)
                await self._file.write(token)
        self._token, self._is_refused = token, False
        return token

    def _is_better(self, stored: CopilotToken, ours: CopilotToken | None) -> bool:
        """Whether to use a token of the shared file instead of `ours`, which is refused or not fresh."""
        is_fresh = stored.is_valid(self._clock, until=stored.refresh_at)
        if ours is None or not is_fresh:
            return is_fresh
        # A daemon that was suspended may have written an older token late. If `ours` seems to come from the
        # future, the clock has been set back since, so the two times cannot be compared.
        is_older = stored.obtained_at < ours.obtained_at <= self._clock.now()
        return not is_older and not stored.is_same(ours)

    async def _discard_current_token(self) -> None:
        """Discard the short-lived token, unless a token was replaced in the last minute.

        Called when access is denied: the next exchange shows whether GitHub still issues tokens.
        """
        if self._token is not None:
            with contextlib.suppress(NoOtherBearer):
                await self._discard_token(self._token)

    async def _discard_token(self, token: CopilotToken) -> str:
        """Discard a token; see `discard_bearer` for the result and the exception."""
        reason = self._find_replacement_reason(token)
        if reason is not None:
            return reason
        stored = await self._file.read()
        # Another caller may have discarded the token during the read.
        reason = self._find_replacement_reason(token)
        if reason is not None:
            return reason
        if stored is not None and self._is_better(stored, token):
            self._token = stored
            return "newer_token"
        replaced_at = _last_replacement(token, stored)
        age = REPLACEMENT_SECONDS if replaced_at is None else self._clock.now() - replaced_at
        if 0 <= age < REPLACEMENT_SECONDS:
            raise NoOtherBearer(REPLACEMENT_SECONDS - age)
        self._token, self._is_refused = token, True
        return "expired_token"

    def _find_replacement_reason(self, token: CopilotToken) -> str | None:
        """Return the result of `discard_bearer` if another caller has discarded the token; else None."""
        if self._is_refused:
            return "expired_token"
        return "newer_token" if self._token is not None and not self._token.is_same(token) else None

    # -- requests to GitHub

    async def _request_once(
        self, route: Route, flight: SingleFlight[T], work: Callable[[], Awaitable[T]], *, insist: bool
    ) -> T:
        """Send a route's request unless its last failure is cached; concurrent callers share the request.

        Raises:
            ChatError: the request failed, or failed shortly before.
        """
        failure = None if insist else self._cached_failure(route)
        # Raise a new object for each caller: a shared one would collect everyone's tracebacks.
        if failure is not None:
            raise copy.copy(failure.error).with_traceback(None)
        try:
            return await flight.run(partial(self._run_and_cache_failure, route, work))
        except ChatError as error:
            raise copy.copy(error).with_traceback(None) from None

    async def _run_and_cache_failure(self, route: Route, work: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await work()
        except ChatError as error:
            before = self._failures.get(route)
            self._cache_failure(
                route,
                error,
                preceding_failures=min(before.preceding_failures + 1, _MAX_DOUBLINGS) if before else 0,
            )
            # An authentication error concerns the sign-in, so it replaces the other route's cached failure as
            # well. A closed exchange does not: it concerns only the kind of token.
            if isinstance(error, AuthenticationError) and not isinstance(error, ExchangeClosedError):
                other: Route = "direct" if route == "exchange" else "exchange"
                earlier = self._cached_failure(other)
                if earlier is not None:
                    self._cache_failure(other, error, earlier.preceding_failures)
            raise
        self._failures.pop(route, None)
        return result

    def _cached_failure(self, route: Route) -> _Failure | None:
        """Return the route's last failure while it is cached; None if a new request may be made."""
        failure = self._failures.get(route)
        return failure if failure is not None and self._clock.monotonic() < failure.until else None

    def _cache_failure(self, route: Route, error: ChatError, preceding_failures: int) -> None:
        seconds = NON_RETRYABLE_SECONDS
        if error.retryable:
            backoff = FIRST_BACKOFF_SECONDS * 2.0 ** min(preceding_failures, _MAX_DOUBLINGS)
            seconds = min(backoff, MAX_BACKOFF_SECONDS) if error.retry_after is None else error.retry_after
        self._failures[route] = _Failure(error, preceding_failures, self._clock.monotonic() + seconds)


def _last_replacement(*tokens: CopilotToken | None) -> float | None:
    """Return the latest `replaced_at` of these tokens; None if no token has one."""
    moments = [each.replaced_at for each in tokens if each is not None and each.replaced_at is not None]
    return max(moments, default=None)
