"""GitHub Copilot: the chats of one account, on the routes that its models support.

Owns the steps of a chat (credential, models, route, request), the choice of the route, and the reaction to a
refusal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import Adapter, ChatTraits, ClientInfo, Replan, read_options
from jumpseat.adapters.base.capabilities import capabilities_of
from jumpseat.adapters.base.replan import repeat_once
from jumpseat.adapters.github.account import quotas_from_headers
from jumpseat.adapters.github.copilot.account import CopilotAccount
from jumpseat.adapters.github.copilot.bearer import Bearer, NoOtherBearer
from jumpseat.adapters.github.copilot.catalogue import AUTO, CopilotCatalogue, auto_row
from jumpseat.adapters.github.copilot.credential import REPLACEMENT_SECONDS, CopilotCredential
from jumpseat.adapters.github.copilot.extras import CopilotExtras
from jumpseat.adapters.github.copilot.fitting import fit_request, replace_unreadable_files
from jumpseat.adapters.github.copilot.headers import (
    API_VERSION,
    chat_headers,
    identity_headers,
    messages_headers,
    with_bearer,
)
from jumpseat.adapters.github.copilot.models import (
    CHAT_COMPLETIONS,
    MESSAGES,
    RESPONSES,
    find_included_model,
    plans_hint,
)
from jumpseat.adapters.github.copilot.options import SOURCE_KEYS, CopilotOptions
from jumpseat.adapters.github.copilot.refusals import (
    AccountDeniedError,
    RefusalContext,
    explain,
    find_cure,
    temporary_refusal,
)
from jumpseat.adapters.github.default_model import default_model
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.adapters.http.routes.chat_completions import ChatCompletionsRoute
from jumpseat.adapters.http.routes.messages import MessagesRoute
from jumpseat.adapters.http.routes.responses import ResponsesRoute
from jumpseat.adapters.http.shared_answers import SharedAnswers
from jumpseat.chat import ChatError, ChatRequest, Check, ModelInfo, StreamEvent
from jumpseat.chat.long import is_long
from jumpseat.config import ProviderConfig, Values
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.anthropic_messages.models import family_and_version
from jumpseat.dialects.chat_completions import EndpointFacts
from jumpseat.dialects.responses import ResponsesFacts, without_item_ids
from jumpseat.http import HttpCall, HttpClient, Refine, get_json, stream_events
from jumpseat.http.diagnosis import check_hosts
from jumpseat.system.threads import compute

PREFERENCE = (MESSAGES, RESPONSES, CHAT_COMPLETIONS)
"""The routes in order of preference.

The dialects of the models' vendors come first, because only these carry reasoning in both directions without
loss.
"""

GUESSES = (CHAT_COMPLETIONS, RESPONSES, MESSAGES)
"""The routes to try for a model that is not listed. The first one is supported by the most models."""

DOCUMENT_TYPES = ("application/pdf", "text/")
TAKES_DOCUMENTS = (MESSAGES, RESPONSES)
"""The routes whose dialect supports documents. Copilot's chat completions support only images."""


