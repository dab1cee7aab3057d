"""Lists the parameters that OpenAI's reasoning models reject, and predicts which models think by default.

For models that are not in `HABITS`, the adapter learns from the endpoint's errors. Source:
`tests/dialect_rows/chat_completions.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jumpseat.dialects.efforts import COMMON


@dataclass(frozen=True, slots=True)
class ReasoningHabit:
    """The conditions under which a model reasons."""

    by_default: bool
    """Whether the model reasons if the request does not set an effort."""

    may_be_off: bool
    """Whether the model accepts the effort `none`."""

    can_reason: bool = True
    """Whether the model can reason at all. If not, it rejects every effort."""

    efforts: Sequence[str] = COMMON
    """The efforts that the model accepts."""


_LEVELS = ("low", "medium", "high")
_MORE = (*_LEVELS, "xhigh")
_PRO = ("medium", "high", "xhigh")


def _default_on(*efforts: str) -> ReasoningHabit:
    return ReasoningHabit(True, True, efforts=("none", *efforts))


def _default_off(*efforts: str) -> ReasoningHabit:
    return ReasoningHabit(False, True, efforts=("none", *efforts))


def _always(*efforts: str) -> ReasoningHabit:
    return ReasoningHabit(True, False, efforts=efforts)


_NEVER = ReasoningHabit(False, True, can_reason=False)

HABITS: tuple[tuple[str, ReasoningHabit], ...] = (
    ("gpt-5.6", _default_on(*_MORE, "max")),
    ("gpt-5.5-pro", _always(*_PRO)),
    ("gpt-5.5", _default_on(*_MORE)),
    ("gpt-5.4-pro", _always(*_PRO)),
    ("gpt-5.4", _default_off(*_MORE)),
    ("gpt-5.3-chat", _always(*_LEVELS)),
    ("gpt-5.3", _default_off(*_MORE)),
    ("gpt-5.2-pro", _always(*_PRO)),
    ("gpt-5.2-chat", _always(*_LEVELS)),
    ("gpt-5.2", _default_off(*_MORE)),
    ("gpt-5.1-codex", _always(*_LEVELS)),
    ("gpt-5.1-chat", _always(*_LEVELS)),
    ("gpt-5.1", _default_off(*_LEVELS)),
    ("gpt-5-chat", _NEVER),
    ("gpt-5", _always("minimal", *_LEVELS)),
    *((f"o{number}", _always(*_LEVELS)) for number in range(1, 10)),
)
"""The habits by prefix of the model name; the first match wins."""

SAMPLING = (
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
)
"""The parameters that cause an error 400 while reasoning is on."""


@lru_cache(maxsize=64)
def habit_of(model: str) -> ReasoningHabit | None:
    """Return the habit of a model, or None if it is unknown."""
    for prefix, habit in HABITS:
        # The prefix `o1` matches `o1-mini`, but not `o1x`.
        if re.match(re.escape(prefix) + r"(?![a-z0-9])", model):
            return habit
    return None


def thinks_by_default(model: str, can_think: bool | None) -> bool:
    """Whether the model thinks if the request does not set a level.

    Args:
        model: the model's name; a gateway's prefix (`openai/`) is ignored.
        can_think: whether the model can think at all; None if unknown. Used only for models that are
            neither in `HABITS` nor Claude models.
    """
    habit = habit_of(model.rpartition("/")[2])
    if habit is not None:
        return habit.by_default
    # This import is deferred: it also imports the decoder, which a daemon without chats does not need.
    from jumpseat.dialects.anthropic_messages.models import family_and_version, rules_of

    if family_and_version(model) is not None:
        return rules_of(model).off in ("between_tools", "low_effort")
    return can_think is True


def efforts_of(model: str) -> Sequence[str]:
    """Return the efforts that a model accepts."""
    habit = habit_of(model)
    return COMMON if habit is None else habit.efforts


def takes_only_max_completion_tokens(model: str) -> bool:
    """Whether the model is known to reject the deprecated `max_tokens`."""
    habit = habit_of(model)
    return habit is not None and habit.can_reason


def find_reasoning_refusals(model: str, body: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a body that the model is known to reject, each with a reason.

    Args:
        model: the model's name in the request.
        body: the complete body.

    Returns:
        The reasons by parameter. Each is the predicate of a sentence about the model, such as "does not
        reason".
    """
    habit = habit_of(model)
    if habit is None:
        return {}
    effort = body.get("reasoning_effort")
    if not habit.can_reason:
        return {} if effort is None else {"reasoning_effort": "does not reason"}
    refused: dict[str, str] = {}
    if effort == "none" and not habit.may_be_off:
        refused["reasoning_effort"] = "cannot turn reasoning off"
        effort = None
    if effort == "minimal" and model.startswith("gpt-5.6"):
        refused["reasoning_effort"] = "does not accept the effort 'minimal'"
        effort = None
    if habit.by_default if effort is None else effort != "none":
        names = SAMPLING if model.startswith("o1") else (*SAMPLING, "stop")
        refused |= {name: "does not accept it while it reasons" for name in names if name in body}
    return refused
