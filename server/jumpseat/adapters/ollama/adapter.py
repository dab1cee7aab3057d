"""An Ollama server, through its own API.

Of the server's APIs, only this one lets a request set the context length. Without a requested length, the
server chooses a small one and drops the oldest messages if they do not fit. The adapter determines the
length to request, the facts of the server's models, and the hints for the server's errors.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from jumpseat.adapters.base import ChatTraits
from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.routes.ollama_chat import OllamaChatRoute
from jumpseat.adapters.http.url import host_of_template
from jumpseat.adapters.ollama.models import ModelFacts, model_info, read_show, read_tags
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    ConnectionError,
    InfillUnsupportedError,
    ModelInfo,
    RequestError,
    UnknownModelError,
    WarningEvent,
)
from jumpseat.chat.media import replace_unreadable_media
from jumpseat.config import ProviderConfig
from jumpseat.dialects.ollama_chat import ServerFacts
from jumpseat.http import HttpClient

if TYPE_CHECKING:
    from jumpseat.adapters.http.routes.infill import OllamaInfillRoute

FIRST_BYTE_SECONDS = 600.0
"""The time limit for the first byte.

The server sends nothing while it loads a model (which may take 300 s) or reads a prompt.
"""

SHOW_SECONDS = 20.0
"""The time limit for `/api/show`. A chat waits for the answer, which the server reads from a file."""

PARALLEL_SHOWS = 4

_API_PATH = re.compile(r"/(api|v1)(/.*)?$")


class OllamaAdapter(EndpointAdapter):
    """One server. The facts of a model are fetched once, and again with each list of models."""

    # Do not read `OLLAMA_HOST`: it may be an address for the server to bind to, such as `0.0.0.0`. Besides,
    # editors that were not started from a shell do not have the variable.
    default_base_url = "http://127.0.0.1:11434"
    default_timeout = FIRST_BYTE_SECONDS
    # Ollama's own templates accept any order of roles, unlike the templates inside model files.
    traits = ChatTraits(user_begins=False, context_setting="num_ctx")

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        self._is_cloud = host_of_template(self._config.url or self._base_url) == "ollama.com"
        self._shown: dict[str, ModelFacts] = {}
        """The facts in the last response of `/api/show`, by model."""

        self._route = OllamaChatRoute(provider, self._facts_of)
        self.traits = replace(self.traits, infills=self._has_fixed_base_url)

    def max_context_tokens(self, model: str) -> int | None:
        """Return the context length to request for this model; None if it is not known yet."""
        shown = self._shown.get(model)
        return self._configured_num_ctx() or (shown.num_ctx if shown else None)

    async def _fetch_models(self) -> list[ModelInfo]:
        rows = read_tags(await self._get_json("/api/tags"), self._provider)
        limit = asyncio.Semaphore(PARALLEL_SHOWS)

        async def show(name: str) -> ModelFacts | None:
            async with limit:
                return await self._show(name, again=True)

        facts = await asyncio.gather(*map(show, rows))
        return [
            model_info(name, row, fact, self._provider, num_ctx=self._configured_num_ctx())
            for (name, row), fact in zip(rows.items(), facts, strict=True)
        ]

    async def _show(self, model: str, *, again: bool = False) -> ModelFacts | None:
        """Return the server's facts of a model; None if they are not known and cannot be requested now.

        Args:
            again: whether to request facts that are known already.
        """
        known = self._shown.get(model)
        if (known is not None and not again) or not self._has_fixed_base_url:
            return known
        seconds = min(SHOW_SECONDS, self._config.timeout or SHOW_SECONDS)
        try:
            call = await self._requests.build_call("POST", "/api/show", {"model": model}, model)
            answer = await self._fetch_shared(f"/api/show {model}", replace(call, timeout=seconds))
        except ChatError:
            # Continue without the facts. The chat may still succeed: a proxy may pass on only /api/chat. If
            # the chat fails, its error is more informative.
            return known
        facts = read_show(answer, is_remote=self._is_cloud)
        self._shown[model] = facts
        return facts

    @cached_property
    def _infill_route(self) -> OllamaInfillRoute:
        # Imported here because few sessions send requests to fill in.
        from jumpseat.adapters.http.routes.infill import OllamaInfillRoute

        return OllamaInfillRoute(self._provider, self._facts_of)

    def _configured_num_ctx(self) -> int | None:
        parameters = self._config.parameters
        options = parameters.get("options")
        for place in (options if isinstance(options, Mapping) else {}, parameters):
            value = place.get("num_ctx")
            if type(value) is int and value > 0:
                return value
        return None

    def _facts_of(self, model: str) -> ServerFacts:
        shown = self._shown.get(model)
        return ServerFacts(
            provider=self._provider,
            num_ctx=shown.num_ctx if shown else None,
            # If the family is not known, use the model's name. The name of a copy usually contains the name
            # of the original.
            thinks_in_levels=shown.thinks_in_levels if shown and shown.family else "gpt-oss" in model,
            parameters=self._config.parameters,
        )

    async def _prepare(self, request: ChatRequest, headers: Mapping[str, str]) -> Prepared:
        shown = await self._show(request.model)
        if request.infill is not None:
            # Without this check, the server's error would be about the template, not the model's ability.
            if shown is not None and shown.capabilities is not None and "insert" not in shown.capabilities:
                raise InfillUnsupportedError.of(self._provider, request.model)
            return self._infill_route.prepare(request)
        request, warnings = self._handle_unreadable_images(request, shown)
        if shown is not None and "thinking" in (shown.capabilities or ()):
            request = request.add_thinking_room()
        prepared = await super()._prepare(request, headers)
        return replace(prepared, warnings=[*warnings, *prepared.warnings]) if warnings else prepared

    def _handle_unreadable_images(
        self, request: ChatRequest, shown: ModelFacts | None
    ) -> tuple[ChatRequest, list[WarningEvent]]:
        """If the model cannot read images, replace images and documents in tool results with notes.

        Raises:
            RequestError: the model cannot read images, and there are some outside of tool results.
        """
        if shown is None or shown.capabilities is None or "vision" in shown.capabilities:
            return request, []
        # The server would drop the images silently.
        images = any(block.type == "image" for message in request.messages for block in message.content)
        if self._config.capabilities.vision is True:
            return request, []
        if images:
            raise RequestError(
                f"The model {request.model} of {self._provider} does not accept images.",
                provider=self._provider,
                hint="Remove the images from the conversation, or choose a model that accepts images.",
            )
        model = f"The model {request.model} of {self._provider}"
        messages, warnings = replace_unreadable_media(request.messages, model, images=False, documents=())
        return replace(request, messages=messages), warnings

    def _explain(self, error: ChatError, model: str | None = None) -> None:
        super()._explain(error, model)
        if isinstance(error, UnknownModelError):
            error.hint = f"Fetch it with `ollama pull {model}`, or choose an installed model."
        # Compare the name of the class, because only the package `jumpseat.http` may import httpx2.
        elif isinstance(error, ConnectionError) and type(error.__cause__).__name__ == "ReadTimeout":
            # The server is still loading the model or reading the prompt; a new request would restart that.
            error.retryable = False
            error.hint = (
                f"Large models load slowly. Increase providers.{self._provider}.timeout if necessary."
            )
        elif isinstance(error, ConnectionError):
            error.hint = (
                "Start the server with `ollama serve`, or set "
                f"providers.{self._provider}.base_url to its address."
            )
        elif error.status_code == 401 and self._config.api_key is None:
            error.hint = (
                f"Run `ollama signin` where the server runs, or set providers.{self._provider}.api_key."
            )
        elif error.status_code in (404, 405):
            error.hint = self._address_hint()

    def _address_hint(self) -> str:
        if self._config.url is not None:
            return f"providers.{self._provider}.url must be the complete URL, including /api/chat."
        if _API_PATH.search(self._base_url):
            return f"providers.{self._provider}.base_url must end before /api/chat."
        where = host_of_template(self._base_url) or "that address"
        return f"The server at {where} does not have /api/chat. Check that it is Ollama, and update it."
