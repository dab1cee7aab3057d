"""OpenAI's Responses at one endpoint, and what it has shown to refuse.

Above it are adapters; below it the dialect. Source: the openai-responses reference.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared
from jumpseat.adapters.http.refusals import refused_parameter, unknown_model
from jumpseat.chat import ChatError, ChatRequest, WarningEvent
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.responses import (
    EndpointFacts,
    ResponsesDecoder,
    encode,
    refused_by_model,
    unsayable,
    without,
    without_encrypted_content,
    without_unfollowed,
)
from jumpseat.http import Refine

FOREIGN = "foreign_encrypted_content"
UNFOLLOWED = "unfollowed_reasoning"

# Without these a request is another request: refusing one of them is an answer, not an obstacle.
_ESSENTIAL = frozenset({"model", "input", "instructions", "stream", "tools", "tool_choice", "text.format"})

_NOT_ITS_OWN = (
    "encrypted content",
    "encrypted reasoning",
    "items are not persisted",
    "without its required",
)
"""In the refusals of reasoning that is sent back: unreadable, unknown by its id, or torn from its item."""

_UNFOLLOWED = "without its required following item"
"""In the refusals of reasoning that comes last in an answer."""

# What nobody has asked for, so that nobody misses it.
_OWN_WISHES = frozenset({"include", "prompt_cache_key", "reasoning.summary", "store", "stream_options"})


class ResponsesRoute:
    """One endpoint's Responses."""

    path = "/responses"

    def __init__(self, facts: EndpointFacts) -> None:
        """
        Args:
            facts: what is known of the endpoint before it was asked.
        """
        self._facts = facts
        self._provider = facts.provider
        self._lock = threading.Lock()
        self._refused: dict[str, frozenset[str]] = {}
        self._refuses_unfollowed: set[str] = set()

    def prepare(self, request: ChatRequest) -> Prepared:
        """Make a request of a turn, in the light of what was refused before."""
        with self._lock:
            refused_before = self._refused.get(request.model, frozenset())
            takes_unfollowed = self._facts.takes_unfollowed and request.model not in self._refuses_unfollowed
        wished = encode(request, self._facts)
        warnings: list[WarningEvent] = []
        if not takes_unfollowed and (lost := _drop_unfollowed(wished)):
            told = (
                f"{self._provider} refuses reasoning that comes last in an answer; it was left out ({lost})."
            )
            warnings.append(WarningEvent("unfinished_dropped", told))
        refused = dict.fromkeys(refused_before, f"is refused by {self._provider} for {request.model}")
        for name, reason in refused_by_model(request.model, wished).items():
            refused.setdefault(name, f"is refused by {request.model}, which {reason}")
        body = without(wished, refused)
        warnings += _warnings(request, wished, refused)
        foreign = WarningEvent(
            "foreign_data_dropped",
            f"{self._provider} cannot read this conversation's encrypted reasoning; it was left out.",
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
                with self._lock:
                    known = self._refused.get(request.model, frozenset())
                    self._refused[request.model] = known | {name}
                return Replan(f"refused_parameter:{name}", error)
            if self._learned_of_unfollowed(request.model, fault, error, body):
                return Replan(UNFOLLOWED, error)
            if _is_about_encrypted_content(fault, error):
                changed = without_encrypted_content(request)
                if changed is not None:
                    return Replan(FOREIGN, error, changed)
            return unknown_model(fault, error, self._provider, request.model) or error

        return refine

    def _learned_of_unfollowed(
        self, model: str, fault: ProviderFault, error: ChatError, body: Mapping[str, Any]
    ) -> bool:
        """Whether the refusal is about reasoning at the end of an answer, which is now left out."""
        if error.status_code != 400 or _UNFOLLOWED not in fault.message:
            return False
        if without_unfollowed(body["input"]) == body["input"]:
            return False
        with self._lock:
            self._refuses_unfollowed.add(model)
        return True


def _drop_unfollowed(body: dict[str, Any]) -> int:
    """Take reasoning that comes last in an answer out of the body; how many items that were."""
    before = len(body["input"])
    body["input"] = without_unfollowed(body["input"])
    return before - len(body["input"])


def _refused_name(fault: ProviderFault, error: ChatError, body: Mapping[str, Any]) -> str | None:
    """The parameter that the endpoint will not take; dotted where it is a member of one."""
    asked = "include" in body and error.status_code == 400
    if asked and "encrypted content is not supported" in fault.message.lower():
        return "include"
    return refused_parameter(fault, error, body, _ESSENTIAL)


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
