"""OpenAI's Responses at one endpoint, and what it has shown to refuse.

Above it are adapters; below it the dialect. Source: the openai-responses reference.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.endpoint_refusals import refused_parameter, unknown_model
from jumpseat.adapters.routes.base import Prepared
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
)
from jumpseat.http import Refine

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

    def prepare(self, request: ChatRequest) -> Prepared:
        """Make a request of a turn, in the light of what was refused before."""
        with self._lock:
            refused_before = self._refused.get(request.model, frozenset())
        wished = encode(request, self._facts)
        refused = dict.fromkeys(refused_before, f"is refused by {self._provider} for {request.model}")
        for name, reason in refused_by_model(request.model, wished).items():
            refused.setdefault(name, f"is refused by {request.model}, which {reason}")
        body = without(wished, refused)
        lost = WarningEvent(
            "foreign_data_dropped",
            f"{self._provider} cannot read this conversation's encrypted reasoning; it was left out.",
        )
        return Prepared(
            body,
            list(_warnings(request, wished, refused)),
            ResponsesDecoder(self._provider, request.model),
            self._refine(request, body),
            {FOREIGN: lost},
        )

    def _refine(self, request: ChatRequest, body: Mapping[str, Any]) -> Refine:
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
