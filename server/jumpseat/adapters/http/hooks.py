"""One attempt over HTTP as a sequence of hooks. This is a stable public API for plug-ins (docs/plugins.md).

Every set-up is torn down exactly once, however the attempt ends. The hooks default to the chat-completions
dialect, so a plug-in overrides only what differs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.requests import ResolvedTable
from jumpseat.adapters.http.routes.chat_completions import ChatCompletionsRoute
from jumpseat.adapters.http.url import join_url
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    ConfigError,
    DoneEvent,
    ModelInfo,
    StopReason,
    StreamEvent,
    Usage,
    WarningEvent,
)
from jumpseat.config import ProviderConfig, Values
from jumpseat.config.values import needs_model
from jumpseat.dialects import Decoder, ProviderFault
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder, EndpointFacts
from jumpseat.http import HttpCall, HttpClient

__all__ = ["HttpAdapter", "Outcome"]

logger = logging.getLogger(__name__)

TURN_WAITS_SECONDS = 1.0
"""The time that a turn waits for its tear-down, which may continue after that."""

CLOSING_WAITS_SECONDS = 0.25
"""The time that `aclose` waits for tear-downs. It must fit in the time limit for closing all adapters."""

TEAR_DOWN_SECONDS = 10.0
"""The time after which a tear-down is cancelled."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt, for its tear-down."""

    stop_reason: StopReason
    """The model's reason to stop.

    It is `cancelled` if the turn was cancelled before the model stopped, and `error` if the attempt failed.
    """

    usage: Usage | None = None
    error: Exception | None = None
    """The exception that the attempt raised: a `ChatError`, a `Replan`, or another one."""


