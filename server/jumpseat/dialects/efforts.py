"""Chooses the effort for a thinking level, and reads the accepted efforts from an endpoint's error.

Most dialects express thinking levels as efforts.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from jumpseat.chat import ThinkingLevel, WarningEvent

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The efforts of all dialects, lowest first; `none` turns thinking off."""

COMMON = ("none", "low", "medium", "high")
"""The efforts to assume for an unknown model."""

_SUPPORTED = re.compile(r"(?<!un)supported values?(.*)", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(rf"['\"`]({'|'.join(EFFORTS)})['\"`]")


def nearest_effort(level: ThinkingLevel, efforts: Collection[str]) -> str | None:
    """Return the accepted effort that is nearest to a level.

    For `off`, this is the lowest effort if the model cannot turn thinking off.

    Args:
        level: the requested level.
        efforts: the efforts that the model accepts.

    Returns:
        The effort; None if the model accepts no effort, or only `none` although the level is not `off`.
    """
    wanted = "none" if level == "off" else level
    if wanted in efforts:
        return wanted
    rank = EFFORTS.index
    known = [each for each in EFFORTS[1:] if each in efforts]
    return min(known, key=lambda each: abs(rank(each) - rank(wanted)), default=None)


def effort_warning(model: str, level: ThinkingLevel, effort: str | None) -> WarningEvent | None:
    """Create the warning for a level that the model does not support; None if no warning is needed.

    Args:
        model: the model's name.
        level: the requested level.
        effort: the result of `nearest_effort`.
    """
    if effort == ("none" if level == "off" else level):
        return None
    if level == "off":
        if effort is None:
            return None
        message = f"{model} cannot turn thinking off. The lowest level {effort!r} was requested."
    elif effort is None:
        return WarningEvent("thinking_dropped", f"Thinking was left out: {model} has no thinking levels.")
    else:
        message = f"{model} has no thinking level {level!r}; {effort!r} was requested."
    return WarningEvent("thinking_adjusted", message)


def efforts_after_refusal(message: str, sent: str, efforts: Collection[str]) -> Collection[str] | None:
    """Return the efforts that remain after an endpoint rejected one; None if the endpoint rejects them all.

    Args:
        message: the endpoint's error message, which may list the supported values.
        sent: the rejected effort.
        efforts: the efforts that the model was assumed to accept.
    """
    match = _SUPPORTED.search(message)
    listed = _QUOTED.findall(match[1]) if match else []
    if listed and sent not in listed:
        return listed
    # A message that quotes a rare effort is about that effort only, so the others remain.
    if sent not in ("low", "medium", "high") and sent in _QUOTED.findall(message):
        return [each for each in efforts if each != sent]
    return None
