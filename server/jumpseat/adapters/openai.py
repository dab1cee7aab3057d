"""Any provider that speaks OpenAI's chat completions: OpenAI itself, and everybody's compatible server.

Owns whom to call and with which credential, and what an endpoint has shown to refuse. Above it is the
provider registry; below it the dialect and HTTP. `openai_models` reads the list of models.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import fields, replace
from typing import Any, Literal

import jumpseat
from jumpseat.adapters.base import Adapter, Capabilities, Replan
from jumpseat.adapters.openai_models import read_models, static_model
from jumpseat.auth import AuthStatus
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatError,
    ChatRequest,
    ConfigError,
    ModelInfo,
    RequestError,
    StreamEvent,
    WarningEvent,
)
from jumpseat.config import ProviderConfig, Secret, resolve
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder, EndpointFacts, encode
from jumpseat.http import HttpCall, HttpClient, Refine, get_json, stream_events

DEFAULT_BASE_URL = "https://api.openai.com/v1"

# Without these a request is another request: refusing one of them is an answer, not an obstacle.
_ESSENTIAL = frozenset({"model", "messages", "stream", "tools", "tool_choice", "response_format"})

_REFUSALS = (
    "unsupported parameter",
    "unsupported value",
    "not supported with this model",
    "unrecognized request argument",
    "unknown parameter",
)
_REFUSAL_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})

TokenField = Literal["max_tokens", "max_completion_tokens"]


class OpenAIAdapter(Adapter):
    """One endpoint. What it refused is remembered for each model, so that it is refused once only."""

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: its table; `base_url` ends before `/chat/completions`.
            http: the shared client.
        """
        self._provider = provider
        self._config = config
        self._http = http
        self._base_url = (config.base_url or DEFAULT_BASE_URL).rstrip("/")
        self._lock = threading.Lock()
        self._facts: dict[str, EndpointFacts] = {}
        self._context: dict[str, int] = {}
        said = config.capabilities.model_dump(include={field.name for field in fields(Capabilities)})
        self.capabilities = Capabilities(**{name: value for name, value in said.items() if value is not None})

    @property
    def provider_name(self) -> str:
        """The configured provider's id."""
        return self._provider

    @property
    def default_model(self) -> str | None:
        """The configured default, else the first of the configured models."""
        return self._config.default_model or next(iter(self._config.models), None)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt.

        Raises:
            ChatError: as `stream_events` raises it; `RequestError` names an unknown model.
            Replan: the endpoint refuses a parameter, which the next attempt will leave out or rename.
            ConfigError: the credential cannot be had.
        """
        with self._lock:
            facts = self._facts_of(request.model)
        wished = encode(request, replace(facts, dropped=()))
        for name in sorted(wished.keys() & set(facts.dropped)):
            yield WarningEvent(
                "parameter_dropped", f"{self._provider} does not take {name!r} for {request.model}; left out."
            )
        body = {name: value for name, value in wished.items() if name not in facts.dropped}
        call = HttpCall(
            "POST", f"{self._base_url}/chat/completions", self._headers(), body, self._config.timeout
        )
        decoder = ChatCompletionsDecoder(self._provider, request.model)
        refine = self._refine(request.model, body)
        answer = stream_events(self._http, call, decoder, provider=self._provider, refine=refine)
        async with aclosing(answer) as events:
            async for event in events:
                yield event

    async def list_models(self) -> list[ModelInfo]:
        """The endpoint's models, then the configured ones that it does not list.

        Raises:
            ChatError: the list could not be had. An endpoint that has none is no failure where models are
                configured.
        """
        call = HttpCall("GET", f"{self._base_url}/models", self._headers(), timeout=self._config.timeout)
        models: list[ModelInfo] = []
        try:
            answer = await get_json(self._http, call, provider=self._provider)
        except RequestError as error:
            if not (self._config.models and error.status_code in (404, 405)):
                raise
        else:
            models = read_models(answer, self._provider, self.capabilities)
        known = {model.model for model in models}
        named = dict.fromkeys(self._config.models)
        models += [
            static_model(name, self._provider, self.capabilities) for name in named if name not in known
        ]
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

    def _key(self) -> Secret | None:
        raw = self._config.api_key
        return None if raw is None else resolve(self._provider, "api_key", raw)

    def _headers(self) -> dict[str, str]:
        """Read anew for each request: a key may be replaced while the daemon runs."""
        headers = {"user-agent": f"jumpseat/{jumpseat.__version__}", "x-request-id": uuid.uuid4().hex}
        key = self._key()
        if key is not None:
            headers["authorization"] = f"Bearer {key.reveal()}"
        for name, value in self._config.headers.items():
            headers[name.lower()] = resolve(self._provider, f"headers.{name}", value).reveal()
        return headers

    def _facts_of(self, model: str) -> EndpointFacts:
        """What is known of the endpoint for a model; the caller holds the lock."""
        known = self._facts.get(model)
        return known or EndpointFacts(provider=self._provider, parameters=self._config.parameters)

    def _refine(self, model: str, body: Mapping[str, Any]) -> Refine:
        """What is better to raise than the general error of a refused request."""

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            if error.status_code in (400, 422) and (name := _refused_parameter(fault, body)):
                self._remember_refusal(model, name)
                return Replan(f"refused_parameter:{name}", error)
            if _is_unknown_model(fault, error, model):
                unknown = RequestError(
                    f"The provider {self._provider} has no model {model!r}.",
                    provider=self._provider,
                    status_code=error.status_code,
                    provider_code=error.provider_code,
                    provider_request_id=error.provider_request_id,
                    hint=f"Choose one of its models, or check providers.{self._provider}.base_url.",
                )
                unknown.__cause__ = error
                return unknown
            return error

        return refine

    def _remember_refusal(self, model: str, name: str) -> None:
        other: dict[str, TokenField] = {
            "max_tokens": "max_completion_tokens",
            "max_completion_tokens": "max_tokens",
        }
        with self._lock:
            facts = self._facts_of(model)
            dropped = frozenset({*facts.dropped, name})
            # The refused spelling joins the dropped ones, so that a server that takes neither ends there.
            renamed = name == facts.max_tokens_field and other[name] not in facts.dropped
            field = other[name] if renamed else facts.max_tokens_field
            self._facts[model] = replace(facts, max_tokens_field=field, dropped=dropped)


def _refused_parameter(fault: ProviderFault, body: Mapping[str, Any]) -> str | None:
    """The name of the parameter of the body that the endpoint will not take, if that is the trouble."""
    words = fault.message.lower()
    if fault.code not in _REFUSAL_CODES and not any(phrase in words for phrase in _REFUSALS):
        return None
    # Old servers name it in the text only; the longest name wins, as one may be a part of another.
    names = sorted(body, key=len, reverse=True)
    name = fault.param or next((name for name in names if f"'{name}'" in words or f" {name}" in words), "")
    name = name.partition(".")[0].partition("[")[0]
    return name if name in body and name not in _ESSENTIAL else None


def _is_unknown_model(fault: ProviderFault, error: ChatError, model: str) -> bool:
    if type(error) is not RequestError:
        return False
    if fault.code == "model_not_found":
        return True
    if error.status_code not in (400, 404):
        return False
    words = fault.message.lower()
    missing = any(
        phrase in words for phrase in ("not found", "does not exist", "not a valid model", "no such model")
    )
    return missing and ("model" in words or model.lower() in words)
