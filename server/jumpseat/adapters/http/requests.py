"""Builds the headers and the URLs of an endpoint's requests from the values of its table."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jumpseat
from jumpseat.adapters.http.url import hide_credentials, join_url, with_query
from jumpseat.config import ProviderConfig, Values
from jumpseat.config.sources import source_of
from jumpseat.config.sources.environment import ENVIRONMENT
from jumpseat.config.sources.own_table import as_text
from jumpseat.config.templates import is_template, names_in
from jumpseat.http import HttpCall
from jumpseat.system.secrets import Secret

MAX_CACHED_MODELS = 100
"""The maximum number of models whose resolved values are cached."""


@dataclass(frozen=True, slots=True)
class ResolvedTable:
    """The values of a table for the requests to one model."""

    key: Secret | None
    """The key to send in a header; None if the table has no key, or places it with `${api_key}`."""

    headers: Mapping[str, str]
    """The configured headers, with names in lower case."""

    query: Mapping[str, str]
    base_url: str
    """The base URL; empty if the table has none."""

    url: str | None
    """The configured URL of a chat; None if there is none, or if the table was resolved without a model."""


class EndpointRequests:
    """Builds the requests to one endpoint."""

    def __init__(
        self,
        provider: str,
        config: ProviderConfig,
        base_url: str,
        *,
        credential: Callable[[str], Mapping[str, str]],
        headers: Mapping[str, str],
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table.
            base_url: the base URL, which may still contain `${name}`; empty if there is no base URL.
            credential: returns the headers that carry a key; names in lower case.
            headers: headers of every request; names in lower case. Configured headers override them.
        """
        self.values = Values(provider, config)
        self._config = config
        self._base_url = base_url
        self._credential = credential
        self._headers = {"user-agent": f"jumpseat/{jumpseat.__version__}", **headers}
        texts = (config.base_url, config.url, *config.query.values(), *config.headers.values())
        self._places_key = any("api_key" in names_in(text) for text in texts if isinstance(text, str))
        self._is_constant = _is_constant(config)
        self._remembered: dict[str | None, ResolvedTable] = {}
        self._last_url = ""
        self._credentials_of_url: Sequence[Secret] = ()
        """The secrets in the last URL. This reference keeps them in the set of values to redact."""

    async def resolve(self, model: str | None = None) -> ResolvedTable:
        """Resolve the values of the table.

        Without a model, `url` is None, and headers and query parameters that use `${model}` are omitted.

        Raises:
            ConfigError: a value cannot be resolved.
        """
        resolved = self._remembered.get(model)
        if resolved is None:
            values, config = self.values, self._config
            key = None if config.api_key is None else await values.resolve("api_key", config.api_key)
            headers = await values.fill_headers(model)
            base = await values.fill_url("base_url", self._base_url, model) if self._base_url else ""
            url = None
            if config.url is not None and model is not None:
                url = await values.fill_url("url", config.url, model)
            # If a value of the table contains `${api_key}`, the key is sent only there.
            key = None if self._places_key else key
            resolved = ResolvedTable(key, headers, await values.fill_query(model), base, url)
            # Cache only constant values. Others may change while the daemon runs.
            if self._is_constant and len(self._remembered) < MAX_CACHED_MODELS:
                self._remembered[model] = resolved
        return resolved

    def headers(self, resolved: ResolvedTable) -> dict[str, str]:
        """Return the headers of a request, with a new request id; names in lower case."""
        credential = {} if resolved.key is None else self._credential(resolved.key.reveal())
        return {**self._headers, "x-request-id": uuid.uuid4().hex, **credential, **resolved.headers}

    def with_query(self, url: str, resolved: ResolvedTable) -> str:
        """Return the URL with the configured query, whose secrets are redacted in logs."""
        url = with_query(url, resolved.query)
        if url != self._last_url:
            self._last_url, self._credentials_of_url = url, hide_credentials(url)
        return url

    async def build_call(
        self, method: str, path: str, body: Any = None, model: str | None = None
    ) -> HttpCall:
        """Build a request other than a chat, below the base URL.

        Raises:
            ConfigError: a value of the table cannot be resolved.
        """
        resolved = await self.resolve(model)
        url = self.with_query(join_url(resolved.base_url, path), resolved)
        return HttpCall(method, url, self.headers(resolved), body, self._config.timeout)


def _is_constant(table: ProviderConfig) -> bool:
    """Whether every read returns the same values, because they are in the table or in the environment."""
    named = (*table.headers.values(), *table.query.values(), *table.env.values())
    texts = (table.api_key or "", table.base_url or "", table.url or "", *map(as_text, named))
    return not any(is_template(text) or source_of(text) not in (None, ENVIRONMENT) for text in texts)
