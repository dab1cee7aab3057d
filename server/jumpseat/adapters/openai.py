"""Any provider that speaks OpenAI's chat completions: OpenAI itself, and everybody's compatible server.

Owns the request and what an endpoint has shown to refuse. Above it is the provider registry; below it the
dialect and HTTP. `endpoint` has the credential, the headers and the list of models.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

from jumpseat.adapters.base import Replan
from jumpseat.adapters.endpoint import EndpointAdapter
from jumpseat.adapters.endpoint_refusals import refused_parameter, unknown_model
from jumpseat.chat import ChatError, ChatRequest, StreamEvent, WarningEvent
from jumpseat.config import ProviderConfig
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.chat_completions import (
    ChatCompletionsDecoder,
    EndpointFacts,
    encode,
    refused_while_reasoning,
    takes_only_max_completion_tokens,
)
from jumpseat.http import HttpCall, HttpClient, Refine, stream_events

# Without these a request is another request: refusing one of them is an answer, not an obstacle.
_ESSENTIAL = frozenset({"model", "messages", "stream", "tools", "tool_choice", "response_format"})

_NINE_CHARACTERS = "must be a-z, a-z, 0-9, with a length of 9"
"""How Mistral's error 3280, and vLLM with Mistral's templates, say which ids of tool calls they take."""

TokenField = Literal["max_tokens", "max_completion_tokens"]


class OpenAIAdapter(EndpointAdapter):
    """One endpoint. What it refused is remembered for each model, so that it is refused once only."""

    default_base_url = "https://api.openai.com/v1"

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        self._facts: dict[str, EndpointFacts] = {}

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
        refused = dict.fromkeys(facts.dropped, f"is refused by {self._provider} for {request.model}")
        for name, reason in refused_while_reasoning(request.model, wished).items():
            refused.setdefault(name, f"is refused by {request.model}, which {reason}")
        for name in sorted(wished.keys() & refused.keys()):
            code = "thinking_dropped" if name == "reasoning_effort" else "parameter_dropped"
            yield WarningEvent(code, f"The parameter {name!r} {refused[name]}; it was left out.")
        body = {name: value for name, value in wished.items() if name not in refused}
        call = HttpCall(
            "POST", f"{self._base_url}/chat/completions", self._headers(), body, self._config.timeout
        )
        decoder = ChatCompletionsDecoder(self._provider, request.model)
        refine = self._refine(request.model, body)
        answer = stream_events(self._http, call, decoder, provider=self._provider, refine=refine)
        async with aclosing(answer) as events:
            async for event in events:
                yield event

    def _facts_of(self, model: str) -> EndpointFacts:
        """What is known of the endpoint for a model; the caller holds the lock."""
        known = self._facts.get(model)
        if known is not None:
            return known
        host = urlsplit(self._base_url).hostname or ""
        modern = _is_under(host, "openai.com") or takes_only_max_completion_tokens(model)
        return EndpointFacts(
            provider=self._provider,
            max_tokens_field="max_completion_tokens" if modern else "max_tokens",
            parameters=self._config.parameters,
            tool_ids="nine_characters" if _is_under(host, "mistral.ai") else "any",
        )

    def _refine(self, model: str, body: Mapping[str, Any]) -> Refine:
        """What is better to raise than the general error of a refused request."""

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            if name := refused_parameter(fault, error, body, _ESSENTIAL):
                self._remember_refusal(model, name)
                return Replan(f"refused_parameter:{name}", error)
            if name := self._learned_of_messages(model, fault, error):
                return Replan(name, error)
            return unknown_model(fault, error, self._provider, model) or error

        return refine

    def _learned_of_messages(self, model: str, fault: ProviderFault, error: ChatError) -> str | None:
        """What the endpoint wants to be different in the messages, noted for the next attempt; else None."""
        if error.status_code not in (400, 422):
            return None
        words = fault.message.lower()
        with self._lock:
            facts = self._facts_of(model)
            if _NINE_CHARACTERS in words and facts.tool_ids == "any":
                self._facts[model] = replace(facts, tool_ids="nine_characters")
                return "tool_call_ids"
            lacks = "reasoning_content" in words and ("passed back" in words or "missing" in words)
            if lacks and not facts.wants_reasoning_content:
                self._facts[model] = replace(facts, wants_reasoning_content=True)
                return "reasoning_content"
        return None

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


def _is_under(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