class CopilotAdapter(Adapter):
    """One `[providers.*]` table of the kind `copilot`: one GitHub instance, one account."""

    traits = ChatTraits(document_types=DOCUMENT_TYPES)
    account: CopilotAccount
    client_info: ClientInfo | None = None

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table.
            http: the shared client.

        Raises:
            ConfigError: a key of the table is invalid, or names a host that must not receive a credential.
        """
        super().__init__(provider, config, http)
        self._config = config
        self._http = http
        self._options = options = read_options(CopilotOptions, provider, config)
        self._values = Values(provider, config, source_keys=SOURCE_KEYS)
        self._hosts = github_hosts(
            options.host,
            provider=provider,
            github_url=options.github_url,
            api_url=options.api_url,
            copilot_url=options.copilot_url,
            is_the_users_own=not config.is_from_client,
        )
        self.on_models_change: Callable[[], None] | None = None
        self._answers = SharedAnswers(
            config.origin.environment.shared, lambda: self.on_models_change and self.on_models_change()
        )
        self._catalogue = CopilotCatalogue(provider, self._ask, self._answers, self._build_list_key)
        self.account = CopilotAccount(
            http, self._hosts, config, headers=self._client_headers, catalogue=self._catalogue
        )
        self._marks_cache = config.cache is not False
        extras = CopilotExtras()
        responses = ResponsesFacts(provider=provider, parameters=config.parameters)
        self._routes: Mapping[str, Route] = {
            CHAT_COMPLETIONS: ChatCompletionsRoute(provider, self._facts_of, extras=extras),
            RESPONSES: ResponsesRoute(responses, extras=extras),
            MESSAGES: MessagesRoute(
                provider, parameters=config.parameters, marks_cache=self._marks_cache, extras=extras
            ),
        }
        for route in self._routes.values():
            route.listed_efforts = self._listed_efforts
        self._closed: dict[str, frozenset[str]] = {}
        """The routes on which the service refused a model, by model."""

    async def find_default_model(self) -> str | None:
        """Return the account's default model, fetching the list of models if the default is not known yet.

        Raises:
            ChatError: no account is signed in, or the list cannot be fetched.
        """
        if self._default_model is None:
            await self._catalogue.fetch()
        return self._default_model

    @property
    def _default_model(self) -> str | None:
        return self._config.default_model or default_model(self._catalogue.known)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt.

        Raises:
            ChatError: the service refused (see `refusals`), or GitHub did not issue a credential.
            Replan: the credential was refused, the data host changed, the model needs another route, or a
                part of the request is not supported.
        """
        bearer, credential = await self.account.get_bearer()
        await self._catalogue.get_for_chat()
        headers = {
            **self._data_plane_headers(),
            **chat_headers(request),
            **await self._values.fill_headers(request.model),
        }
        if request.model == AUTO:
            session = await self._catalogue.get_auto_session()
            request = replace(request, model=session.model)
            headers["copilot-session-token"] = session.token.reveal()
        info = self._catalogue.row(request.model)
        request, warnings = fit_request(request, info)
        for warning in warnings:
            yield warning
        path = self._choose_path(request.model, info)
        request, warnings = replace_unreadable_files(
            request, info, DOCUMENT_TYPES if path in TAKES_DOCUMENTS else ()
        )
        for warning in warnings:
            yield warning
        prepared = await compute(is_long(request.messages), self._routes[path].prepare, request)
        if path == MESSAGES:
            headers |= messages_headers(prepared.body, headers.get("anthropic-beta"))
        refine = self._refine(request, prepared, path)
        url = f"{bearer.data_host}{path}"
        signed_headers = with_bearer(headers, bearer, self._options)
        body = await self._values.fill_body(prepared.body, request.model)
        call = HttpCall("POST", url, signed_headers, body, self._config.timeout)
        for warning in prepared.warnings:
            yield warning
        answer = stream_events(
            self._http,
            call,
            prepared.decoder,
            provider=self._provider,
            refine=refine,
            on_headers=lambda headers: credential.record_served(quotas_from_headers(headers)),
        )
        try:
            async with aclosing(answer) as events:
                async for event in events:
                    yield event
        except Replan as replan:
            if replan.reason == "expired_token":
                raise await self._replan_with_other_bearer(bearer, credential, replan.error) from replan
            if replan.reason == "wrong_host":
                await credential.forget()
            raise
        except AccountDeniedError as error:
            await credential.record_denial(error)
            raise

    async def list_models(self) -> list[ModelInfo]:
        """Fetch the account's models, and add `auto`.

        Raises:
            ChatError: no account is signed in, or the list could not be fetched.
        """
        models = list(await self._catalogue.fetch())
        wanted = self._config.default_model
        if wanted is not None:
            models = [replace(model, is_default=model.model == wanted) for model in models]
        return models if self._catalogue.row(AUTO) else [*models, auto_row(self._provider)]

    async def recent_models(self) -> list[ModelInfo]:
        """Return the same as `list_models`, but reuse a list that arrived in the last few minutes.

        Raises:
            ChatError: see `list_models`.
        """
        with self._answers.recent():
            return await self.list_models()

    async def probe(self) -> Mapping[str, bool] | None:
        """Return the capabilities of the account's models.

        Raises:
            ChatError: see `list_models`.
        """
        return capabilities_of(await self.list_models())

    def cached_models(self) -> Sequence[ModelInfo]:
        """Return the models of the list that was fetched last."""
        return self._catalogue.known

    def max_context_tokens(self, model: str) -> int | None:
        """Return the model's context length, according to the list that was fetched last."""
        row = self._catalogue.row(model)
        return row.max_context_tokens if row is not None else None

    async def check_hosts(self) -> Sequence[Check]:
        """Check whether GitHub's hosts can be reached, without sending a credential."""
        try:
            data_host = (await self.account.get_bearer())[0].data_host
        except ChatError:
            data_host = self._hosts.copilot
        urls = (self._hosts.github, self._hosts.api, data_host)
        return await check_hosts(self._http, urls, self._provider)

    async def aclose(self) -> None:
        """Release the shared responses and the account."""
        await self._answers.aclose()
        await self.account.aclose()

    def _facts_of(self, model: str) -> EndpointFacts:
        is_marked = self._marks_cache and family_and_version(model) is not None
        return EndpointFacts(
            provider=self._provider,
            parameters=self._config.parameters,
            cache_marks="messages" if is_marked else "none",
        )

    def _listed_efforts(self, model: str) -> Sequence[str] | None:
        row = self._catalogue.row(model)
        return row.thinking_levels if row is not None else None

    def _client_headers(self) -> dict[str, str]:
        return identity_headers(self._options, self.client_info)

    def _data_plane_headers(self) -> dict[str, str]:
        return {**self._client_headers(), "x-github-api-version": API_VERSION}

    async def _build_list_key(self) -> Hashable:
        """Return the cache key under which sessions share the list of models."""
        sign_in = (await self.account.find_credential()).sign_in
        headers = {**self._data_plane_headers(), **await self._values.fill_headers()}
        network = await self._http.find_network(self._hosts.copilot)
        limits = (self._config.timeout, self._http.connect_seconds)
        return self._hosts, sign_in.key, frozenset(headers.items()), network, limits

    async def _replan_with_other_bearer(
        self, bearer: Bearer, credential: CopilotCredential, error: ChatError
    ) -> Replan:
        """Discard a bearer that was refused with this error, and return the replan that uses another one.

        Raises:
            ChatError: no other bearer is available now.
        """
        try:
            reason = await credential.discard_bearer(bearer)
        except NoOtherBearer as no_other:
            if no_other.retry_after is not None:
                raise temporary_refusal(error, self._provider, no_other.retry_after) from None
            await credential.record_denial(error)
            raise error from None
        if bearer.exchanged is not None:
            # GitHub issued the bearer, so the sign-in works. If the next attempt fails too, its error must
            # not ask the user to sign in again.
            error = temporary_refusal(error, self._provider, REPLACEMENT_SECONDS)
        return Replan(reason, error)

    def _choose_path(self, model: str, info: ModelInfo | None) -> str:
        """Return the model's best route that is not known to be closed."""
        closed = self._closed.get(model, frozenset())
        listed = [path for path in PREFERENCE if path in (info.endpoints or ())] if info else list(GUESSES)
        # If all listed routes are closed, try one that is not listed.
        return next((path for path in [*listed, *GUESSES] if path not in closed), CHAT_COMPLETIONS)

    def _refine(self, request: ChatRequest, prepared: Prepared, path: str) -> Refine:
        """Return a function that converts the general error of a refusal to the exception to raise."""
        row = self._catalogue.row(request.model)
        context = RefusalContext(
            provider=self._provider,
            model=request.model,
            site=self._hosts.github,
            policy=row.policy if row is not None else None,
            plans=plans_hint(row),
            fallback=find_included_model(self._catalogue.known),
        )

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            needed = find_cure(fault, error)
            explanation = explain(fault, error, context)
            if needed == "wrong_endpoint":
                closed = self._closed.get(request.model, frozenset()) | {path}
                if len(closed) == len(GUESSES):
                    return explanation
                self._closed[request.model] = closed
                return Replan(f"{needed}:{path}", explanation)
            if needed == "unknown_item_ids":
                changed = without_item_ids(request)
                return explanation if changed is None else Replan(needed, explanation, changed)
            if needed is not None:
                return Replan(needed, explanation)
            refined = prepared.refine(fault, error)
            # The route may ask for another attempt, with other parameters or without old reasoning. If not,
            # `explanation` is the better error, because it considers Copilot's codes.
            return refined if isinstance(refined, Replan) else explanation

        return refine

    async def _ask(self, method: str, path: str, body: Any) -> Any:
        """Send a request other than a chat to the data plane.

        If the bearer or the host is refused, the request is repeated once with another bearer or host.

        Raises:
            ChatError: no bearer is available, or the request failed (see `refusals`).
        """
        context = RefusalContext(provider=self._provider, site=self._hosts.github)

        async def attempt() -> Any:
            bearer, credential = await self.account.get_bearer()
            headers = {
                **self._data_plane_headers(),
                "openai-intent": "model-access",
                **await self._values.fill_headers(),
            }
            url = f"{bearer.data_host}{path}"
            call = HttpCall(
                method, url, with_bearer(headers, bearer, self._options), body, self._config.timeout
            )
            try:
                answer = await get_json(
                    self._http,
                    call,
                    provider=self._provider,
                    refine=lambda fault, error: explain(fault, error, context),
                )
            except AccountDeniedError as error:
                await credential.record_denial(error)
                raise
            except ChatError as error:
                if error.status_code == 401:
                    raise await self._replan_with_other_bearer(bearer, credential, error) from None
                if error.status_code == 421:
                    await credential.forget()
                    raise Replan("wrong_host", error) from None
                raise
            credential.record_served(())
            return answer

        return await repeat_once(attempt)
