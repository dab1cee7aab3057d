"""Chat completions at one endpoint, and what it has shown to refuse or to want.

Above it are adapters; below it the dialect. Source: the openai-chat reference, "Request".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.refusals import refused_parameter, unknown_model
from jumpseat.chat import ChatError, ChatRequest, WarningEvent
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.chat_completions import (
    ChatCompletionsDecoder,
    EndpointFacts,
    encode,
    refused_while_reasoning,
)
from jumpseat.http import Refine

# Without these a request is another request: refusing one of them is an answer, not an obstacle.
_ESSENTIAL = frozenset({"model", "messages", "stream", "tools", "tool_choice", "response_format"})

_NINE_CHARACTERS = "must be a-z, a-z, 0-9, with a length of 9"
"""How Mistral's error 3280, and vLLM with Mistral's templates, say which ids of tool calls they take."""

TokenField = Literal["max_tokens", "max_completion_tokens"]


class ChatCompletionsRoute:
    """One endpoint's chat completions."""

    path = "/chat/completions"

    def __init__(self, provider: str, facts_of: Callable[[str], EndpointFacts]) -> None:
        """
        Args:
            provider: the configured provider's id.
            facts_of: what is known of the endpoint for a model before it was asked.
        """
        self._provider = provider
        self._known = facts_of
        self._lock = threading.Lock()
        self._facts: dict[str, EndpointFacts] = {}

    def prepare(self, request: ChatRequest) -> Prepared:
        """Make a request of a turn, in the light of what was refused before."""
        with self._lock:
            facts = self._facts_of(request.model)
        wished = encode(request, replace(facts, dropped=()))
        refused = dict.fromkeys(facts.dropped, f"is refused by {self._provider} for {request.model}")
        for name, reason in refused_while_reasoning(request.model, wished).items():
            refused.setdefault(name, f"is refused by {request.model}, which {reason}")
        warnings = []
        for name in sorted(wished.keys() & refused.keys()):
            code = "thinking_dropped" if name == "reasoning_effort" else "parameter_dropped"
            told = f"The parameter {name!r} {refused[name]}; it was left out."
            warnings.append(WarningEvent(code, told))
        body = {name: value for name, value in wished.items() if name not in refused}
        decoder = ChatCompletionsDecoder(self._provider, request.model)
        return Prepared(body, warnings, decoder, self._refine(request.model, body))

    def _facts_of(self, model: str) -> EndpointFacts:
        """What is known of the endpoint for a model by now; the caller holds the lock."""
        return self._facts.get(model) or self._known(model)

    def _refine(self, model: str, body: Mapping[str, Any]) -> Refine:
        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            if refused := refused_parameter(fault, error, body, _ESSENTIAL):
                name = refused.partition(".")[0]
                self._remember_refusal(model, name)
                return Replan(f"refused_parameter:{name}", error)
            if reason := self._learned_of_messages(model, fault, error):
                return Replan(reason, error)
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
