"""The account of one Copilot provider: its sign-in, its facts from GitHub, and its status for clients.

Chooses among the existing sign-ins. Sessions that choose the same sign-in share its `CopilotCredential`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from jumpseat.adapters.base import Account, OnPrompt, read_options
from jumpseat.adapters.base.account import AuthState, AuthStatus
from jumpseat.adapters.github.account import AccountFacts, fetch_account
from jumpseat.adapters.github.copilot.bearer import Bearer
from jumpseat.adapters.github.copilot.catalogue import CopilotCatalogue
from jumpseat.adapters.github.copilot.credential import CopilotCredential
from jumpseat.adapters.github.copilot.options import CopilotOptions
from jumpseat.adapters.github.copilot.shared_token import forget_shared_tokens
from jumpseat.adapters.github.copilot.sign_in_search import SignInSearch
from jumpseat.adapters.github.errors import not_signed_in_error
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.device_flow import DEFAULT_CLIENT_ID, DeviceFlow
from jumpseat.adapters.github.sign_in.editors import sign_in_files
from jumpseat.adapters.github.sign_in.store import token_store_of
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ConfigError, ModelInfo
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.system.shared import Reference
from jumpseat.system.single_flight import WorkCancelled

logger = logging.getLogger(__name__)

LINGER_SECONDS = 300.0
"""How long a credential that no session uses stays in memory, for the next `jumpseat chat`."""

NAMED_SOURCES = ("config", "env:COPILOT_GITHUB_TOKEN")
"""Sources that the user chose for Copilot. Falling back to another sign-in would surprise the user."""


class CopilotAccount(Account):
    """One provider's account."""

    auth_method = "device_code"

    def __init__(
        self,
        http: HttpClient,
        hosts: GitHubHosts,
        config: ProviderConfig,
        *,
        headers: Callable[[], Mapping[str, str]],
        catalogue: CopilotCatalogue,
    ) -> None:
        """
        Args:
            http: the session's client.
            hosts: the hosts to sign in to.
            config: the provider's table; `client_id` and `github_token` matter here.
            headers: returns the headers that identify the client in token exchanges; called per credential.
            catalogue: the models of the account.
        """
        super().__init__(hosts.provider)
        self._http = http
        self._hosts = hosts
        self._config = config
        self._options = read_options(CopilotOptions, hosts.provider, config)
        self._headers = headers
        self._catalogue = catalogue
        self._store = token_store_of(config.origin.environment)
        self._sign_ins = SignInSearch(hosts, config, self._store)
        self._held: Reference[CopilotCredential] | None = None
        """The shared credential of the chosen sign-in."""

        self._reported: AuthStatus | None = None

    # -- for the adapter

    async def find_credential(self) -> CopilotCredential:
        """Return the credential of the best sign-in.

        Raises:
            AuthenticationError: no account is signed in.
            ConfigError: a network setting cannot be used.
        """
        found = await self._sign_ins.search()
        best = found.best
        if best is None:
            raise not_signed_in_error(self._hosts, found.notes)
        if self._held is None or self._held.value.sign_in.key != best.key:
            await self._switch_to(best)
        assert self._held is not None  # noqa: S101 - set above
        return self._held.value

    async def get_bearer(self) -> tuple[Bearer, CopilotCredential]:
        """Return the bearer for the next request, and the credential to notify if the bearer is refused.

        If GitHub rejects a sign-in of another program, this uses the next sign-in.

        Raises:
            AuthenticationError: no account is signed in, or GitHub does not accept the sign-in.
            ChatError: GitHub does not answer.
        """
        while True:
            credential = await self.find_credential()
            try:
                bearer = await credential.get_bearer()
            except WorkCancelled:
                # Another caller dropped the token, after a sign-out or a 421 (wrong host) from Copilot's API.
                continue
            except ChatError as error:
                if await self._reject_and_find_next(credential, error):
                    continue
                credential.record_state(failure=error, denial=credential.denial)
                raise
            credential.record_state(failure=None, denial=credential.denial)
            return bearer, credential

    # -- for clients

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Sign the user in with a device code, and store the token.

        Raises:
            AuthenticationError: the user refused, or did not confirm in time.
            ChatError: GitHub refused, or cannot be reached.
            ConfigError: this GitHub instance does not offer device codes, or the token cannot be stored.
        """
        flow = DeviceFlow(self._http, self._hosts, client_id=self._options.client_id or DEFAULT_CLIENT_ID)
        device = await flow.start()
        on_prompt(device.prompt)
        token = await flow.wait(device)
        login = await self._fetch_login(SignIn(token, "device"))
        with contextlib.suppress(ConfigError):  # Leftover tokens expire, and a sign-out reports them.
            await forget_shared_tokens(self._hosts, self._store.path.parent)
        storage = await self._store.write(self._hosts, token, login=login)
        await self._forget()
        status = await self.auth_status(refresh=True)
        sentences = [status.message]
        if status.source in NAMED_SOURCES:
            named = "github_token in the configuration" if status.source == "config" else status.source
            sentences.append(f"The sign-in is stored, but not used: {named} takes precedence.")
        if storage == "file":
            sentences.append(
                "No keyring is available, so the sign-in is stored in "
                f"{self._store.path}, which only you can read."
            )
        return replace(status, message=" ".join(filter(None, sentences)) or None)

    async def sign_out(self) -> AuthStatus:
        """Delete jumpseat's own sign-in.

        Sign-ins of other programs remain, but are not used until the next sign-in.

        Raises:
            ConfigError: a file still contains a token; the message names the file.
            AuthenticationError: the keyring does not delete the token.
        """
        failures: list[ChatError] = []
        # Delete the sign-in first: without it, no session or daemon can start another exchange.
        try:
            await self._store.delete(self._hosts)
        except ChatError as error:
            failures.append(error)
        if self._held is not None:
            await self._held.value.forget()
        try:
            await forget_shared_tokens(self._hosts, self._store.path.parent)
        except ChatError as error:
            failures.append(error)
        await self._forget()
        status = self._report(await self.auth_status())
        if not failures:
            return status
        first, *others = failures
        first.message = " ".join(each.message for each in (first, *others))
        raise first

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Return the sign-in's state and source; with `refresh`, fetch the account and quotas from GitHub."""
        try:
            found = await self._sign_ins.search()
        except ChatError as error:
            return self._status("signed_out", error=error)
        if not found.sign_ins:
            return self._status("signed_out", error=not_signed_in_error(self._hosts, found.notes))
        return self._report(await self._refresh_status()) if refresh else self._build_status()

    async def is_signed_in_for_this(self) -> bool:
        """Whether a sign-in made for Copilot exists; does not run `gh`.

        Raises:
            ChatError: the search failed (see `SignInSearch.search`).
        """
        return await self._sign_ins.has_one_for_copilot()

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, and check that this took effect.

        Raises:
            ChatError: see `CopilotCatalogue.accept_terms`.
        """
        return await self._catalogue.accept_terms(model)

    def watched_files(self) -> list[Path]:
        """Return the files that change when jumpseat or an editor signs in or out on this machine."""
        return [self._store.path, *sign_in_files(self._config.origin.environment)]

    async def handle_file_change(self) -> None:
        """Search again and report changes, because another session or process may have signed in or out."""
        if await self._sign_ins.check_for_new_best():
            await self._forget()
            self._report(await self.auth_status(refresh=True))

    async def aclose(self) -> None:
        """Release the resources shared with other sessions."""
        held, self._held = self._held, None
        await self._release(held)

    # -- sign-ins

    async def _switch_to(self, sign_in: SignIn) -> None:
        network = await self._http.find_network(self._hosts.api)
        directory = self._store.path.parent
        limit = self._http.connect_seconds
        key = ("Copilot", self._hosts, self._options.client_id, sign_in.key, network, limit, directory)
        held = self._config.origin.environment.shared.acquire(
            key,
            lambda: CopilotCredential(
                self._http.make_detached(), self._hosts, sign_in, directory, headers=self._headers()
            ),
            CopilotCredential.aclose,
            linger=LINGER_SECONDS,
        )
        held.value.listeners.add(self._report_change)
        # Read `_held` only after the `await`: a concurrent call may have set it meanwhile, and this call must
        # then release that reference.
        before, self._held = self._held, held
        if before is not None and before.value is not held.value:
            self._catalogue.forget()
        await self._release(before)

    async def _release(self, held: Reference[CopilotCredential] | None) -> None:
        if held is not None:
            if self._held is None or self._held.value is not held.value:
                held.value.listeners.discard(self._report_change)
            await held.release()

    async def _reject_and_find_next(self, credential: CopilotCredential, error: ChatError) -> bool:
        """Exclude a sign-in that GitHub rejects, and return whether there is another one to try.

        Returns False if the error is not a rejection, or if the sign-in was made or chosen for this provider.
        """
        sign_in = credential.sign_in
        is_rejected = isinstance(error, AuthenticationError) and not isinstance(error, AuthorizationError)
        if not is_rejected or sign_in.is_ours or sign_in.source in NAMED_SOURCES:
            return False
        logger.warning("the sign-in from %s is no longer accepted", sign_in.source)
        return await self._sign_ins.reject(sign_in)

    async def _forget(self) -> None:
        """Drop the cached sign-ins and models, so that the next call searches for sign-ins again."""
        held, self._held = self._held, None
        self._sign_ins.forget()
        self._catalogue.forget()
        if held is not None and held.value.sign_in.is_ours:
            # Another process may have deleted the sign-in, and this process may have exchanged it after that.
            # So drop the tokens of that exchange.
            await held.value.forget()
        await self._release(held)

    async def _fetch_login(self, sign_in: SignIn) -> str | None:
        """Return the account's name for a new sign-in; None if the request fails.

        A failure does not undo the sign-in.
        """
        try:
            account = await fetch_account(
                self._http, self._hosts, sign_in.token, source=f"{self._hosts.authority}'s answer"
            )
        except ChatError as error:
            logger.info("the name of the account is unknown: %s", error.message)
            return None
        return account.login

    # -- the status

    async def _refresh_status(self) -> AuthStatus:
        """Ask GitHub for the account and its access to Copilot, and return the status."""
        while True:
            try:
                credential = await self.find_credential()
            except ChatError as error:
                return self._status("signed_out", error=error)
            try:
                await credential.refresh()
            except WorkCancelled:
                continue
            except ChatError as error:
                if await self._reject_and_find_next(credential, error):
                    continue
                credential.record_state(failure=error, denial=None)
            else:
                credential.record_state(failure=None, denial=None)
                credential.announce()
            return self._build_status()

    def _build_status(self) -> AuthStatus:
        """Return the status without asking GitHub."""
        credential = None if self._held is None else self._held.value
        failure = None if credential is None else credential.failure or credential.denial
        if isinstance(failure, AuthorizationError):
            return self._status("not_authorized", error=failure)
        if isinstance(failure, AuthenticationError):
            return self._status("expired", error=failure)
        if credential is not None and credential.facts is not None and credential.facts.chat_enabled is False:
            no_chat = AuthorizationError(
                "The account's plan, or its organization, does not include chat.",
                hint=f"See {self._hosts.github}/settings/copilot.",
            )
            return self._status("not_authorized", error=no_chat)
        return self._status("signed_in", error=failure)

    def _status(self, state: AuthState, *, error: ChatError | None = None) -> AuthStatus:
        credential = None if self._held is None else self._held.value
        sign_in = credential.sign_in if credential is not None else self._sign_ins.known_best
        facts = (credential and credential.facts) or AccountFacts()
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

    def _report_change(self) -> None:
        self._report(self._build_status())

    def _report(self, status: AuthStatus) -> AuthStatus:
        """Report a status if it differs from the last one reported."""
        if status != self._reported:
            self._reported = status
            self.report(status)
        return status
