"""An Ollama server, through its own API: the only one in which a request can set the length of context.

Owns that length, which the server would otherwise choose small and drop the oldest messages for, and what
a refusal of the server means.

`OLLAMA_HOST` is not read: it is the address that the server binds as well (`0.0.0.0`), an editor that was
not started from a shell does not have it, and the one place for an address is `base_url`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import ChatTraits, Replan
from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.refusals import unknown_model
from jumpseat.adapters.http.url import host_of_template
from jumpseat.adapters.ollama.models import ModelFacts, model_info, read_show, read_tags
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    ConnectionError,
    ModelInfo,
    RequestError,
    StreamEvent,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.ollama_chat import OllamaChatDecoder, ServerFacts, encode, losses
from jumpseat.http import HttpCall, HttpClient, Refine, get_json

FIRST_BYTE_SECONDS = 600.0
"""Silence is the rule while a model is loaded, for which the server takes up to 300 s, and reads a prompt."""

SHOW_SECONDS = 20.0
"""A question about a model is answered from a file; it must not hold a chat back for longer."""

PARALLEL_SHOWS = 4

_PART_OF_A_PATH = re.compile(r"/(api|v1)(/.*)?$")

# The model cannot think; the server is too old for levels (it names a field); it knows no such level.
_NO_THINKING = ("does not support thinking", "chatrequest.think", "think value")


class OllamaAdapter(EndpointAdapter):
    """One server. Its facts of a model are fetched once and cached until the models are listed again."""

    default_base_url = "http://127.0.0.1:11434"
    # The templates of this server take any order of roles, unlike those that come with models.
    traits = ChatTraits(user_begins=False, context_setting="num_ctx")

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        self._is_cloud = host_of_template(self._config.url or self._base_url) == "ollama.com"
        self._shown: dict[str, ModelFacts] = {}
        self._thoughtless: set[str] = set()

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt.

        Raises:
            ChatError: as `stream_events` raises it; `RequestError` names a model that is not there.
            Replan: the model does not take `think`, which the next attempt will leave out.
            ConfigError: the credential cannot be had.
        """
        shown = await self._show(request.model)
        self._refuse_images(request, shown)
        facts = self._facts_of(request.model, shown)
        body = encode(request, facts)
        warnings = self._warnings(request, facts, body)
        accepted = {"accept": "application/x-ndjson, application/json"}
        call = await self._call_of_chat("/api/chat", body, request.model, accepted)
        call = replace(call, timeout=self._config.timeout or FIRST_BYTE_SECONDS)
        decoder = OllamaChatDecoder(self._provider, request.model)
        refine = self._refine(request.model, body)
        try:
            async with self._sent(call, decoder, refine) as events:
                async for event in events:
                    # Sent with the first event, so that a turn of several attempts has them once.
                    while warnings:
                        yield warnings.pop(0)
                    yield event
        except ConnectionError as error:
            raise self._explained(error) from error.__cause__

    def max_context_tokens(self, model: str) -> int | None:
        """The context that chats with this model ask for, where it is known by now."""
        shown = self._shown.get(model)
        return self._configured_num_ctx() or (shown.num_ctx if shown else None)

    async def _listed_models(self) -> list[ModelInfo]:
        try:
            rows = read_tags(await self._get_json("GET", "/api/tags"), self._provider)
        except ConnectionError as error:
            raise self._explained(error) from error.__cause__
        turnstile = asyncio.Semaphore(PARALLEL_SHOWS)

        async def shown(name: str) -> ModelFacts | None:
            async with turnstile:
                return await self._show(name, again=True)

        facts = await asyncio.gather(*map(shown, rows))
        return [
            model_info(name, row, fact, self._provider, num_ctx=self._configured_num_ctx())
            for (name, row), fact in zip(rows.items(), facts, strict=True)
        ]

    async def _show(self, model: str, *, again: bool = False) -> ModelFacts | None:
        """What the server says of a model; None where it does not say, which is asked again next time.

        Two turns may ask at the same time: they get the same answer.
        """
        known = self._shown.get(model)
        if (known is not None and not again) or not self._has_list:
            return known
        seconds = min(SHOW_SECONDS, self._config.timeout or SHOW_SECONDS)
        try:
            headers = await self._headers(model)
            call = HttpCall("POST", await self._url("/api/show"), headers, {"model": model}, seconds)
            answer = await get_json(self._http, call, provider=self._provider)
        except ChatError:
            # Whatever is wrong, the chat itself will say it better; a proxy may pass /api/chat alone.
            return known
        facts = read_show(answer, is_remote=self._is_cloud)
        self._shown[model] = facts
        return facts

    def _configured_num_ctx(self) -> int | None:
        parameters = self._config.parameters
        options = parameters.get("options")
        for place in (options if isinstance(options, Mapping) else {}, parameters):
            value = place.get("num_ctx")
            if type(value) is int and value > 0:
                return value
        return None

    def _facts_of(self, model: str, shown: ModelFacts | None) -> ServerFacts:
        dropped = {"think"} if model in self._thoughtless else set()
        return ServerFacts(
            provider=self._provider,
            num_ctx=shown.num_ctx if shown else None,
            # Without a family, the name decides: copies of these models keep it.
            thinks_in_levels=shown.thinks_in_levels if shown and shown.family else "gpt-oss" in model,
            parameters=self._config.parameters,
            dropped=dropped,
        )

    def _warnings(
        self, request: ChatRequest, facts: ServerFacts, body: Mapping[str, Any]
    ) -> list[StreamEvent]:
        warnings: list[StreamEvent] = [*losses(request, facts)]
        if "think" in facts.dropped and request.thinking not in (None, "off"):
            message = f"The model {request.model} of {self._provider} does not think; that was left out."
            warnings.append(WarningEvent("thinking_dropped", message))
        if "num_ctx" not in body.get("options", {}):
            message = (
                f"{self._provider} does not say how much context {request.model} can have, and may give it "
                f"as little as 4096 tokens. Set parameters.num_ctx under providers.{self._provider}."
            )
            warnings.append(WarningEvent("context_unknown", message))
        return warnings

    def _refuse_images(self, request: ChatRequest, shown: ModelFacts | None) -> None:
        """The server drops images for a model that does not see, without a word."""
        if shown is None or shown.capabilities is None or "vision" in shown.capabilities:
            return
        images = any(block.type == "image" for message in request.messages for block in message.content)
        if images and self._config.capabilities.vision is not True:
            raise RequestError(
                f"The model {request.model} of {self._provider} does not take images.",
                provider=self._provider,
                hint="Remove the images from the conversation, or choose a model that sees.",
            )

    def _refine(self, model: str, body: Mapping[str, Any]) -> Refine:
        """What is better to raise than the general error of a refused request."""

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            words = fault.message.lower()
            if error.status_code == 400 and "think" in body and any(each in words for each in _NO_THINKING):
                self._thoughtless.add(model)
                return Replan("refused_parameter:think", error)
            if error.status_code == 400 and "does not support tools" in words:
                error.hint = "Send the chat without tools, or choose a model that supports them."
            elif error.status_code == 401 and self._config.api_key is None:
                error.hint = (
                    f"Run `ollama signin` where the server runs, or set providers.{self._provider}.api_key."
                )
            elif (unknown := unknown_model(fault, error, self._provider, model)) is not None:
                unknown.hint = f"Fetch it with `ollama pull {model}`, or choose a model that is there."
                return unknown
            elif error.status_code in (404, 405):
                error.hint = self._hint_at_the_address()
            return error

        return refine

    def _hint_at_the_address(self) -> str:
        """What to check where a path is not found; `base_url` only if it has a part of one."""
        if self._config.url is not None:
            return f"providers.{self._provider}.url must be the whole address, /api/chat included."
        if _PART_OF_A_PATH.search(self._base_url):
            return f"providers.{self._provider}.base_url must end before /api/chat."
        where = host_of_template(self._base_url) or "that address"
        return f"The server at {where} has no /api/chat: check that it is Ollama, and update it."

    def _explained(self, error: ConnectionError) -> ConnectionError:
        # The class is named, not imported: only `http` knows httpx2.
        if type(error.__cause__).__name__ == "ReadTimeout":
            # It still loads the model, or reads the prompt: another request would restart that.
            error.retryable = False
            error.hint = (
                f"A large model takes long to load; providers.{self._provider}.timeout may be longer."
            )
        else:
            error.hint = (
                "Start the server with `ollama serve`, or set "
                f"providers.{self._provider}.base_url to where it runs."
            )
        return error
