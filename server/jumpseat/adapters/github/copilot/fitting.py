"""A request made to fit what the account's list says of a model, with a warning for what had to go.

The engine does the same with facts that it has before a turn; at a daemon's first chat there is no list yet.
Pure functions. Above it is the `copilot` adapter.
"""

from __future__ import annotations

from dataclasses import replace

from jumpseat.chat import ChatRequest, ModelInfo, ThinkingLevel, WarningEvent

_RANK = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def fitted(request: ChatRequest, info: ModelInfo | None) -> tuple[ChatRequest, list[WarningEvent]]:
    """The request as the model can take it.

    Args:
        request: the turn.
        info: the model's row; None where no list tells of it.
    """
    warnings: list[WarningEvent] = []
    if info is None:
        return request, warnings
    if info.max_output_tokens is not None and request.max_tokens > info.max_output_tokens:
        request = replace(request, max_tokens=info.max_output_tokens)
    if request.stream and not info.supports_streaming:
        request = replace(request, stream=False)
    if request.thinking is not None:
        level = _nearest(request.thinking, info)
        if level != request.thinking:
            request = replace(request, thinking=level)
            became = f"{level!r} was asked for instead" if level else "it was left out"
            told = f"{info.model} has no thinking level of this kind; {became}."
            warnings.append(WarningEvent("thinking_dropped", told))
    return request, warnings


def _nearest(wanted: ThinkingLevel, info: ModelInfo) -> ThinkingLevel | None:
    """The level to ask for; None where the model takes none that comes near."""
    levels = info.thinking_levels
    if levels is None:
        return None if info.supports_thinking is False else wanted
    if wanted == "off":
        return "off" if "none" in levels else None
    known: list[ThinkingLevel] = [each for each in ("low", "medium", "high") if each in levels]
    if wanted in known or not known:
        return wanted if wanted in known else None
    return min(known, key=lambda each: abs(_RANK.index(each) - _RANK.index(wanted)))
