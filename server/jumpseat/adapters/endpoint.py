"""What every adapter does that asks one base URL with one optional key.

Owns the credential, the headers, the list of models with its lengths of context, and the state of the
credential. It is no adapter, so each HTTP adapter may build on it: they add the dialect, and override
what their provider does in its own way. Above it are those adapters; below it HTTP and configuration.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import ClassVar

import jumpseat
from jumpseat.adapters.base import Adapter, Capabilities
from jumpseat.adapters.endpoint_models import read_models, static_model
from jumpseat.auth import AuthStatus
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ConfigError,
    ModelInfo,
    RequestError,
)
from jumpseat.config import ProviderConfig, Secret, resolve
from jumpseat.http import HttpCall, HttpClient, get_json


class EndpointAdapter(Adapter):
    """A provider behind one base URL; a subclass adds `stream`."""

    default_base_url: ClassVar[str]
    """Where to ask if the configuration names no `base_url`; a subclass gives it, without a last slash."""

    assistant_may_begin: ClassVar[bool] = False
    """A conversation need not begin with the user at `default_base_url`; imitators elsewhere may want it."""

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: its table; `base_url` ends before the path that a request adds.
            http: the shared client.
        """
        self._provider = provider
        self._config = config
        self._http = http
        self._base_url = (config.base_url or self.default_base_url).rstrip("/")
        self._lock = threading.Lock()
        self._context: dict[str, int] = {}
        said = config.capabilities.model_dump(include={field.name for field in fields(Capabilities)})
        told = {name: value for name, value in said.items() if value is not None}
        self.capabilities = replace(type(self).capabilities, **told)

    @property
    def provider_name(self) -> str:
        """The configured provider's id."""
        return self._provider

    @property
    def default_model(self) -> str | None:
        """The configured default, else the first of the configured models."""
        return self._config.default_model or next(iter(self._config.model_names), None)

    @property
    def user_begins(self) -> bool:
        """Not where the provider's own endpoint is known to take a conversation that the assistant begins."""
        return not (self.assistant_may_begin and self._base_url == self.default_base_url)

    async def list_models(self) -> list[ModelInfo]:
        """The endpoint's models, then the configured ones that it does not list.

        Raises:
            ChatError: the list could not be had. An endpoint that has none is no failure where models are
                configured.
        """
        models: list[ModelInfo] = []
        try:
            models += await self._listed_models()
        except RequestError as error:
            if not (self._config.models and error.status_code in (404, 405)):
                raise
        known = {model.model for model in models}
        named = (name for name in self._config.model_names if name not in known)
        models += [static_model(name, self._provider, self.capabilities) for name in named]
        with self._lock:
            self._context = {
                model.model: model.max_context_tokens
                for model in models
                if model.max_context_tokens is not None
            }
        default = self.default_model
        return [replace(model, is_default=True) if model.model == default else model for model in models]

    def max_context_tokens(self, model: str) -> int | None:
        """The context length as the last list of models told it."""
        with self._lock:
            return self._context.get(model)

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Whether a key is configured and can be read; with `refresh` it is tried on the list of models."""
        if self._config.api_key is None:
            return AuthStatus(provider=self._provider, state="not_required")
        try:
            self._key()
        except ConfigError as error:
            return AuthStatus(provider=self._provider, state="signed_out", message=error.message)
        if not refresh:
            return AuthStatus(provider=self._provider, state="configured")
        try:
            await self.list_models()
        except AuthorizationError as error:
            return AuthStatus(provider=self._provider, state="not_authorized", message=error.message)
        except AuthenticationError as error:
            return AuthStatus(provider=self._provider, state="signed_out", message=error.message)
        except ChatError as error:
            return AuthStatus(provider=self._provider, state="configured", message=error.message)
        return AuthStatus(provider=self._provider, state="signed_in")

    async def _listed_models(self) -> list[ModelInfo]:
        """What the endpoint lists, in OpenAI's shape; a provider with another list overrides this.

        Raises:
            ChatError: the list could not be had.
        """
        call = HttpCall("GET", f"{self._base_url}/models", self._headers(), timeout=self._config.timeout)
        answer = await get_json(self._http, call, provider=self._provider)
        return read_models(answer, self._provider, self.capabilities)

    def _key(self) -> Secret | None:
        """The configured key; None where none is configured.

        Raises:
            ConfigError: it is configured and cannot be had.
        """
        raw = self._config.api_key
        return None if raw is None else resolve(self._provider, "api_key", raw)

    def _credential(self, key: str) -> Mapping[str, str]:
        """The headers, in lower case, that carry the key."""
        return {"authorization": f"Bearer {key}"}

    def _headers(self) -> dict[str, str]:
        """Read anew for each request: a key may be replaced while the daemon runs.

        Names are in lower case; configured headers go before our own.

        Raises:
            ConfigError: the key or a configured header cannot be had.
        """
        headers = {"user-agent": f"jumpseat/{jumpseat.__version__}", "x-request-id": uuid.uuid4().hex}
        key = self._key()
        if key is not None:
            headers.update(self._credential(key.reveal()))
        for name, value in self._config.headers.items():
            headers[name.lower()] = resolve(self._provider, f"headers.{name}", value).reveal()
        return headers
