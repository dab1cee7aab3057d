"""Any endpoint with OpenAI's Responses API, and the facts that follow from its address."""

from __future__ import annotations

from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.routes.responses import ResponsesRoute
from jumpseat.chat import ChatRequest
from jumpseat.config import ProviderConfig
from jumpseat.dialects.responses import ResponsesFacts
from jumpseat.http import HttpClient

# Requests for a token count accept only these parameters. Source: POST /responses/input_tokens in OpenAI's
# API reference.
_COUNTED = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"}
)


class OpenAIResponsesAdapter(EndpointAdapter):
    """One endpoint."""

    default_base_url = "https://api.openai.com/v1"
    default_needs_key = True
    assistant_may_begin = True
    document_types = ("application/", "text/")

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table; `base_url` ends before `/responses`.
            http: the HTTP client, which is shared with other adapters.
        """
        super().__init__(provider, config, http)
        is_openai = self._base_url == self.default_base_url
        self._route = ResponsesRoute(
            ResponsesFacts(
                provider=provider,
                obfuscates=is_openai,
                takes_unfollowed=not is_openai,
                parameters=config.parameters,
            )
        )

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return the API's own count of the prompt's tokens; -1 if the endpoint cannot count.

        Raises:
            ChatError: the request failed.
        """
        body = self._route.prepare(request).body
        counted = {name: value for name, value in body.items() if name in _COUNTED}
        return await self._fetch_token_count(f"{self._route.path}/input_tokens", counted, request.model)
