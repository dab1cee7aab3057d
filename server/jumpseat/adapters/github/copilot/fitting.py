"""Adapts a request to its model's row in the account's list, with a warning for what is dropped.

The engine does the same before a turn, but at a daemon's first chat there is no list yet.
"""

from __future__ import annotations

from dataclasses import replace

from jumpseat.chat import ChatRequest, ModelInfo, ThinkingLevel, WarningEvent

_RANK = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def fitted(request: ChatRequest, info: ModelInfo | None) -> tuple[ChatRequest, list[WarningEvent]]:
    """The request without parts that the model does not support.

    Args:
        request: the turn.
        info: the model's row; None if no list has it.
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
            result = f"{level!r} is requested instead" if level else "it is dropped"
            message = f"{info.model} does not have this thinking level; {result}."
            warnings.append(WarningEvent("thinking_dropped", message))
    return request, warnings


def _nearest(level: ThinkingLevel, info: ModelInfo) -> ThinkingLevel | None:
    """The level to request; None if the model has no similar one."""
    levels = info.thinking_levels
    if levels is None:
        return None if info.supports_thinking is False else level
    if level == "off":
        return "off" if "none" in levels else None
    known: list[ThinkingLevel] = [each for each in ("low", "medium", "high") if each in levels]
    if level in known or not known:
        return level if level in known else None
    return min(known, key=lambda each: abs(_RANK.index(each) - _RANK.index(level)))
