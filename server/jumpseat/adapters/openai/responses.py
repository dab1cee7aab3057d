"""Any provider that speaks OpenAI's Responses API: OpenAI itself, and compatible servers.

Owns the facts that follow from an endpoint's address.
"""

from __future__ import annotations

from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.routes.responses import ResponsesRoute
from jumpseat.chat import ChatRequest
from jumpseat.config import ProviderConfig
from jumpseat.dialects.responses import ResponsesFacts
from jumpseat.http import HttpClient

_COUNTED = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"}
)
"""What the count takes of a request. Source: POST /responses/input_tokens of OpenAI's API reference."""


class OpenAIResponsesAdapter(EndpointAdapter):
    """One endpoint."""

    default_base_url = "https://api.openai.com/v1"
    assistant_may_begin = True

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: its table; `base_url` ends before `/responses`.
            http: the shared client.
        """
        super().__init__(provider, config, http)
        openais_own = self._base_url == self.default_base_url
        self._route = ResponsesRoute(
            ResponsesFacts(
                provider=provider,
                obfuscates=openais_own,
                takes_unfollowed=not openais_own,
                parameters=config.parameters,
            )
        )

    async def count_tokens(self, request: ChatRequest) -> int:
        """The prompt's tokens as the API counts them; -1 where an endpoint has no such count.

        Raises:
            ChatError: the request failed.
        """
        body = self._route.prepare(request).body
        counted = {name: value for name, value in body.items() if name in _COUNTED}
        return await self._counted_tokens(f"{self._route.path}/input_tokens", counted, request.model)
