"""The route for OpenAI's Responses. Source: the openai-responses reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.refusals import refused_parameter, unknown_model
from jumpseat.chat import ChatError, ChatRequest, WarningEvent
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.parameters import dropped_parameter
from jumpseat.dialects.responses import (
    ResponsesDecoder,
    ResponsesFacts,
    encode,
    refused_by_model,
    unsupported,
    without,
    without_encrypted_content,
    without_unfollowed,
)
from jumpseat.http import Refine

FOREIGN = "foreign_encrypted_content"
UNFOLLOWED = "unfollowed_reasoning"

# Dropping one of these would change the meaning of the request, so its refusal is an error.
_ESSENTIAL = frozenset({"model", "input", "instructions", "stream", "tools", "tool_choice", "text.format"})

_NOT_ITS_OWN = (
    "encrypted content",
    "encrypted reasoning",
    "items are not persisted",
    "without its required",
)
"""In refusals of replayed reasoning: unreadable, unknown by its id, or without its item."""

_UNFOLLOWED = "without its required following item"
"""In refusals of reasoning at the end of an answer."""

# Parameters that the encoder adds by itself: dropping one causes no warning.
_OWN_PARAMETERS = frozenset({"include", "prompt_cache_key", "reasoning.summary", "store", "stream_options"})


class ResponsesRoute:
    """Responses at one endpoint."""

    path = "/responses"

    def __init__(self, facts: ResponsesFacts) -> None:
        """
        Args:
            facts: the initial facts of the endpoint.
        """
        self._facts = facts
        self._provider = facts.provider
        self._refused: dict[str, frozenset[str]] = {}
        self._refuses_unfollowed: set[str] = set()

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request without what is known to be refused."""
        refused_before = self._refused.get(request.model, frozenset())
        takes_unfollowed = self._facts.takes_unfollowed and request.model not in self._refuses_unfollowed
        full_body = encode(request, self._facts)
        warnings: list[WarningEvent] = []
        if not takes_unfollowed and (lost := _drop_unfollowed(full_body)):
            message = (
                f"Reasoning at the end of an answer was left out ({lost} items): {self._provider} refuses it."
            )
            warnings.append(WarningEvent("unfinished_dropped", message))
        refused = dict.fromkeys(refused_before, f"{self._provider} refuses it for {request.model}")
        for name, reason in refused_by_model(request.model, full_body).items():
            refused.setdefault(name, f"{request.model} {reason}")
        body = without(full_body, refused)
        warnings += _warnings(request, full_body, refused)
        foreign = WarningEvent(
            "foreign_data_dropped",
            f"The encrypted reasoning of the conversation was left out: {self._provider} cannot read it.",
        )
        return Prepared(
            body,
            warnings,
            ResponsesDecoder(self._provider, request.model),
            self._refine(request, body),
            {FOREIGN: foreign},
        )

    def _refine(self, request: ChatRequest, body: Mapping[str, Any]) -> Refine:
        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            if name := _refused_name(fault, error, body):
                known = self._refused.get(request.model, frozenset())
                self._refused[request.model] = known | {name}
                return Replan(f"refused_parameter:{name}", error)
            if self._learn_unfollowed(request.model, fault, error, body):
                return Replan(UNFOLLOWED, error)
            if _is_about_encrypted_content(fault, error):
                changed = without_encrypted_content(request)
                if changed is not None:
                    return Replan(FOREIGN, error, changed)
            return unknown_model(fault, error, self._provider, request.model) or error

        return refine

    def _learn_unfollowed(
        self, model: str, fault: ProviderFault, error: ChatError, body: Mapping[str, Any]
    ) -> bool:
        """Remember that the model refuses reasoning at the end of an answer; False for another cause."""
        if error.status_code != 400 or _UNFOLLOWED not in fault.message:
            return False
        if without_unfollowed(body["input"]) == body["input"]:
            return False
        self._refuses_unfollowed.add(model)
        return True


def _drop_unfollowed(body: dict[str, Any]) -> int:
    """Remove reasoning at the end of answers from the body; returns the number of items."""
    before = len(body["input"])
    body["input"] = without_unfollowed(body["input"])
    return before - len(body["input"])


def _refused_name(fault: ProviderFault, error: ChatError, body: Mapping[str, Any]) -> str | None:
    """The parameter that the endpoint refuses, dotted for a member; None if that is not the cause."""
    may_be_include = "include" in body and error.status_code == 400
    if may_be_include and "encrypted content is not supported" in fault.message.lower():
        return "include"
    return refused_parameter(fault, error, body, _ESSENTIAL)


def _is_about_encrypted_content(fault: ProviderFault, error: ChatError) -> bool:
    """Whether the endpoint refuses replayed reasoning, or items that belong to it."""
    if error.status_code not in (400, 404, 422):
        return False
    words = fault.words.lower().replace("_", " ")
    return any(phrase in words for phrase in _NOT_ITS_OWN)


def _warnings(
    request: ChatRequest, full_body: Mapping[str, Any], refused: Mapping[str, str]
) -> Iterator[WarningEvent]:
    for name, reason in unsupported(request).items():
        yield dropped_parameter(name, f"{request.model} {reason}")
    for name in sorted(refused.keys() - _OWN_PARAMETERS):
        if without(full_body, [name]) != full_body:
            yield dropped_parameter(name, refused[name])
