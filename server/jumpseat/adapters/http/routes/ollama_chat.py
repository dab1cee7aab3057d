"""The route for Ollama's own API. Source: `tests/dialect_rows/ollama_chat.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.chat import ChatError, ChatRequest, WarningEvent
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.ollama_chat import OllamaChatDecoder, ServerFacts, encode, find_losses

_NO_THINKING = (
    "does not support thinking",  # The model does not think.
    "chatrequest.think",  # The server is too old for thinking levels; its error names the field.
    "think value",  # The server does not support this thinking level.
)
"""Phrases in errors that refuse `think`."""

_ACCEPTED = {"accept": "application/x-ndjson, application/json"}


class OllamaChatRoute(Route):
    """Ollama's `/api/chat` at one server."""

    path = "/api/chat"

    def __init__(self, provider: str, facts_of: Callable[[str], ServerFacts]) -> None:
        """
        Args:
            provider: the configured provider's id.
            facts_of: returns the server's current facts for a model.
        """
        super().__init__(provider)
        self._facts_of = facts_of

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without the parts that are known to be refused."""
        model = request.model
        facts = replace(self._facts_of(model), dropped=self._refused_parameters(model))
        body = encode(request, facts)
        warnings = find_losses(request, facts)
        if "think" in facts.dropped and request.thinking not in (None, "off"):
            message = f"The model {model} of {self._provider} does not think, so `thinking` was left out."
            warnings.append(WarningEvent("thinking_dropped", message))
        if "num_ctx" not in body["options"]:
            message = (
                f"{self._provider} does not report the context length of {model}, and may use as little as "
                f"4096 tokens. Set parameters.num_ctx under providers.{self._provider}."
            )
            warnings.append(WarningEvent("context_unknown", message))
        decoder = OllamaChatDecoder(self._provider, model)
        return Prepared(body, warnings, decoder, self._refine(request, body), _ACCEPTED)

    def _learn(
        self, request: ChatRequest, body: Mapping[str, Any], fault: ProviderFault, error: ChatError
    ) -> Replan | None:
        words = fault.message.lower()
        if error.status_code != 400:
            return None
        if "think" in body and any(each in words for each in _NO_THINKING):
            return self._remember(request.model, "think", error)
        if "does not support tools" in words:
            error.hint = "Send the chat without tools, or choose a model that supports them."
        return None
