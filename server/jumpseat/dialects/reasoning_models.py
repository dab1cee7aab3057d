"""What OpenAI's reasoning models refuse, by the names of the models.

Owns the table of names and what follows from it for a body. Source: the openai-chat reference, "Request".
A name that the table does not have is left alone: what its endpoint refuses is learned from the refusal.
Above it is the adapter, which tells the user what was left out; it does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class ReasoningHabit:
    """Whether a model reasons when nothing is said, and whether it can be told not to."""

    by_default: bool
    may_be_off: bool
    ever: bool = True
    """False for a model of the family that never reasons, and knows no effort."""


_ON, _OFF = ReasoningHabit(True, True), ReasoningHabit(False, True)
_ALWAYS, _NEVER = ReasoningHabit(True, False), ReasoningHabit(False, True, ever=False)

HABITS: tuple[tuple[str, ReasoningHabit], ...] = (
    ("gpt-5.6", _ON),
    ("gpt-5.5-pro", _ALWAYS),
    ("gpt-5.5", _ON),
    ("gpt-5.4-pro", _ALWAYS),
    ("gpt-5.4", _OFF),
    ("gpt-5.3-chat", _ALWAYS),
    ("gpt-5.3", _OFF),
    ("gpt-5.2-pro", _ALWAYS),
    ("gpt-5.2-chat", _ALWAYS),
    ("gpt-5.2", _OFF),
    ("gpt-5.1-codex", _ALWAYS),
    ("gpt-5.1-chat", _ALWAYS),
    ("gpt-5.1", _OFF),
    ("gpt-5-chat", _NEVER),
    ("gpt-5", _ALWAYS),
    *((f"o{number}", _ALWAYS) for number in range(1, 10)),
)
"""By the beginning of the name; the first match wins."""

SAMPLING = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
)
"""Parameters that are an error 400 while reasoning is on."""


@lru_cache(maxsize=64)
def habit_of(model: str) -> ReasoningHabit | None:
    """The table's row for a model; None where it has none.

    A name of the family ends where a digit or letter does not go on: `o1-mini` is an `o1`, `o1x` is not.
    """
    for prefix, habit in HABITS:
        if re.match(re.escape(prefix) + r"(?![a-z0-9])", model):
            return habit
    return None


def takes_only_max_completion_tokens(model: str) -> bool:
    """Whether the model is known to refuse the old `max_tokens`, wherever it is served by its bare name."""
    habit = habit_of(model)
    return habit is not None and habit.ever


def refused_while_reasoning(model: str, body: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a body that the model is known to refuse, each with the reason as half a sentence.

    Args:
        model: the model's name, as it goes into the request.
        body: the request, whole.
    """
    habit = habit_of(model)
    if habit is None:
        return {}
    effort = body.get("reasoning_effort")
    if not habit.ever:
        return {} if effort is None else {"reasoning_effort": "does not reason"}
    refused: dict[str, str] = {}
    if effort == "none" and not habit.may_be_off:
        refused["reasoning_effort"] = "cannot be told not to reason"
        effort = None
    if effort == "minimal" and model.startswith("gpt-5.6"):
        refused["reasoning_effort"] = "does not know the effort 'minimal'"
        effort = None
    if habit.by_default if effort is None else effort != "none":
        unwanted = SAMPLING if model.startswith("o1") else (*SAMPLING, "stop")
        refused |= {name: "does not take it while it reasons" for name in unwanted if name in body}
    return refused