class HttpAdapter(EndpointAdapter):
    """A provider with one base URL, as hooks that subclasses override.

    An attempt calls the hooks in this order, each at most once: `set_up`, `credential`, `form_headers`,
    `warnings`, `form_body` (which calls `form_parameters` and `form_messages`), `decode` and `url`. Then the
    request is sent, and the decoder reads the answer. If the provider refuses the request, `refine` is called
    instead. `tear_down` comes last. A retried turn consists of several attempts. One object serves many
    concurrent turns, so the hooks of one attempt share data in `request.state`.

    The defaults suit any endpoint with chat completions: parameters that it has refused are left out or
    renamed in later requests.
    """

    default_base_url: ClassVar[str] = ""
    path: ClassVar[str] = "/chat/completions"
    """The path of a chat below the base URL."""

    messages_key: ClassVar[str] = "messages"
    """The key of the body for the result of `form_messages`."""

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table.
            http: the shared client.

        Raises:
            ConfigError: neither the table nor the class has a URL, or the base URL depends on the model.
        """
        super().__init__(provider, config, http)
        if not self._base_url and config.url is None:
            raise ConfigError(f"providers.{provider}.base_url is missing.", provider=provider)
        if needs_model(self._base_url):
            raise ConfigError(
                f"providers.{provider}.base_url uses ${{model}}, which is not supported here.",
                provider=provider,
                hint=f"Set providers.{provider}.url to the complete URL of a chat.",
            )
        self._address = self._base_url
        self._route = ChatCompletionsRoute(provider, self._facts_of)
        self._tearing_down: set[asyncio.Task[None]] = set()

    # -- for use in hooks

    @property
    def config(self) -> ProviderConfig:
        """The provider's table."""
        return self._config

    @property
    def http(self) -> HttpClient:
        """The client that all adapters share."""
        return self._http

    @property
    def base_url(self) -> str:
        """The configured base URL, or else the class's own, without a trailing slash.

        Each `${name}` in it is replaced before the first hook is called.
        """
        return self._address

    @property
    def values(self) -> Values:
        """The reader of the table's value sources: `await self.values.resolve("my_key", raw)`."""
        return self._values

    async def call(self, method: str, path: str, body: Any = None) -> HttpCall:
        """Build a request below the base URL, with the configured headers and query.

        Raises:
            ConfigError: the key, a configured header or a part of the URL cannot be read.
        """
        return await self._requests.build_call(method, path, body)

    # -- the hooks

    async def set_up(self, request: ChatRequest) -> ChatRequest | None:
        """Acquire the attempt's resources, before its credential is read.

        If this returns a request, for example `replace(request, state={"lease": lease})`, later hooks receive
        that one. `tear_down` follows each set-up that returned. A set-up that raises or is cancelled must
        release its own resources, as `__aenter__` does.

        Raises:
            ChatError: the attempt fails; nothing was sent.
        """
        return None

    def credential(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry the configured key; default: `authorization: Bearer …`."""
        return super()._credential(key)

    def form_headers(self, request: ChatRequest) -> Mapping[str, str]:
        """Return further headers of this chat; the credential and configured headers take precedence."""
        return {}

    def warnings(self, request: ChatRequest) -> Iterable[WarningEvent]:
        """Return warnings about omitted parts of the request.

        The default warns about the parts that the provider has refused before.
        """
        return self._prepare_without_messages(request).warnings

    def form_parameters(self, request: ChatRequest) -> Mapping[str, Any]:
        """Return the parts of the body other than the conversation: model, tools, limits, settings.

        An override must apply `config.parameters` and `request.settings` last, so that they take precedence.
        """
        body = self._prepare_without_messages(request).body
        return {name: value for name, value in body.items() if name != "messages"}

    def form_messages(self, request: ChatRequest) -> Sequence[Any]:
        """Return the conversation, including `request.system` if it is one of the messages."""
        messages: list[Any] = self._route.prepare(request).body["messages"]
        return messages

    def form_body(self, request: ChatRequest) -> Mapping[str, Any]:
        """Combine parameters and messages into one JSON object; override this for another structure."""
        return {**self.form_parameters(request), self.messages_key: self.form_messages(request)}

    def decode(self, request: ChatRequest) -> Decoder:
        """Return a new decoder for the answer to this request, streamed or not."""
        return ChatCompletionsDecoder(self._provider, request.model)

    def url(self, request: ChatRequest) -> str:
        """Return the URL without the configured query; not called if `url` is configured."""
        return join_url(self._address, self.path)

    def refine(self, request: ChatRequest, fault: ProviderFault, error: ChatError) -> Exception:
        """Return the exception to raise for a refused request: the error, a better one, or a `Replan`."""
        return self._prepare_without_messages(request).refine(fault, error)

    async def tear_down(self, request: ChatRequest, outcome: Outcome) -> None:
        """Release the resources of `set_up`; called once for each set-up that returned, on any outcome.

        The connection to the provider is released first. The turn waits at most one second for this method
        to return. After ten seconds, the method is cancelled. Exceptions are only logged.
        """

    async def fetch_models(self) -> list[ModelInfo]:
        """Fetch the provider's list; default: `/models` in OpenAI's shape. The caller adds configured models.

        Raises:
            ChatError: the list could not be read.
        """
        return await super()._fetch_models()

    # -- the code that calls the hooks

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamEvent]:
        """Make one attempt, hook by hook.

        Raises:
            ChatError: an error of the hooks, `stream_events` or the decoder.
            Replan: raised by `set_up` or `refine`; or the credential has expired and a new one is available.
        """
        await self._find_address()
        changed = await self.set_up(request)
        current = request if changed is None else changed
        outcome = Outcome("cancelled")
        try:
            async with aclosing(super().stream(current)) as events:
                async for event in events:
                    if isinstance(event, DoneEvent):
                        outcome = Outcome(event.stop_reason, event.usage)
                    yield event
            if outcome.stop_reason == "cancelled":
                outcome = Outcome("error")  # The answer ended without a `DoneEvent`; the engine reports that.
        except Exception as error:
            outcome = Outcome("error", error=error)
            raise
        finally:
            await self._start_tear_down(current, outcome)

    def _address_of_chat(self, request: ChatRequest, resolved: ResolvedTable) -> str:
        return self.url(request)

    async def _prepare(self, request: ChatRequest, headers: Mapping[str, str]) -> Prepared:
        own = {name.lower(): value for name, value in self.form_headers(request).items()}
        warnings = tuple(self.warnings(request))
        body = self.form_body(request)
        return Prepared(body, warnings, self.decode(request), partial(self.refine, request), own)

    async def _start_tear_down(self, request: ChatRequest, outcome: Outcome) -> None:
        # In its own task, neither a second cancel nor the end of the wait interrupts the tear-down.
        task = asyncio.ensure_future(self._tear_down_in_time(request, outcome))
        self._tearing_down.add(task)
        task.add_done_callback(self._tearing_down.discard)
        await asyncio.wait({task}, timeout=TURN_WAITS_SECONDS)

    async def _tear_down_in_time(self, request: ChatRequest, outcome: Outcome) -> None:
        try:
            async with asyncio.timeout(TEAR_DOWN_SECONDS):
                await self.tear_down(request, outcome)
        except TimeoutError:
            logger.warning("the tear-down of %s did not end in %g s", self._provider, TEAR_DOWN_SECONDS)
        except Exception:
            logger.exception("the tear-down of %s failed", self._provider)

    async def aclose(self) -> None:
        """Wait briefly for tear-downs in progress, then cancel them. An override must call this too."""
        pending = tuple(self._tearing_down)
        if pending:
            _, late = await asyncio.wait(pending, timeout=CLOSING_WAITS_SECONDS)
            for task in late:
                task.cancel()
        await super().aclose()

    def _credential(self, key: str) -> Mapping[str, str]:
        return self.credential(key)

    async def _fetch_models(self) -> list[ModelInfo]:
        await self._find_address()
        return await self.fetch_models()

    async def _find_address(self) -> None:
        if self._base_url:
            self._address = await self._values.fill_url("base_url", self._base_url)

    def _prepare_without_messages(self, request: ChatRequest) -> Prepared:
        # Only `form_messages` encodes the conversation, which may be long.
        return self._route.prepare(replace(request, messages=()))

    def _facts_of(self, model: str) -> EndpointFacts:
        return EndpointFacts(
            provider=self._provider,
            parameters=self._config.parameters,
            roles=self._config.roles.wire_names,
            cache_marks="parts" if self._config.cache else "none",
        )
