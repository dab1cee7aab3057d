"""The account of one Copilot provider: its sign-in, what GitHub says of it, and the status that clients see.

Chooses among the sign-ins that exist. `token_cache` makes the credentials of the chosen one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from jumpseat.adapters.base import OnPrompt, read_options
from jumpseat.adapters.base.account import AuthState, AuthStatus, Quota
from jumpseat.adapters.github.account import AccountFacts, crossed_thresholds, fetch_account, merged_quotas
from jumpseat.adapters.github.copilot.options import SOURCE_KEYS, CopilotOptions
from jumpseat.adapters.github.copilot.shared_token import forget_shared_tokens
from jumpseat.adapters.github.copilot.token_cache import CopilotCredential, NoOtherCredential, TokenCache
from jumpseat.adapters.github.device_flow import DEFAULT_CLIENT_ID, DeviceFlow
from jumpseat.adapters.github.errors import not_signed_in
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_ins import FoundSignIns, SignIn, find_sign_ins
from jumpseat.adapters.github.token_store import token_store_of
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ConfigError
from jumpseat.config import ProviderConfig, Values
from jumpseat.http import HttpClient

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 5.0
"""How long "signed out" counts before other programs' sign-ins are searched again."""

NAMED_SOURCES = ("config", "env:COPILOT_GITHUB_TOKEN")
"""Sources that the user named for Copilot: using another sign-in instead would surprise them."""


