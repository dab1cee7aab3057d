"""Any provider that speaks OpenAI's Responses API: OpenAI itself, and compatible servers.

Owns the request and what an endpoint has shown to refuse. Above it is the provider registry; below it the
dialect and HTTP. `endpoint` has the credential, the headers and the list of models.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.endpoint import EndpointAdapter
from jumpseat.adapters.endpoint_refusals import refused_parameter, unknown_model
from jumpseat.chat import ChatError, ChatRequest, StreamEvent, WarningEvent
from jumpseat.config import ProviderConfig
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.responses import (
    EndpointFacts,
    ResponsesDecoder,
    encode,
    refused_by_model,
    unsayable,
    without,
    without_encrypted_content,
)
from jumpseat.http import HttpCall, HttpClient, Refine, stream_events

FOREIGN = "foreign_encrypted_content"

# Without these a request is another request: refusing one of them is an answer, not an obstacle.
_ESSENTIAL = frozenset(
    {"model", "input", "instructions", "stream", "tools", "tool_choice", "text", "text.format"}
)

_NOT_ITS_OWN = (
    "encrypted content",
    "encrypted reasoning",
    "items are not persisted",
    "without its required",
)
"""In the refusals of reasoning that is sent back: unreadable, unknown by its id, or torn from its item."""

# What nobody has asked for, so that nobody misses it.
_OWN_WISHES = frozenset({"include", "prompt_cache_key", "reasoning.summary", "store", "stream_options"})


class OpenAIResponsesAdapter(EndpointAdapter):
    """One endpoint. What it refused is remembered for each model, so that it is refused once only."""

    default_base_url = "https://api.openai.com/v1"

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: its table; `base_url` ends before `/responses`.
            http: the shared client.
        """
        super().__init__(provider, config, http)
        self._refused: dict[str, frozenset[str]] = {}

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt.

        Raises:
            ChatError: as `stream_events` raises it; `RequestError` names an unknown model.
            Replan: the endpoint refuses a parameter, which the next attempt will leave out, or encrypted
                reasoning, without which the conversation can go on.
            ConfigError: the credential cannot be had.
        """
        with self._lock:
            refused_before = self._refused.get(request.model, frozenset())
        wished = encode(request, self._facts)
        refused = dict.fromkeys(refused_before, f"is refused by {self._provider} for {request.model}")
        for name, reason in refused_by_model(request.model, wished).items():
            refused.setdefault(name, f"is refused by {request.model}, which {reason}")
        body = without(wished, refused)
        for warning in _warnings(request, wished, refused):
            yield warning
        call = HttpCall("POST", f"{self._base_url}/responses", self._headers(), body, self._config.timeout)
        decoder = ResponsesDecoder(self._provider, request.model)
        answer = stream_events(
            self._http, call, decoder, provider=self._provider, refine=self._refine(request, body)
        )
        try:
            async with aclosing(answer) as events:
                async for event in events:
                    yield event
        except Replan as replan:
            if replan.reason == FOREIGN:
                yield WarningEvent(
                    "foreign_data_dropped",
                    f"{self._provider} cannot read this conversation's encrypted reasoning; it was left out.",
                )
            raise

    @property
    def _facts(self) -> EndpointFacts:
        return EndpointFacts(
            provider=self._provider,
            obfuscates=self._base_url == self.default_base_url,
            parameters=self._config.parameters,
        )

    def _refine(self, request: ChatRequest, body: Mapping[str, Any]) -> Refine:
        """What is better to raise than the general error of a refused request."""

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            if name := _refused_name(fault, error, body):
                with self._lock:
                    known = self._refused.get(request.model, frozenset())
                    self._refused[request.model] = known | {name}
                return Replan(f"refused_parameter:{name}", error)
            if _is_about_encrypted_content(fault, error):
                changed = without_encrypted_content(request)
                if changed is not None:
                    return Replan(FOREIGN, error, changed)
            return unknown_model(fault, error, self._provider, request.model) or error

        return refine


def _refused_name(fault: ProviderFault, error: ChatError, body: Mapping[str, Any]) -> str | None:
    """The parameter that the endpoint will not take; dotted where it is a member of one."""
    asked = "include" in body and error.status_code == 400
    if asked and "encrypted content is not supported" in fault.message.lower():
        return "include"
    name = refused_parameter(fault, error, body, ())
    if name is None:
        return None
    outer, dot, rest = (fault.param or "").partition(".")
    inner = rest.partition(".")[0].partition("[")[0]
    value = body.get(outer)
    if dot and isinstance(value, Mapping) and inner in value:
        name = f"{outer}.{inner}"
    return name if name not in _ESSENTIAL else None


def _is_about_encrypted_content(fault: ProviderFault, error: ChatError) -> bool:
    """Another organisation's or model's content, a server that takes none, or items that belong to it."""
    if error.status_code not in (400, 404, 422):
        return False
    words = fault.words.lower().replace("_", " ")
    return any(phrase in words for phrase in _NOT_ITS_OWN)


def _warnings(
    request: ChatRequest, wished: Mapping[str, Any], refused: Mapping[str, str]
) -> Iterator[WarningEvent]:
    """What the user asked for and does not get."""
    for name, reason in unsayable(request).items():
        yield WarningEvent(
            "parameter_dropped", f"The parameter {name!r} was left out: {request.model} {reason}."
        )
    for name in sorted(refused.keys() - _OWN_WISHES):
        if without(wished, [name]) != wished:
            code = "thinking_dropped" if name.startswith("reasoning") else "parameter_dropped"
            yield WarningEvent(code, f"The parameter {name!r} {refused[name]}; it was left out.")
