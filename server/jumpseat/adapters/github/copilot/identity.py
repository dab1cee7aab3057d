"""Who is signed in to one Copilot provider: found, brought by a sign-in, dropped, and told of.

Owns the choice among the sign-ins that exist, and the provider's `AuthStatus`. Above it is the `copilot`
adapter; below it `auth/`, which finds, keeps and exchanges tokens.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jumpseat.adapters.base import OnPrompt
from jumpseat.adapters.base.account import AuthState, AuthStatus, Quota
from jumpseat.adapters.github.account import AccountFacts, crossed_thresholds, fetch_account, merged_quotas
from jumpseat.adapters.github.copilot.credentials import CopilotCredential, CopilotCredentials, not_signed_in
from jumpseat.adapters.github.copilot.tokens import NoOtherCredential, forget_shared_tokens
from jumpseat.adapters.github.device_flow import DEFAULT_CLIENT_ID, DeviceFlow
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_ins import FoundSignIns, SignIn, find_sign_ins
from jumpseat.adapters.github.token_store import TokenStore
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ConfigError
from jumpseat.config import ProviderConfig, Values
from jumpseat.http import HttpClient

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 5.0
"""Where nobody is signed in, other programs' sign-ins are looked for again after so long."""

NAMED_SOURCES = ("config", "env:COPILOT_GITHUB_TOKEN")
"""What the user named for Copilot: another sign-in in its place would surprise them."""