class CopilotAccount:
    """One provider's account. Searches for sign-ins at its first use, and again when the store changed."""

    def __init__(
        self,
        http: HttpClient,
        hosts: GitHubHosts,
        config: ProviderConfig,
        *,
        headers: Callable[[], Mapping[str, str]],
        on_change: Callable[[AuthStatus], None],
    ) -> None:
        """
        Args:
            http: the shared client.
            hosts: the GitHub.
            config: the provider's table; `client_id` and `github_token` count here.
            headers: what an exchange says of the client; called when the first exchange is due.
            on_change: called with the status when the state, the account or the use of a quota changed.
        """
        self._http = http
        self._hosts = hosts
        self._config = config
        self._options = read_options(CopilotOptions, hosts.provider, config)
        self._values = Values(hosts.provider, config, source_keys=SOURCE_KEYS)
        self._headers = headers
        self._on_change = on_change
        self._store = token_store_of(config.origin.environment)

        self._search_lock = asyncio.Lock()
        self._found: FoundSignIns | None = None
        self._store_stamp: object = None
        self._search_again_at = 0.0
        self._rejected: dict[str, SignIn] = {}
        """Sign-ins of other programs that GitHub does not accept any more, by token; the last one is last."""

        self._cache: TokenCache | None = None
        self._facts: AccountFacts | None = None
        self._failure: ChatError | None = None
        """Why there is no credential."""

        self._denial: ChatError | None = None
        """Why the data plane does not serve the account, although there is a credential."""

        self._reported: AuthStatus | None = None

    @property
    def watched_file(self) -> Path:
        """The file that every sign-in and sign-out on this machine changes."""
        return self._store.path

    async def credential(self, *, insist: bool = False) -> CopilotCredential:
        """The credential for the next request.

        Where GitHub rejects another program's sign-in, the next one is used.

        Raises:
            AuthenticationError: signed out, or GitHub does not accept the sign-in.
            ChatError: GitHub does not answer.
        """
        while True:
            cache = await self._current()
            try:
                credential = await cache.get(insist=insist)
            except ChatError as error:
                if await self._has_next_after(cache, error):
                    continue
                self._failure = error
                self._report(self._known())
                raise
            if self._failure is not None:
                self._failure = None
                self._report(self._known())
            return credential

    async def refused(self, credential: CopilotCredential) -> str:
        """As `TokenCache.refused`.

        Raises:
            NoOtherCredential: there is no other credential now.
        """
        if self._cache is None:
            raise NoOtherCredential
        return await self._cache.refused(credential)

    async def denied(self, error: ChatError) -> None:
        """Note that the data plane does not serve this account, until it does or GitHub is asked again."""
        self._denial = error
        if self._cache is not None:
            await self._cache.recheck()
        self._report(self._known())

    def served(self) -> None:
        """Note that the data plane serves this account."""
        if self._denial is not None:
            self._denial = None
            self._report(self._known())

    async def moved(self) -> None:
        """Note that the data plane is elsewhere (421): GitHub is asked for its host again."""
        if self._cache is not None:
            await self._cache.forget()
        self._facts = None

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Sign the user in with a device code, and keep the token.

        Raises:
            AuthenticationError: the user did not confirm, or not in time.
            ChatError: GitHub refused, or cannot be reached.
            ConfigError: this GitHub does not offer device codes, or the token cannot be stored.
        """
        flow = DeviceFlow(self._http, self._hosts, client_id=self._options.client_id or DEFAULT_CLIENT_ID)
        device = await flow.start()
        on_prompt(device.prompt)
        token = await flow.wait(device)
        login = await self._login_of(SignIn(token, "device"))
        with contextlib.suppress(ConfigError):  # They expire by themselves, and a sign-out reports them.
            await forget_shared_tokens(self._hosts, self._store.path.parent)
        storage = await self._store.write(self._hosts, token, login=login)
        await self._forget()
        status = await self.status(refresh=True)
        sentences = [status.message]
        if status.source in NAMED_SOURCES:
            named = "github_token in the configuration" if status.source == "config" else status.source
            sentences.append(f"The sign-in is stored, but not used: {named} comes before it.")
        if storage == "file":
            sentences.append(
                f"No keyring took the sign-in. It is stored in {self._store.path}, which only you can read."
            )
        return replace(status, message=" ".join(filter(None, sentences)) or None)

    async def sign_out(self) -> AuthStatus:
        """Forget our own sign-in. Other programs' sign-ins stay, and are not used until the next sign-in.

        Raises:
            ConfigError: a file still holds a token; the message names it.
            AuthenticationError: the keyring does not delete the token.
        """
        failures: list[ChatError] = []
        if self._cache is not None:
            await self._cache.forget()
        forget_tokens = partial(forget_shared_tokens, directory=self._store.path.parent)
        # The sign-in first: without it no daemon starts another exchange.
        for forget in (self._store.delete, forget_tokens):
            try:
                await forget(self._hosts)
            except ChatError as error:
                failures.append(error)
        await self._forget()
        status = self._report(await self.status())
        if not failures:
            return status
        first, *others = failures
        first.message = " ".join(each.message for each in (first, *others))
        raise first

    async def status(self, *, refresh: bool = False) -> AuthStatus:
        """The state of the sign-in and its source; with `refresh` GitHub is asked for account and quotas."""
        try:
            found = await self._search()
        except ChatError as error:
            return self._status("signed_out", error=error)
        if not found.sign_ins:
            return self._status("signed_out", error=not_signed_in(self._hosts, found.notes))
        return self._report(await self._refreshed()) if refresh else self._known()

    async def is_for_copilot(self) -> bool:
        """Whether there is a sign-in that was made for Copilot; does not run `gh`.

        Raises:
            ChatError: as `_search` raises it.
        """
        found = self._found or await self._find(general=False)
        return found.best is not None and found.best.is_for_copilot

    def note_quotas(self, quotas: Sequence[Quota]) -> None:
        """Take the quotas of an answer; reports the status when one crosses a threshold."""
        facts = self._facts or AccountFacts()
        self._facts = replace(facts, quotas=tuple(merged_quotas(facts.quotas, quotas)))
        if crossed_thresholds(facts.quotas, self._facts.quotas):
            self._report(self._known())

    async def store_changed(self) -> None:
        """Search again, and report what is new: another process may have signed in or out.

        The store holds every provider's sign-ins, and our own changes touch it too.
        """
        if self._found is None or await asyncio.to_thread(self._store.stamp) == self._store_stamp:
            return
        before = self._found.best
        after = (await self._search()).best
        if before is not None and after is not None and _are_the_same(before, after):
            return
        await self._forget()
        self._report(await self.status(refresh=after is not None))

    async def aclose(self) -> None:
        """End requests under way."""
        if self._cache is not None:
            await self._cache.aclose()

    async def _search(self) -> FoundSignIns:
        """The sign-ins that exist, without those that GitHub has rejected.

        Raises:
            ChatError: one that the user named for Copilot cannot be used, or the store cannot be read.
        """
        async with self._search_lock:
            stamp = await asyncio.to_thread(self._store.stamp)
            now = asyncio.get_running_loop().time()
            is_old = self._found is not None and not self._found.sign_ins and now >= self._search_again_at
            if self._found is None or stamp != self._store_stamp or is_old:
                self._found = await self._find()
                self._store_stamp, self._search_again_at = stamp, now + LOOK_AGAIN_SECONDS
            usable = [each for each in self._found.sign_ins if each.token.reveal() not in self._rejected]
            # Where all were rejected, the last one stays, so that its error is reported.
            return replace(self._found, sign_ins=usable or list(self._rejected.values())[-1:])

    async def _find(self, *, general: bool = True) -> FoundSignIns:
        raw = self._options.github_token
        configured = None if raw is None else await self._values.resolve("github_token", raw)
        places = self._hosts, self._store, self._config.origin.environment
        return await find_sign_ins(*places, configured=configured, rejected=self._rejected, general=general)

    async def _current(self) -> TokenCache:
        """The credentials of the best sign-in.

        Raises:
            AuthenticationError: signed out.
        """
        found = await self._search()
        best = found.best
        if best is None:
            raise not_signed_in(self._hosts, found.notes)
        current = self._cache
        if current is None or not _are_the_same(current.sign_in, best):
            if current is not None:
                await current.aclose()
                self._facts = self._denial = None
            sign_in = self._http, self._hosts, best, self._store.path.parent
            current = self._cache = TokenCache(*sign_in, headers=self._headers())
        return current

    async def _has_next_after(self, cache: TokenCache, error: ChatError) -> bool:
        """Whether another sign-in is left to try. Those that were made for this provider are not skipped."""
        sign_in = cache.sign_in
        is_rejected = isinstance(error, AuthenticationError) and not isinstance(error, AuthorizationError)
        if not is_rejected or sign_in.is_ours or sign_in.source in NAMED_SOURCES:
            return False
        logger.warning("the sign-in from %s is not accepted any more", sign_in.source)
        token = sign_in.token.reveal()
        if self._rejected.pop(token, None) is None:
            self._found = None  # Search also the places that were skipped because of this one.
        self._rejected[token] = sign_in
        return any(each.token.reveal() not in self._rejected for each in (await self._search()).sign_ins)

    async def _forget(self) -> None:
        """Drop all that is known, so that the next call searches again."""
        cache, self._cache = self._cache, None
        self._found = self._facts = self._failure = self._denial = None
        self._rejected.clear()
        self._values = Values(self._hosts.provider, self._config, source_keys=SOURCE_KEYS)
        if cache is not None:
            if cache.sign_in.is_ours:
                # Another process may have replaced or deleted the sign-in before ours was exchanged.
                await cache.forget()
            await cache.aclose()

    async def _login_of(self, sign_in: SignIn) -> str | None:
        """The account's name, for a new sign-in; a failure here does not undo the sign-in."""
        try:
            account = await fetch_account(
                self._http, self._hosts, sign_in.token, source=f"{self._hosts.authority}'s answer"
            )
        except ChatError as error:
            logger.info("the account's name is not known: %s", error.message)
            return None
        return account.login

    async def _refreshed(self) -> AuthStatus:
        """The status after GitHub was asked about the account and its access to Copilot."""
        try:
            while True:
                cache = await self._current()
                try:
                    await self._refresh_facts(cache)
                    break
                except ChatError as error:
                    if not await self._has_next_after(cache, error):
                        raise
            self._failure = None
        except ChatError as error:
            self._failure = error
        self._denial = None
        return self._known()

    async def _refresh_facts(self, cache: TokenCache) -> None:
        """Ask GitHub about the account, then for a credential, which decides whether the account has access.

        Raises:
            ChatError: there is no credential.
        """
        try:
            self._facts = await cache.account()
        except AuthorizationError as error:
            await cache.recheck()
            token = (await cache.get(insist=True)).exchanged
            if token is None:
                raise
            logger.info("plan and quotas are not known: %s", error.message)
            self._facts = AccountFacts(sku=token.sku, chat_enabled=token.chat_enabled)
        else:
            await cache.get(insist=True)

    def _known(self) -> AuthStatus:
        """The status as far as is known, without a request."""
        failure = self._failure or self._denial
        if isinstance(failure, AuthorizationError):
            return self._status("not_authorized", error=failure)
        if isinstance(failure, AuthenticationError):
            return self._status("expired", error=failure)
        if self._facts is not None and self._facts.chat_enabled is False:
            no_chat = AuthorizationError(
                "The account's plan, or its organization, does not include chat.",
                hint=f"See {self._hosts.github}/settings/copilot.",
            )
            return self._status("not_authorized", error=no_chat)
        return self._status("signed_in", error=failure)

    def _status(self, state: AuthState, *, error: ChatError | None = None) -> AuthStatus:
        best = self._found.best if self._found is not None else None
        sign_in = self._cache.sign_in if self._cache is not None else best
        facts = self._facts or AccountFacts()
        return AuthStatus(
            provider=self._hosts.provider,
            state=state,
            host=self._hosts.authority,
            login=facts.login or (sign_in.login if sign_in is not None else None),
            plan=facts.plan,
            source=sign_in.source if sign_in is not None else None,
            chat_enabled=facts.chat_enabled,
            quotas=tuple(facts.quotas) or None,
            message=" ".join(filter(None, (error.message, error.hint))) if error is not None else None,
        )

    def _report(self, status: AuthStatus) -> AuthStatus:
        """Report a status that differs from the last one reported."""
        if status != self._reported:
            self._reported = status
            self._on_change(status)
        return status


def _are_the_same(one: SignIn, other: SignIn) -> bool:
    return one.source == other.source and one.token.reveal() == other.token.reveal()
