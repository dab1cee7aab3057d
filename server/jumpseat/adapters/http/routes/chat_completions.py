"""The route for chat completions. Source: `tests/dialect_rows/chat_completions.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.adapters.http.refusals import find_refused_parameter
from jumpseat.chat import ChatError, ChatRequest
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.chat_completions import (
    ChatCompletionsDecoder,
    EndpointFacts,
    encode,
    find_reasoning_refusals,
)
from jumpseat.dialects.extras import Extras

# Dropping one of these would change the meaning of the request, so its refusal is an error.
_ESSENTIAL = frozenset({"model", "messages", "stream", "tools", "tool_choice", "response_format"})

_NINE_CHARACTERS = "must be a-z, a-z, 0-9, with a length of 9"
"""The text, in lower case, of errors that require another form of tool call ids.

Such errors are Mistral's error 3280, and vLLM's errors with Mistral templates.
"""

_WANTS_STRING = re.compile(
    r"expected a string|(must|should|has to) be a (valid )?string|str type expected|not a valid string"
)
"""Matches errors that refuse a list as the content of a message, such as DeepSeek's errors."""

TokenField = Literal["max_tokens", "max_completion_tokens"]

_OTHER_FIELD: Mapping[str, TokenField] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}


class ChatCompletionsRoute(Route):
    """Chat completions at one endpoint."""

    path = "/chat/completions"

    def __init__(
        self, provider: str, facts_of: Callable[[str], EndpointFacts], *, extras: Extras | None = None
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            facts_of: returns the endpoint's initial facts for a model.
            extras: reads the provider's additions to this dialect.
        """
        super().__init__(provider)
        self._initial_facts = facts_of
        self._extras = extras
        self._facts: dict[str, EndpointFacts] = {}
        """The facts that were learned from a refusal, by model."""

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without the parts that are known to be refused."""
        model = request.model
        facts = replace(self._facts_of(model), efforts=self._efforts_of(model))
        full_body = encode(request, facts)
        unsupported = find_reasoning_refusals(model, full_body)
        body, warnings = self._omit_refused(model, full_body, unsupported)
        decoder = ChatCompletionsDecoder(self._provider, model, self._extras)
        if "reasoning_effort" in body:
            warnings += self._effort_warnings(request)
        return Prepared(body, warnings, decoder, self._refine(request, body))

    def _facts_of(self, model: str) -> EndpointFacts:
        """Return the endpoint's current facts for a model."""
        return self._facts.get(model) or self._initial_facts(model)

    def _learn(
        self, request: ChatRequest, body: Mapping[str, Any], fault: ProviderFault, error: ChatError
    ) -> Replan | None:
        model = request.model
        refused = find_refused_parameter(fault, error, body, _ESSENTIAL)
        if refused is not None:
            name = refused.partition(".")[0]
            effort = body[name] if name == "reasoning_effort" else None
            if replan := self._learn_efforts(model, effort, fault, error):
                return replan
            facts = self._facts_of(model)
            # Rename the token limit only once. If the endpoint refuses the other name too, omit the limit.
            if name == facts.max_tokens_field and _OTHER_FIELD[name] not in self._refused_parameters(model):
                self._facts[model] = replace(facts, max_tokens_field=_OTHER_FIELD[name])
            return self._remember(model, name, error)
        reason = self._learn_message_form(model, fault, error)
        return None if reason is None else Replan(reason, error)

    def _learn_message_form(self, model: str, fault: ProviderFault, error: ChatError) -> str | None:
        """Remember the form of messages that the endpoint requires; return the replan's reason, or None."""
        if error.status_code not in (400, 422):
            return None
        words = fault.message.lower()
        facts = self._facts_of(model)
        is_about_content = "content" in words or "messages" in words
        if facts.takes_text_parts and is_about_content and _WANTS_STRING.search(words):
            self._facts[model] = replace(facts, takes_text_parts=False)
            return "text_parts"
        if _NINE_CHARACTERS in words and facts.tool_ids == "any":
            self._facts[model] = replace(facts, tool_ids="nine_characters")
            return "tool_call_ids"
        lacks_reasoning = "reasoning_content" in words and ("passed back" in words or "missing" in words)
        if lacks_reasoning and not facts.wants_reasoning_content:
            self._facts[model] = replace(facts, wants_reasoning_content=True)
            return "reasoning_content"
        return None
