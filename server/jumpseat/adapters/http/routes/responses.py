"""The route for OpenAI's Responses API. Source: `tests/dialect_rows/responses.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.adapters.http.refusals import find_refused_parameter
from jumpseat.chat import ChatError, ChatRequest, WarningEvent
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.extras import Extras
from jumpseat.dialects.parameters import dropped_parameter_warning
from jumpseat.dialects.responses import (
    ResponsesDecoder,
    ResponsesFacts,
    encode,
    find_known_refusals,
    find_unsupported,
    without_encrypted_content,
    without_unfollowed,
)

_FOREIGN_REASON = "foreign_encrypted_content"
_UNFOLLOWED_REASON = "unfollowed_reasoning"
"""Two reasons of replans. Reasoning is "unfollowed" if nothing follows it in its answer."""

# Dropping one of these would change the meaning of the request, so its refusal is an error.
_ESSENTIAL = frozenset({"model", "input", "instructions", "stream", "tools", "tool_choice", "text.format"})

_FOREIGN_PHRASES = (
    "encrypted content",
    "encrypted reasoning",
    "items are not persisted",
    "without its required",
)
"""Phrases in errors about replayed reasoning: unreadable, with an unknown id, or without a related item."""

_UNFOLLOWED_PHRASE = "without its required following item"
"""A phrase in errors that refuse reasoning at the end of an answer."""

_EFFORT = ("reasoning", "reasoning.effort")

# The encoder adds these parameters by itself. Omitting one that the user has not configured needs no warning.
_OWN_PARAMETERS = frozenset({"include", "prompt_cache_key", "reasoning.summary", "store", "stream_options"})


class ResponsesRoute(Route):
    """OpenAI's Responses API at one endpoint."""

    path = "/responses"

    def __init__(self, facts: ResponsesFacts, *, extras: Extras | None = None) -> None:
        """
        Args:
            facts: the endpoint's initial facts.
            extras: reads the provider's additions to this dialect.
        """
        super().__init__(facts.provider)
        self._facts = facts
        self._extras = extras
        self._refuses_unfollowed: set[str] = set()
        """The models that refuse reasoning at the end of an answer."""

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without the parts that are known to be refused."""
        model = request.model
        full_body = encode(request, replace(self._facts, efforts=self._efforts_of(model)))
        warnings: list[WarningEvent] = []
        takes_unfollowed = self._facts.takes_unfollowed and model not in self._refuses_unfollowed
        if not takes_unfollowed and (lost := _drop_unfollowed(full_body)):
            why = f"because {self._provider} rejects it"
            message = f"Reasoning at the end of an answer was left out ({lost} items) {why}."
            warnings.append(WarningEvent("unfinished_dropped", message))
        warnings += [
            dropped_parameter_warning(name, f"{model} {reason}")
            for name, reason in find_unsupported(request).items()
        ]
        silent = _OWN_PARAMETERS - {*self._facts.parameters, *request.settings}
        body, refused = self._omit_refused(
            model, full_body, find_known_refusals(model, full_body), silent=silent
        )
        decoder = ResponsesDecoder(self._provider, model, self._extras)
        if "reasoning" in body:
            refused += self._effort_warnings(request)
        return Prepared(body, [*warnings, *refused], decoder, self._refine(request, body))

    def _learn(
        self, request: ChatRequest, body: Mapping[str, Any], fault: ProviderFault, error: ChatError
    ) -> Replan | None:
        if name := _find_refused_name(fault, error, body):
            effort = body["reasoning"].get("effort") if name in _EFFORT else None
            replan = self._learn_efforts(request.model, effort, fault, error)
            return replan or self._remember(request.model, name, error)
        if self._learn_unfollowed(request.model, fault, error, body):
            return Replan(_UNFOLLOWED_REASON, error)
        if not _is_about_encrypted_content(fault, error):
            return None
        changed = without_encrypted_content(request)
        if changed is None:
            return None
        why = f"because {self._provider} cannot read it"
        message = f"The encrypted reasoning of the conversation was left out {why}."
        return Replan(_FOREIGN_REASON, error, changed, WarningEvent("foreign_data_dropped", message))

    def _learn_unfollowed(
        self, model: str, fault: ProviderFault, error: ChatError, body: Mapping[str, Any]
    ) -> bool:
        """Return whether the model refuses reasoning at the end of an answer. If so, remember that."""
        if error.status_code != 400 or _UNFOLLOWED_PHRASE not in fault.message:
            return False
        if without_unfollowed(body["input"]) == body["input"]:
            return False
        self._refuses_unfollowed.add(model)
        return True


def _drop_unfollowed(body: dict[str, Any]) -> int:
    """Remove reasoning at the end of answers from the body; return the number of removed items."""
    before = len(body["input"])
    body["input"] = without_unfollowed(body["input"])
    return before - len(body["input"])


def _find_refused_name(fault: ProviderFault, error: ChatError, body: Mapping[str, Any]) -> str | None:
    """Return the parameter that the endpoint refuses (`name` or `object.member`); None for other causes."""
    words = fault.message.lower()
    if error.status_code == 400 and "include" in body and "encrypted content is not supported" in words:
        return "include"
    return find_refused_parameter(fault, error, body, _ESSENTIAL)


def _is_about_encrypted_content(fault: ProviderFault, error: ChatError) -> bool:
    """Whether the endpoint refuses replayed reasoning, or items that belong to it."""
    if error.status_code not in (400, 404, 422):
        return False
    words = fault.words.lower().replace("_", " ")
    return any(phrase in words for phrase in _FOREIGN_PHRASES)
