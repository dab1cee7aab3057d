"""The base class of adapters with one base URL and one optional key.

Owns the credential, the headers, the URL and the list of models.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields, replace
from typing import Any, ClassVar, TypeVar

from jumpseat.adapters.base import Adapter, Capabilities, Replan
from jumpseat.adapters.base.capabilities import capabilities_of
from jumpseat.adapters.base.replan import repeat_once
from jumpseat.adapters.http.account import KeyAccount
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.adapters.http.counts import ask_for_count
from jumpseat.adapters.http.models import read_models, static_model
from jumpseat.adapters.http.requests import EndpointRequests, ResolvedTable
from jumpseat.adapters.http.shared_answers import SharedAnswers
from jumpseat.adapters.http.url import join_url
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ChatRequest,
    Check,
    ModelInfo,
    RequestError,
    StreamEvent,
)
from jumpseat.chat.long import is_long
from jumpseat.config import ProviderConfig
from jumpseat.config.values import is_unset_variable, needs_model
from jumpseat.http import HttpCall, HttpClient, get_json, stream_events
from jumpseat.http.diagnosis import check_hosts
from jumpseat.system.secrets import names_credential
from jumpseat.system.threads import compute

T = TypeVar("T")


class EndpointAdapter(Adapter):
    """A provider behind one base URL. Subclasses set `_route`."""

    _route: Route

    default_base_url: ClassVar[str]
    """The base URL if the table has no `base_url`; set by subclasses, without a trailing slash."""

    default_needs_key: ClassVar[bool] = False
    """Whether `default_base_url` refuses requests without a key."""

    default_timeout: ClassVar[float | None] = None
    """The longest silence in a chat, in seconds, if the table has no `timeout`; None for the usual limit."""

    needless_suffix: ClassVar[str] = ""
    """A suffix to remove from a configured base URL."""

    own_headers: ClassVar[Mapping[str, str]] = {}
    """Headers of every request; names in lower case. Configured headers override them."""

    document_types: ClassVar[Sequence[str]] = ()
    """See `ChatTraits.document_types`."""

    assistant_may_begin: ClassVar[bool] = False
    """Whether `default_base_url` accepts a conversation that begins with the assistant.

    Compatible servers at other URLs are assumed not to accept it.
    """

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table; `base_url` ends before the path that a request adds.
            http: the shared client.
        """
        self._provider = provider
        self._config = config
        self._http = http
        # This URL may still contain `${name}`. It is empty if the table has only the complete URL of a chat.
        self._base_url = (config.base_url or ("" if config.url else self.default_base_url)).rstrip("/")
        # Users may have copied a URL that ends with the API's version, such as `/v1`, which our paths add.
        self._base_url = self._base_url.removesuffix(self.needless_suffix)
        self._is_at_default = self._base_url == self.default_base_url and config.url is None
        may_begin = self.assistant_may_begin and self._is_at_default
        self.traits = replace(
            self.traits,
            user_begins=self.traits.user_begins and not may_begin,
            document_types=self.document_types,
        )
        self._requests = EndpointRequests(
            provider, config, self._base_url, credential=self._credential, headers=self.own_headers
        )
        self._values = self._requests.values
        self.account = KeyAccount(
            provider,
            config,
            self._values,
            try_key=lambda: self.list_models() if self._has_fixed_base_url else None,
            needs_key=lambda: self._needs_key,
        )
        self.on_models_change: Callable[[], None] | None = None
        self._answers = SharedAnswers(
            config.origin.environment.shared, lambda: self.on_models_change and self.on_models_change()
        )
        self._context: dict[str, int] = {}
        """The context lengths in the last list of models, in tokens, by model."""

        options = config.capabilities.model_dump(include={field.name for field in fields(Capabilities)})
        configured = {name: value for name, value in options.items() if value is not None}
        self.capabilities = replace(type(self).capabilities, **configured)

    @property
    def provider_name(self) -> str:
        """The configured provider's id."""
        return self._provider

    @property
    def _infill_route(self) -> Route:
        """The route of infill requests, if the adapter's traits allow them."""
        raise NotImplementedError

    @property
    def _needs_key(self) -> bool:
        has_other_credential = any(map(names_credential, (*self._config.headers, *self._config.query)))
        return self.default_needs_key and self._is_at_default and not has_other_credential

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent]:
        """Make one attempt.

        Raises:
            ChatError: see `stream_events`; an unknown model raises `RequestError`.
            Replan: the route can change the request, or the credential has expired and a new one is
                available.
            ConfigError: a value of the table cannot be resolved.
        """
        resolved = await self._requests.resolve(request.model)
        headers = self._requests.headers(resolved)
        prepared = await self._prepare(request, headers)
        call = HttpCall(
            "POST",
            self._requests.with_query(self._address_of_request(request, resolved), resolved),
            {**prepared.headers, **headers},
            await self._values.fill_body(prepared.body, request.model),
            self._config.timeout or self.default_timeout,
        )
        since = self._values.read_count
        for warning in prepared.warnings:
            yield warning
        answer = stream_events(
            self._http,
            call,
            prepared.decoder,
            provider=self._provider,
            refine=prepared.refine,
            on_headers=prepared.on_headers,
        )
        try:
            async with aclosing(answer) as events:
                async for event in events:
                    yield event
        except ChatError as error:
            await self._examine(error, since, request.model)
            raise

    async def list_models(self) -> list[ModelInfo]:
        """Return the endpoint's models, followed by the configured ones that it does not list.

        Raises:
            ChatError: the request failed. A missing list of models is an error only if no models are
                configured.
        """
        models = await self._list_if_any() or []
        known = {model.model for model in models}
        configured = self._config.model_names
        if not self._has_fixed_base_url and self._config.default_model is not None:
            configured = list(dict.fromkeys((*configured, self._config.default_model)))
        unlisted = (name for name in configured if name not in known)
        models += [static_model(name, self._provider, self.capabilities) for name in unlisted]
        self._context = {
            model.model: model.max_context_tokens for model in models if model.max_context_tokens is not None
        }
        default = self._config.default_model or next(iter(self._config.model_names), None)
        return [replace(model, is_default=True) if model.model == default else model for model in models]

    async def recent_models(self) -> list[ModelInfo]:
        """Return the same as `list_models`, but reuse responses that arrived in the last ten minutes.

        Raises:
            ChatError: see `list_models`.
        """
        with self._answers.recent():
            return await self.list_models()

    def max_context_tokens(self, model: str) -> int | None:
        """Return the context length in the last list of models; None if the list does not state it."""
        return self._context.get(model)

    async def probe(self) -> Mapping[str, bool] | None:
        """Return the capabilities of the models that the endpoint lists now; None if it has no list.

        Raises:
            ChatError: the request failed.
        """
        models = await self._list_if_any()
        return None if models is None else capabilities_of(models)

    async def check_hosts(self) -> Sequence[Check]:
        """Check whether the endpoint can be reached, without sending a credential.

        Raises:
            ConfigError: the URL cannot be resolved.
        """
        key, url = ("url", self._config.url) if self._config.url else ("base_url", self._base_url)
        model = self._config.default_model or next(iter(self._config.model_names), "model")
        return await check_hosts(self._http, [await self._values.fill_url(key, url, model)], self._provider)

    async def aclose(self) -> None:
        """Release the resources shared with other sessions; an override must call this too."""
        await self._answers.aclose()

    async def _list_if_any(self) -> list[ModelInfo] | None:
        """Return the models that the endpoint lists; None if there is no list.

        Raises:
            ChatError: see `list_models`.
        """
        if not self._has_fixed_base_url:
            return None
        try:
            return await self._fetch_models()
        except RequestError as error:
            if self._config.models and error.status_code in (404, 405):
                return None
            raise

    async def _fetch_models(self) -> list[ModelInfo]:
        """Fetch the endpoint's models, in OpenAI's shape. Adapters for other lists override this.

        Raises:
            ChatError: the request failed.
        """
        answer = await self._get_json("/models")
        return await compute(True, read_models, answer, self._provider, self.capabilities)

    @property
    def _has_fixed_base_url(self) -> bool:
        """Whether there is a base URL that does not depend on the model.

        Lists of models, token counts and infill requests need such a URL.
        """
        return bool(self._base_url) and not needs_model(self._base_url)

    # -- requests

    def _credential(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry the key; names in lower case."""
        return {"authorization": f"Bearer {key}"}

    def _address_of_request(self, request: ChatRequest, resolved: ResolvedTable) -> str:
        """Return the URL of a request, without the configured query."""
        if request.infill is not None:
            return self._address_of_infill(request, resolved)
        return resolved.url or self._address_of_chat(request, resolved)

    def _address_of_infill(self, request: ChatRequest, resolved: ResolvedTable) -> str:
        """Return the URL of an infill request. This requires a base URL."""
        return join_url(resolved.base_url, self._infill_route.path)

    def _address_of_chat(self, request: ChatRequest, resolved: ResolvedTable) -> str:
        """Return the URL of a chat without the configured query, for a table without `url`."""
        return join_url(resolved.base_url, self._route.path)

    async def _prepare(self, request: ChatRequest, headers: Mapping[str, str]) -> Prepared:
        """Encode the request for the route.

        Args:
            headers: the credential and the configured headers.
        """
        if request.infill is not None:
            return self._infill_route.prepare(request)
        return await compute(is_long(request.messages), self._route.prepare, request)

    async def _examine(self, error: ChatError, since: int, model: str | None = None) -> None:
        """Add a hint to the error of a failed request if possible.

        Raise `Replan` if the credential was refused and has a new value by now.

        Args:
            since: the value of `Values.read_count` when the request was made.
        """
        self._explain(error, model)
        is_refused = isinstance(error, AuthenticationError) and not isinstance(error, AuthorizationError)
        if is_refused and await self._values.refresh_rejected(since):
            raise Replan("expired_credential", error) from error

    def _explain(self, error: ChatError, model: str | None = None) -> None:
        """Add a hint if the table explains the error."""
        key = self._config.api_key
        refused = isinstance(error, AuthenticationError) and not self._config.is_from_client
        if refused and key is not None and is_unset_variable(key, self._config.origin.environment):
            error.hint = (
                f"providers.{self._provider}.api_key looks like the name of an environment variable, which "
                "is not set, so the name itself was sent. Set the variable in the environment in which "
                "jumpseat is started, and start it again."
            )

    async def _fetch(self, ask: Callable[..., Awaitable[T]], method: str, path: str, body: Any = None) -> T:
        """Send a request other than a chat.

        If its credential is refused, but has a new value by then, send the request once more.

        Args:
            ask: sends the request: `get_json`, or a function with the same parameters.
            method: the HTTP method.
            path: the path below the base URL.
            body: the JSON body.

        Raises:
            ChatError: an error of `ask`, or a value of the table cannot be resolved.
        """

        async def attempt() -> T:
            call = await self._requests.build_call(method, path, body)
            since = self._values.read_count
            try:
                return await ask(self._http, call, provider=self._provider)
            except ChatError as error:
                await self._examine(error, since)
                raise

        return await repeat_once(attempt)

    async def _get_json(self, path: str) -> Any:
        """Request a list and return the response, which sessions share."""

        async def ask(http: HttpClient, call: HttpCall, *, provider: str) -> Any:
            return await self._fetch_shared(path, call)

        return await self._fetch(ask, "GET", path)

    async def _fetch_shared(self, name: str, call: HttpCall) -> Any:
        """Return the response to a request, shared by the sessions that would send an equal request.

        Args:
            name: the request's name within this adapter.

        Raises:
            ChatError: the request failed.
        """
        headers = frozenset(item for item in call.headers.items() if item[0] != "x-request-id")
        body = json.dumps(call.body, sort_keys=True)
        network = await self._http.find_network(call.url)
        # The key includes the time limits, because failures are shared too: otherwise a client could receive
        # a failure that another client's shorter limit caused.
        limits = (call.timeout, self._http.connect_seconds)
        key = (self._provider, call.method, call.url, headers, body, network, limits)
        return await self._answers.get(name, key, lambda: get_json(self._http, call, provider=self._provider))

    async def _fetch_token_count(self, path: str, body: Mapping[str, Any], model: str) -> int:
        """Return the endpoint's token count of a body; -1 if it does not count tokens.

        Args:
            path: the path below the base URL.
            body: the body, with each `${name}` from the table's parameters still in it.
            model: the model of the request.

        Raises:
            ChatError: the request failed.
        """
        if not self._has_fixed_base_url:
            return -1
        return await self._fetch(ask_for_count, "POST", path, await self._values.fill_body(body, model))
