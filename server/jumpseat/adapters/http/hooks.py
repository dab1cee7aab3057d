"""One attempt over HTTP as a sequence of hooks. Public for plug-ins, and kept stable (docs/plugins.md).

Owns the order of the hooks and that what was set up is torn down once, however the attempt ends. Each hook
has a default from the chat-completions dialect, so that a provider which differs in little says little.
Above it are plug-ins; below it `endpoint`, which has the credential, the headers and the list of models, and
`routes`, which make the request and understand refusals.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.routes.chat_completions import ChatCompletionsRoute
from jumpseat.adapters.http.url import joined
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
"""How long a turn waits for its tear-down; it goes on without a slower one."""

CLOSING_WAITS_SECONDS = 0.25
"""How long the end of the daemon waits for tear-downs: a part of what it has for all adapters."""

TEAR_DOWN_SECONDS = 10.0
"""How long a tear-down may take; one that takes longer is cancelled."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended, for its tear-down."""

    stop_reason: StopReason
    """Why the model stopped; `cancelled` where somebody left before that, `error` where it failed."""

    usage: Usage | None = None
    error: Exception | None = None
    """What the attempt raised: a `ChatError`, a `Replan`, or a defect."""


class HttpAdapter(EndpointAdapter):
    """A provider behind one base URL, as hooks that a subclass overrides.

    One attempt calls them in this order, each once: `set_up`, `credential` (and `form_headers`),
    `warnings`, `form_parameters`, `form_messages`, `decode` and `url`; then the request is made, and the
    decoder is fed; `tear_down` comes last. A retried turn is several attempts. One object serves many
    turns at once: what the hooks of an attempt share travels in `request.state`.

    The defaults are those of any endpoint with chat completions: what it has refused once is left out, or
    said otherwise, in later requests.
    """

    default_base_url: ClassVar[str] = ""
    path: ClassVar[str] = "/chat/completions"
    """What a chat adds to the base URL."""

    messages_key: ClassVar[str] = "messages"
    """Where the body has what `form_messages` gives."""

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: its table.
            http: the shared client.

        Raises:
            ConfigError: neither the table nor the class has a base URL, or it depends on the model.
        """
        super().__init__(provider, config, http)
        if not self._base_url and config.url is None:
            raise ConfigError(f"providers.{provider}.base_url is missing.", provider=provider)
        if needs_model(self._base_url):
            raise ConfigError(
                f"providers.{provider}.base_url uses ${{model}}, which this kind of provider does not take.",
                provider=provider,
                hint=f"Give the whole address of a chat in providers.{provider}.url.",
            )
        self._address = self._base_url
        self._route = ChatCompletionsRoute(provider, self._facts_of)
        self._tearing_down: set[asyncio.Task[None]] = set()

    # -- what hooks may use

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
        """The configured base URL, else the class's own; without a slash at its end.

        Each `${name}` in it is replaced by the time that the first hook is called.
        """
        return self._address

    @property
    def values(self) -> Values:
        """What the table's value sources give: `await self.values.resolve("my_key", raw)`."""
        return self._values

    async def call(self, method: str, path: str, body: Any = None) -> HttpCall:
        """A request below the base URL, with the headers and the query that every request has.

        Raises:
            ConfigError: the key, a configured header or a part of the URL cannot be had.
        """
        headers = await self._headers()
        return HttpCall(method, await self._url(path), headers, body, self._config.timeout)

    # -- the hooks

    async def set_up(self, request: ChatRequest) -> ChatRequest | None:
        """Get what the attempt needs, before its credential is read; None leaves the request as it is.

        The returned request is what every later hook sees: `replace(request, state={"lease": lease})`.
        There is a tear-down for each set-up that returned. One that raises, or is cancelled, gives back by
        itself what it has, as `__aenter__` does.

        Raises:
            ChatError: the attempt is refused; nothing was sent.
        """
        return None

    def credential(self, key: str) -> Mapping[str, str]:
        """The headers that carry the configured key; default: `authorization: Bearer …`."""
        return super()._credential(key)

    def form_headers(self, request: ChatRequest) -> Mapping[str, str]:
        """Headers of this chat alone; the credential and configured ones go before them."""
        return {}

    def warnings(self, request: ChatRequest) -> Iterable[WarningEvent]:
        """What of the request the provider is not told, for the user to know; default: what it refused."""
        return self._without_messages(request).warnings

    def form_parameters(self, request: ChatRequest) -> Mapping[str, Any]:
        """The body without the conversation: model, tools, limits, settings.

        Whoever overrides this lays `config.parameters` and `request.settings` over it.
        """
        body = self._without_messages(request).body
        return {name: value for name, value in body.items() if name != "messages"}

    def form_messages(self, request: ChatRequest) -> Sequence[Any]:
        """The conversation; `request.system` too, where it is one of the messages."""
        messages: list[Any] = self._route.prepare(request).body["messages"]
        return messages

    def form_body(self, request: ChatRequest) -> Mapping[str, Any]:
        """Parameters and messages as one JSON object; for a dialect that keeps them otherwise."""
        return {**self.form_parameters(request), self.messages_key: self.form_messages(request)}

    def decode(self, request: ChatRequest) -> Decoder:
        """A fresh decoder for the answer to this request, streamed or not."""
        return ChatCompletionsDecoder(self._provider, request.model)

    def url(self, request: ChatRequest) -> str:
        """Where the request goes, without the configured query; not asked where `url` is configured."""
        return joined(self._address, self.path)

    def refine(self, request: ChatRequest, fault: ProviderFault, error: ChatError) -> Exception:
        """What to raise for a refused request: the error, a better one, or a `Replan`."""
        return self._without_messages(request).refine(fault, error)

    async def tear_down(self, request: ChatRequest, outcome: Outcome) -> None:
        """Give back what `set_up` got, once for each set-up that returned, whatever happened since.

        The attempt has released its connection to the provider by then. A turn waits a second for this
        and goes on; after ten seconds it is cancelled. What it raises is logged and hurts nobody.
        """

    async def fetch_models(self) -> list[ModelInfo]:
        """What the provider lists; default: `/models` in OpenAI's shape. Configured models are added.

        Raises:
            ChatError: the list could not be had.
        """
        return await super()._listed_models()

    # -- the template

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt, hook by hook.

        Raises:
            ChatError: as the hooks, `stream_events` and the decoder raise it.
            Replan: as `set_up` or `refine` raise it.
        """
        await self._find_address()
        changed = await self.set_up(request)
        prepared = request if changed is None else changed
        outcome = Outcome("cancelled")
        try:
            call, sent = await self._formed(prepared)
            for warning in sent.warnings:
                yield warning
            async with self._sent(call, sent.decoder, sent.refine) as events:
                async for event in events:
                    if isinstance(event, DoneEvent):
                        outcome = Outcome(event.stop_reason, event.usage)
                    yield event
            if outcome.stop_reason == "cancelled":
                outcome = Outcome("error")  # The answer has no end, which the engine will say.
        except Exception as error:
            outcome = Outcome("error", error=error)
            raise
        finally:
            await self._afterwards(prepared, outcome)

    async def _formed(self, request: ChatRequest) -> tuple[HttpCall, Prepared]:
        credential = await self._headers(request.model)
        own = {name.lower(): value for name, value in self.form_headers(request).items()}
        warnings = tuple(self.warnings(request))
        body = self.form_body(request)

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            return self.refine(request, fault, error)

        prepared = Prepared(body, warnings, self.decode(request), refine)
        url = await self._url_of_chat("" if self._config.url else self.url(request), request.model)
        sent = await self._values.body(body, request.model)
        return HttpCall("POST", url, {**own, **credential}, sent, self._config.timeout), prepared

    async def _afterwards(self, request: ChatRequest, outcome: Outcome) -> None:
        # A task of its own: a turn that is cancelled twice, or waits no longer, must not cut it off.
        task = asyncio.ensure_future(self._torn_down(request, outcome))
        self._tearing_down.add(task)
        task.add_done_callback(self._tearing_down.discard)
        await asyncio.wait({task}, timeout=TURN_WAITS_SECONDS)

    async def _torn_down(self, request: ChatRequest, outcome: Outcome) -> None:
        try:
            async with asyncio.timeout(TEAR_DOWN_SECONDS):
                await self.tear_down(request, outcome)
        except TimeoutError:
            logger.warning("the tear-down of %s did not end in %g s", self._provider, TEAR_DOWN_SECONDS)
        except Exception:
            logger.exception("the tear-down of %s failed", self._provider)

    async def aclose(self) -> None:
        """Wait a moment for tear-downs under way; a subclass that holds more calls this one too."""
        pending = tuple(self._tearing_down)
        if pending:
            _, late = await asyncio.wait(pending, timeout=CLOSING_WAITS_SECONDS)
            for task in late:
                task.cancel()
        await super().aclose()

    def _credential(self, key: str) -> Mapping[str, str]:
        return self.credential(key)

    async def _listed_models(self) -> list[ModelInfo]:
        await self._find_address()
        return await self.fetch_models()

    async def _find_address(self) -> None:
        if self._base_url:
            self._address = await self._base()

    def _without_messages(self, request: ChatRequest) -> Prepared:
        # A long conversation is written out once for an attempt, by `form_messages`.
        return self._route.prepare(replace(request, messages=()))

    def _facts_of(self, model: str) -> EndpointFacts:
        return EndpointFacts(
            provider=self._provider,
            parameters=self._config.parameters,
            roles=self._config.roles.wire_names,
        )
