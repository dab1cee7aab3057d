"""Completes a text at one place, with retries as in a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jumpseat.chat import (
    ChatRequest,
    Fold,
    Infill,
    InfillUnsupportedError,
    Response,
    UnknownModelError,
)
from jumpseat.engine.attempts import Attempts
from jumpseat.engine.plan import Plan
from jumpseat.engine.retry import DEFAULT_MAX_RETRIES, RetryBudget
from jumpseat.engine.turn_request import Sink
from jumpseat.providers import Registry, ResolvedModel, resolve_model

Extent: TypeAlias = Literal["line", "block"]

MAX_TOKENS = {"line": 64, "block": 256}
"""The default limits in tokens, by extent. Users rarely accept longer texts, which also take longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """A client's request for a completion. The model's name is not resolved yet."""

    infill: Infill
    model: str | None = None
    extent: Extent = "block"
    max_tokens: int | None = None
    stop_sequences: Sequence[str] = ()


async def run_completion(registry: Registry, wanted: CompletionRequest) -> tuple[Response, str]:
    """Return the response of the model, and the text to insert at the place.

    Raises:
        InfillUnsupportedError: the model or its provider cannot fill in a text.
        ChatError: the request failed.
    """
    target = await resolve_model(registry, wanted.model)
    info = target.info
    try:
        if not target.adapter.traits.infills or (info is not None and info.supports_infill is False):
            raise InfillUnsupportedError.of(target.provider, target.model)
        planned = _plan(wanted, target)
        response = await _run_attempts(registry, target, planned)
    except InfillUnsupportedError as error:
        error.hint = error.hint or _suggest_models(registry)
        raise
    except UnknownModelError as error:
        target.add_nearest_models(error)
        raise
    text = response.text
    for stop in planned.request.stop_sequences:  # Not every provider stops at a stop sequence.
        text = text.partition(stop)[0]
    return response, text.removesuffix("\r") if wanted.extent == "line" else text


def _plan(wanted: CompletionRequest, target: ResolvedModel) -> Plan:
    line_endings = ("\n",) if wanted.extent == "line" else ()
    request = ChatRequest(
        messages=(),
        model=target.model,
        max_tokens=wanted.max_tokens or MAX_TOKENS[wanted.extent],
        stop_sequences=(*wanted.stop_sequences, *line_endings),
        infill=wanted.infill,
    )
    return Plan(request, ())


async def _run_attempts(registry: Registry, target: ResolvedModel, planned: Plan) -> Response:
    retries = registry.table(target.provider).max_retries
    budget = RetryBudget(DEFAULT_MAX_RETRIES if retries is None else retries)
    fold = Fold(target.provider, target.model)
    await Attempts(target, planned, budget, fold, Sink(), None, None).run()
    return fold.response()


def _suggest_models(registry: Registry) -> str:
    """Return a hint. If the lists fetched so far contain a model that can fill in text, the hint names it."""
    lists = [registry.known_models(provider) or {} for provider in registry.ids]
    able = [row.info.id for rows in lists for row in rows.values() if row.info.supports_infill]
    such = f", such as {able[0]}" if able else ""
    return f"Choose a model that was trained to fill in{such}."
