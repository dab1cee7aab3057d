"""Any endpoint with Anthropic's Messages API: its headers, and the pages of its list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from jumpseat.adapters.anthropic.models import models_in
from jumpseat.adapters.base.rows import MAX_MODELS, first_rows
from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.endpoint import EndpointAdapter
from jumpseat.adapters.http.routes.messages import MessagesRoute
from jumpseat.chat import ChatRequest, ModelInfo, ProtocolError
from jumpseat.chat.long import is_long
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.system.threads import compute

VERSION = "2023-06-01"
"""The API version to request, which every compatible server supports.

A header `anthropic-version` in the provider's table replaces it.
"""

VERSION_WITHOUT_SAMPLING = "2026-10-21"
"""The first API version that refuses `temperature`, `top_p` and `top_k` for every model."""

ROWS_PER_PAGE = 1000
MAX_PAGES = 20


class AnthropicAdapter(EndpointAdapter):
    """One endpoint."""

    default_base_url = "https://api.anthropic.com"
    needless_suffix = "/v1"
    own_headers: ClassVar = {"anthropic-version": VERSION}
    default_needs_key = True
    assistant_may_begin = True
    document_types = ("application/pdf", "text/")
    _route: MessagesRoute

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        self._route = MessagesRoute(
            provider, parameters=config.parameters, marks_cache=config.cache is not False
        )

    async def _prepare(self, request: ChatRequest, headers: Mapping[str, str]) -> Prepared:
        takes_sampling = headers["anthropic-version"] < VERSION_WITHOUT_SAMPLING
        long = is_long(request.messages)
        return await compute(long, self._route.prepare, request, takes_sampling=takes_sampling)

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return the API's own count of the prompt's tokens; -1 if the endpoint cannot count.

        Raises:
            ChatError: the request failed.
        """
        path = f"{self._route.path}/count_tokens"
        return await self._fetch_token_count(path, self._route.body_to_count(request), request.model)

    async def _fetch_models(self) -> list[ModelInfo]:
        rows: list[Any] = []
        after = ""
        for _ in range(MAX_PAGES):
            answer = await self._get_json(f"/v1/models?limit={ROWS_PER_PAGE}{after}")
            page = answer.get("data") if isinstance(answer, dict) else None
            if not isinstance(page, list):
                raise ProtocolError(
                    f"{self._provider} sent a list of models in an unknown shape.", provider=self._provider
                )
            rows += page
            last = answer.get("last_id")
            if not (answer.get("has_more") and page and isinstance(last, str) and len(rows) <= MAX_MODELS):
                break
            # `MAX_PAGES` bounds the loop, because a server may repeat its last page forever.
            after = f"&after_id={quote(last, safe='')}"
        rows = first_rows(rows, self._provider)
        # The facts in the list take precedence over those that follow from a model's name.
        self._route.learn(row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str))
        return await compute(True, models_in, rows, self._provider, self.capabilities)

    def _credential(self, key: str) -> Mapping[str, str]:
        # For a gateway that needs `authorization`, users set this header in the table.
        return {"x-api-key": key}
