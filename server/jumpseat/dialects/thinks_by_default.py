"""Predicts whether a model thinks if the request does not set a thinking level."""

from __future__ import annotations

from jumpseat.dialects.reasoning_models import habit_of


def thinks_by_default(model: str, can_think: bool | None) -> bool:
    """Whether the model thinks without a level.

    Args:
        model: the model's name; a gateway's prefix (`openai/`) is ignored.
        can_think: whether it can think at all; None if unknown. Models of vendors without a table think by
            default if they can.
    """
    habit = habit_of(model.rpartition("/")[2])
    if habit is not None:
        return habit.by_default
    # This is imported late because it also imports the decoder, which a daemon without chats does not need.
    from jumpseat.dialects.anthropic_messages.models import family_and_version, rules_of

    if family_and_version(model) is not None:
        return rules_of(model).off in ("between_tools", "low_effort")
    return can_think is True
