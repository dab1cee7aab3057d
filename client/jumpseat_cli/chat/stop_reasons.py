"""Sentences that explain why an answer ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class _Reason:
    sentence: str
    """Why the answer ended or, if it ended normally, why an edit has no new text."""

    chat: str | None = None
    """The hint after a chat; None if the answer ended normally."""

    edit: str = "Try again."
    """The hint after an edit."""

    unkept: str | None = None
    """The hint after a chat that is not kept; None if it is the same as `chat`."""


_GO_ON = "to continue it, send `Go on.`"
_REPHRASE = "rephrase the question, or choose another model with --model."
_CHANGE = "Change the instruction, or choose another model with --model."
_REASONS = {
    "end_turn": _Reason("the answer has no new text"),
    "stop_sequence": _Reason("the answer ended at a stop sequence"),
    "tool_use": _Reason("the model called a tool"),
    "max_tokens": _Reason(
        "the answer reached the output limit",
        "raise it with --max-tokens.",
        "Try again with a higher --max-tokens, or with fewer lines.",
    ),
    "content_filter": _Reason("the provider's content filter cut the answer off", _REPHRASE, _CHANGE),
    "refusal": _Reason("the model refused to answer", _REPHRASE, _CHANGE),
    "context_exceeded": _Reason(
        "the chat no longer fits in the model's context",
        "start a new one, or choose another model with --model.",
        "Try again with fewer lines, or choose another model with --model.",
    ),
    "pause_turn": _Reason("the provider paused the answer", _GO_ON),
    "max_rounds": _Reason(
        "the answer reached the limit of tool calls",
        "to continue it, add -c to the command and ask `Go on.`",
        unkept="it cannot be continued, because it is not kept.",
    ),
}


def warning_about(stop_reason: str | None, *, is_kept: bool = True) -> str | None:
    """Return the warning to print after an answer; None if it ended normally or with an error message."""
    if stop_reason in (None, "cancelled", "error"):
        return None  # For `cancelled` and `error`, an error message is printed instead.
    unknown = _Reason(f"the answer ended with {stop_reason}", "it may be cut off.")
    reason = _REASONS.get(stop_reason, unknown)
    hint = reason.chat if is_kept else reason.unkept or reason.chat
    return hint and f"warning: {reason.sentence}; {hint}"


def explain_missing_replacement(stop_reason: str | None) -> tuple[str, str]:
    """Return a clause that says why an edit has no new text, and a hint."""
    reason = _REASONS.get(stop_reason or "end_turn", _Reason(f"the answer ended with {stop_reason}"))
    return reason.sentence, reason.edit
