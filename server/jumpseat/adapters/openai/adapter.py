"""Any endpoint with OpenAI's chat completions, and the facts that follow from its address."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.routes.chat_completions import ChatCompletionsRoute
from jumpseat.adapters.http.url import host_of_template, join_url
from jumpseat.chat import ChatRequest
from jumpseat.config import ProviderConfig
from jumpseat.dialects.chat_completions import EndpointFacts, takes_only_max_completion_tokens
from jumpseat.http import HttpClient

if TYPE_CHECKING:
    from jumpseat.adapters.http.requests import ResolvedTable
    from jumpseat.adapters.http.routes.infill import CompletionsRoute


class OpenAIAdapter(EndpointAdapter):
    """One endpoint."""

    default_base_url = "https://api.openai.com/v1"
    default_needs_key = True
    assistant_may_begin = True
    document_types = ("application/", "text/")

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        host = host_of_template(config.url or self._base_url)
        self._facts = EndpointFacts(
            provider=provider,
            # OpenAI has deprecated `max_tokens`; compatible servers may not support the new name.
            max_tokens_field="max_completion_tokens" if _is_under(host, "openai.com") else "max_tokens",
            parameters=config.parameters,
            roles=config.roles.wire_names,
            tool_ids="nine_characters" if _is_under(host, "mistral.ai") else "any",
            cache_marks="parts" if config.cache else "none",
        )
        self._route = ChatCompletionsRoute(provider, self._facts_of)
        self.traits = replace(self.traits, infills=self._has_fixed_base_url)
        self._infill_path = "/fim/completions" if _is_under(host, "mistral.ai") else "/completions"

    @cached_property
    def _infill_route(self) -> CompletionsRoute:
        # Imported here because few sessions send requests to fill in.
        from jumpseat.adapters.http.routes.infill import CompletionsRoute

        return CompletionsRoute(self._provider, self._infill_path)

    def _address_of_infill(self, request: ChatRequest, resolved: ResolvedTable) -> str:
        if not self._infill_route.is_llama:
            return super()._address_of_infill(request, resolved)
        # llama.cpp serves its own API at the parent of OpenAI's `/v1`.
        return join_url(resolved.base_url.removesuffix("/v1"), self._infill_route.path)

    def _facts_of(self, model: str) -> EndpointFacts:
        """Return the facts that follow from the address and the model's name."""
        if takes_only_max_completion_tokens(model):
            return replace(self._facts, max_tokens_field="max_completion_tokens")
        return self._facts


def _is_under(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
