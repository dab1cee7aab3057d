"""The route for chat completions. Source: the openai-chat reference, "Request"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.refusals import refused_parameter, unknown_model
from jumpseat.chat import ChatError, ChatRequest
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.chat_completions import (
    ChatCompletionsDecoder,
    EndpointFacts,
    encode,
    refused_while_reasoning,
)
from jumpseat.dialects.parameters import dropped_parameter
from jumpseat.http import Refine

# Dropping one of these would change the meaning of the request, so its refusal is an error.
_ESSENTIAL = frozenset({"model", "messages", "stream", "tools", "tool_choice", "response_format"})

_NINE_CHARACTERS = "must be a-z, a-z, 0-9, with a length of 9"
"""In the text of Mistral's error 3280, and of vLLM with Mistral's templates: the form of tool call ids."""

TokenField = Literal["max_tokens", "max_completion_tokens"]


class ChatCompletionsRoute:
    """Chat completions at one endpoint."""

    path = "/chat/completions"

    def __init__(self, provider: str, facts_of: Callable[[str], EndpointFacts]) -> None:
        """
        Args:
            provider: the configured provider's id.
            facts_of: the initial facts of the endpoint for a model.
        """
        self._provider = provider
        self._known = facts_of
        self._facts: dict[str, EndpointFacts] = {}

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without the parameters that are known to be refused."""
        facts = self._facts_of(request.model)
        full_body = encode(request, replace(facts, dropped=()))
        refused = dict.fromkeys(facts.dropped, f"{self._provider} refuses it for {request.model}")
        for name, reason in refused_while_reasoning(request.model, full_body).items():
            refused.setdefault(name, f"{request.model} {reason}")
        names = sorted(full_body.keys() & refused.keys())
        warnings = [dropped_parameter(name, refused[name]) for name in names]
        body = {name: value for name, value in full_body.items() if name not in refused}
        decoder = ChatCompletionsDecoder(self._provider, request.model)
        return Prepared(body, warnings, decoder, self._refine(request.model, body))

    def _facts_of(self, model: str) -> EndpointFacts:
        """The current facts of the endpoint for a model."""
        return self._facts.get(model) or self._known(model)

    def _refine(self, model: str, body: Mapping[str, Any]) -> Refine:
        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            if refused := refused_parameter(fault, error, body, _ESSENTIAL):
                name = refused.partition(".")[0]
                self._remember_refusal(model, name)
                return Replan(f"refused_parameter:{name}", error)
            if reason := self._learn_message_form(model, fault, error):
                return Replan(reason, error)
            return unknown_model(fault, error, self._provider, model) or error

        return refine

    def _learn_message_form(self, model: str, fault: ProviderFault, error: ChatError) -> str | None:
        """Remember the form of messages that the endpoint requires; the reason of the replan, or None."""
        if error.status_code not in (400, 422):
            return None
        words = fault.message.lower()
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
        facts = self._facts_of(model)
        dropped = frozenset({*facts.dropped, name})
        # The refused name is dropped too, so that renaming ends for a server that refuses both.
        renamed = name == facts.max_tokens_field and other[name] not in facts.dropped
        field = other[name] if renamed else facts.max_tokens_field
        self._facts[model] = replace(facts, max_tokens_field=field, dropped=dropped)