class CopilotIdentity:
    """One provider's user. Sign-ins are looked for when somebody asks, and again when the store changed."""

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
            headers: who asks for an exchange; called when the first one is due.
            on_change: told when the state, the account or the use of a quota changed.
        """
        self._http = http
        self._hosts = hosts
        self._config = config
        self._values = Values(hosts.provider, config)
        self._headers = headers
        self._on_change = on_change
        self._store = TokenStore()
        self._looking = asyncio.Lock()
        self._found: FoundSignIns | None = None
        self._stamp: object = None
        self._look_again_at = 0.0
        self._refused: set[str] = set()
        self._last_refused: SignIn | None = None
        self._credentials: CopilotCredentials | None = None
        self._account: AccountFacts | None = None
        self._failure: ChatError | None = None
        self._denial: ChatError | None = None
        self._told: AuthStatus | None = None

    @property
    def watched_file(self) -> Path:
        """Changes with every sign-in or sign-out, whoever makes it."""
        return self._store.path

    async def credential(self, *, insist: bool = False) -> CopilotCredential:
        """What to sign the next request with.

        A sign-in of another program's that GitHub does not accept any more is passed over for the next one.

        Raises:
            AuthenticationError: nobody is signed in, or GitHub does not accept them.
            ChatError: GitHub could not be asked.
        """
        while True:
            credentials = await self._current()
            try:
                credential = await credentials.get(insist=insist)
            except ChatError as error:
                if await self._next_after(credentials, error):
                    continue
                self._failure = error
                self._tell(self._known())
                raise
            if self._failure is not None:
                self._failure = None
                self._tell(self._known())
            return credential

    async def refused(self, credential: CopilotCredential) -> str:
        """Note that the data plane answered 401, and say why `credential` gives another one.

        Raises:
            NoOtherCredential: it gives no other one now.
        """
        if self._credentials is None:
            raise NoOtherCredential
        return await self._credentials.refused(credential)

    async def denied(self, error: ChatError) -> None:
        """Note that the data plane does not serve this account, until it does or GitHub is asked again."""
        self._denial = error
        if self._credentials is not None:
            await self._credentials.doubt()
        self._tell(self._known())

    def served(self) -> None:
        """Note that the data plane serves this account."""
        if self._denial is not None:
            self._denial = None
            self._tell(self._known())

    async def moved(self) -> None:
        """Note that the data plane is elsewhere (421): what names its host is asked for again."""
        if self._credentials is not None:
            await self._credentials.forget()
        self._account = None

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Sign a person in with a code, and keep the token.

        Raises:
            AuthenticationError: they did not, or not in time.
            ChatError: GitHub refused, or could not be reached.
            ConfigError: this GitHub does not offer it, or the token cannot be kept.
        """
        flow = DeviceFlow(self._http, self._hosts, client_id=self._config.client_id or DEFAULT_CLIENT_ID)
        device = await flow.start()
        on_prompt(device.prompt)
        token = await flow.wait(device)
        login = await self._login_of(SignIn(token, "device"))
        with contextlib.suppress(ConfigError):  # They expire by themselves, and a sign-out reports them.
            await forget_shared_tokens(self._hosts)
        storage = await self._store.write(self._hosts, token, login=login)
        await self._forget()
        status = await self.status(refresh=True)
        words = [status.message]
        if status.source in NAMED_SOURCES:
            named = "github_token in the configuration" if status.source == "config" else status.source
            words.append(f"The sign-in is kept, but {named} comes before it and is what is used.")
        if storage == "file":
            words.append(
                f"The sign-in is kept in {self._store.path}, which only you can read: no keyring took it."
            )
        return replace(status, message=" ".join(filter(None, words)) or None)

    async def sign_out(self) -> AuthStatus:
        """Forget our own sign-in. Other programs' sign-ins stay theirs, and are not used until the next one.

        Raises:
            ConfigError: a file still holds a token; the message names it.
            AuthenticationError: the keyring does not delete the token.
        """
        failures: list[ChatError] = []
        if self._credentials is not None:
            await self._credentials.forget()
        # The sign-in first: no daemon begins another exchange without it.
        for forget in (self._store.delete, forget_shared_tokens):
            try:
                await forget(self._hosts)
            except ChatError as error:
                failures.append(error)
        await self._forget()
        status = self._tell(await self.status())
        if not failures:
            return status
        first, *others = failures
        first.message = " ".join(each.message for each in (first, *others))
        raise first

    async def status(self, *, refresh: bool = False) -> AuthStatus:
        """Who is signed in, from what source; with `refresh` GitHub is asked for account and quotas."""
        try:
            found = await self._look()
        except ChatError as error:
            return self._status("signed_out", error=error)
        if not found.sign_ins:
            return self._status("signed_out", error=not_signed_in(self._hosts, " ".join(found.notes)))
        return self._tell(await self._asked()) if refresh else self._known()

    async def is_for_copilot(self) -> bool:
        """Whether there is a sign-in that somebody made for Copilot; `gh` is not asked.

        Raises:
            ChatError: as `_look` raises it.
        """
        found = self._found or await self._find(general=False)
        return found.best is not None and found.best.is_for_copilot

    def note_quotas(self, quotas: Sequence[Quota]) -> None:
        """Take the quotas that an answer told; the client hears of it when one crosses a threshold."""
        if self._account is None:
            self._account = AccountFacts(quotas=tuple(quotas))
            crossed = crossed_thresholds((), quotas)
        else:
            before = self._account.quotas
            self._account = replace(self._account, quotas=tuple(merged_quotas(before, quotas)))
            crossed = crossed_thresholds(before, self._account.quotas)
        if crossed:
            self._tell(self._known())

    async def store_changed(self) -> None:
        """Another process may have signed in or out: look again, and tell what is new.

        Every provider's sign-ins are in the one store, and our own changes touch it too.
        """
        if self._found is None or await asyncio.to_thread(self._store.stamp) == self._stamp:
            return
        before = self._found.best
        after = (await self._look()).best
        if before is not None and after is not None and _are_the_same(before, after):
            return
        await self._forget()
        self._tell(await self.status(refresh=after is not None))

    async def aclose(self) -> None:
        """End requests under way."""
        if self._credentials is not None:
            await self._credentials.aclose()

    async def _look(self) -> FoundSignIns:
        """The sign-ins that exist, those left out that GitHub has refused.

        Raises:
            ChatError: one that the user named for this cannot be used, or the store cannot be read.
        """
        async with self._looking:
            stamp = await asyncio.to_thread(self._store.stamp)
            now = asyncio.get_running_loop().time()
            is_old = self._found is not None and not self._found.sign_ins and now >= self._look_again_at
            if self._found is None or stamp != self._stamp or is_old:
                self._found = await self._find()
                self._stamp, self._look_again_at = stamp, now + LOOK_AGAIN_SECONDS
            usable = [each for each in self._found.sign_ins if each.token.reveal() not in self._refused]
            # Where all were refused, the last one is the one to say so.
            last = () if self._last_refused is None else (self._last_refused,)
            return replace(self._found, sign_ins=usable or last)

    async def _find(self, *, general: bool = True) -> FoundSignIns:
        raw = self._config.github_token
        configured = None if raw is None else await self._values.resolve("github_token", raw)
        return await find_sign_ins(
            self._hosts, self._store, configured=configured, refused=self._refused, general=general
        )

    async def _current(self) -> CopilotCredentials:
        """The credentials of the best sign-in.

        Raises:
            AuthenticationError: nobody is signed in.
        """
        found = await self._look()
        best = found.best
        if best is None:
            raise not_signed_in(self._hosts, " ".join(found.notes))
        current = self._credentials
        if current is None or not _are_the_same(current.sign_in, best):
            if current is not None:
                await current.aclose()
                self._account = self._denial = None
            headers = self._headers()
            current = self._credentials = CopilotCredentials(self._http, self._hosts, best, headers=headers)
        return current

    async def _next_after(self, credentials: CopilotCredentials, error: ChatError) -> bool:
        """Whether another sign-in is left to try. Those that a person made for this are not passed over."""
        sign_in = credentials.sign_in
        refused = isinstance(error, AuthenticationError) and not isinstance(error, AuthorizationError)
        if not refused or sign_in.is_ours or sign_in.source in NAMED_SOURCES:
            return False
        logger.warning("the sign-in from %s is not accepted any more", sign_in.source)
        self._last_refused = sign_in
        if sign_in.token.reveal() not in self._refused:
            self._refused.add(sign_in.token.reveal())
            self._found = None  # Places that were not asked because of this one are asked now.
        return any(each.token.reveal() not in self._refused for each in (await self._look()).sign_ins)

    async def _forget(self) -> None:
        """Drop what was known, so that the next question looks anew."""
        credentials, self._credentials = self._credentials, None
        self._found = self._account = self._failure = self._denial = self._last_refused = None
        self._refused.clear()
        self._values = Values(self._hosts.provider, self._config)
        if credentials is not None:
            if credentials.sign_in.is_ours:
                # It has been replaced or signed out, maybe by a process that ended before ours exchanged it.
                await credentials.forget()
            await credentials.aclose()

    async def _login_of(self, sign_in: SignIn) -> str | None:
        """The account's name, for a sign-in that is new; a failure here does not undo it."""
        try:
            account = await fetch_account(
                self._http, self._hosts, sign_in.token, source=f"{self._hosts.authority}'s answer"
            )
        except ChatError as error:
            logger.info("the account's name is not known: %s", error.message)
            return None
        return account.login

    async def _asked(self) -> AuthStatus:
        """The status with GitHub's word on the account, and on whether it may use Copilot."""
        try:
            while True:
                credentials = await self._current()
                try:
                    await self._ask_for_account(credentials)
                    break
                except ChatError as error:
                    if not await self._next_after(credentials, error):
                        raise
            self._failure = None
        except ChatError as error:
            self._failure = error
        self._denial = None
        return self._known()

    async def _ask_for_account(self, credentials: CopilotCredentials) -> None:
        """Hear of the account, and whether its sign-in gives a credential, which has the last word.

        Raises:
            ChatError: there is no credential to be had.
        """
        try:
            self._account = await credentials.account(refresh=True)
        except AuthorizationError as error:
            await credentials.doubt()
            token = (await credentials.get(insist=True)).exchanged
            if token is None:
                raise
            logger.info("plan and quotas are not known: %s", error.message)
            self._account = AccountFacts(sku=token.sku, chat_enabled=token.chat_enabled)
        else:
            await credentials.get(insist=True)

    def _known(self) -> AuthStatus:
        """The status as it follows from what has been heard by now."""
        failure = self._failure or self._denial
        if isinstance(failure, AuthorizationError):
            return self._status("not_authorized", error=failure)
        if isinstance(failure, AuthenticationError):
            return self._status("expired", error=failure)
        if self._account is not None and self._account.chat_enabled is False:
            told = AuthorizationError(
                "The account's plan, or its organization, does not include chat.",
                hint=f"See {self._hosts.github}/settings/copilot.",
            )
            return self._status("not_authorized", error=told)
        return self._status("signed_in", error=failure)

    def _status(self, state: AuthState, *, error: ChatError | None = None) -> AuthStatus:
        best = self._found.best if self._found is not None else None
        sign_in = self._credentials.sign_in if self._credentials is not None else best
        account = self._account or AccountFacts()
        return AuthStatus(
            provider=self._hosts.provider,
            state=state,
            host=self._hosts.authority,
            login=account.login or (sign_in.login if sign_in is not None else None),
            plan=account.plan,
            source=sign_in.source if sign_in is not None else None,
            chat_enabled=account.chat_enabled,
            quotas=tuple(account.quotas) or None,
            message=" ".join(filter(None, (error.message, error.hint))) if error is not None else None,
        )

    def _tell(self, status: AuthStatus) -> AuthStatus:
        """Tell the client, if there is news in it."""
        if status != self._told:
            self._told = status
            self._on_change(status)
        return status


def _are_the_same(one: SignIn, other: SignIn) -> bool:
    return one.source == other.source and one.token.reveal() == other.token.reveal()
