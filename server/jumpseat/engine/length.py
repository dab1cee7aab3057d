"""Checks whether a prompt and its answer fit the model, without sending a request."""

from __future__ import annotations

import re
from dataclasses import replace

from jumpseat.chat import ChatError, ChatRequest, ContextExceededError, ServerError, WarningEvent
from jumpseat.engine.plan import Plan
from jumpseat.engine.tokens import BYTES_PER_TOKEN, TokenMemory, estimate_tokens
from jumpseat.providers import ResolvedModel

CERTAINTY = 2
"""A prompt is rejected if its estimate is more than this many times the limit."""


ROOM = 1.5
"""The context reserved for a prompt, as a multiple of its estimate. The answer may use the rest."""

# Matches the message of a refusal that is due to the answer's limit. Before a provider runs a request, it
# may compare that limit with the account's credits, the tokens per minute, or the context that the prompt
# leaves.
_ABOUT_LIMIT = re.compile(r"max_(completion_|output_)?tokens|tokens per minute", re.IGNORECASE)


def is_limit_refusal(error: ChatError) -> bool:
    """Whether a provider refused a request because its answer might be too long."""
    return not isinstance(error, ServerError) and _ABOUT_LIMIT.search(error.message) is not None


def check_length(target: ResolvedModel, planned: Plan, memory: TokenMemory) -> Plan:
    """Return the plan, with a warning if its prompt may be too long.

    If the plan has a fallback for the answer's limit, the limit is lowered to the context that the prompt
    leaves, but not below the fallback.

    Raises:
        ContextExceededError: the limit is firm, and either an exact count exceeds it or an estimate exceeds
            twice the limit.
    """
    planned = _fit_answer_limit(target, planned, memory)
    request = planned.request
    known = find_prompt_limit(target, request)
    if known is None:
        return planned
    limit, is_firm = known
    from_bytes = estimate_tokens(request)
    if from_bytes * BYTES_PER_TOKEN <= limit:
        return planned  # The prompt fits even at one token per byte, as most prompts do.
    size = memory.measure(target.provider, request)
    if size.tokens <= limit:
        return planned
    # If a provider runs its own tools, the usage that it reports covers several prompts. An estimate from
    # that usage is too high, so use the smaller of the two estimates.
    certain = size.exact or min(size.tokens, from_bytes) > CERTAINTY * limit
    model = f"{target.model} of {target.provider} accepts at most {limit}"
    if certain and is_firm:
        about = "" if size.exact else "about "
        raise ContextExceededError(
            f"The conversation has {about}{size.tokens} tokens; {model}.",
            provider=target.provider,
            hint="Remove files or old messages, start a new chat, or choose a model with a longer context.",
        )
    message = f"The conversation may be too long: it has about {size.tokens} tokens, and {model}."
    return replace(planned, warnings=[*planned.warnings, WarningEvent("prompt_may_be_too_long", message)])


def _fit_answer_limit(target: ResolvedModel, planned: Plan, memory: TokenMemory) -> Plan:
    """Return the plan, with the answer's default limit lowered to the context that the prompt leaves."""
    context = target.info.max_context_tokens if target.info else None
    if planned.fallback_max_tokens is None or context is None:
        return planned
    request = planned.request
    room = context - int(ROOM * memory.measure(target.provider, request).tokens)
    if room >= request.max_tokens:
        return planned
    if room > planned.fallback_max_tokens:
        return replace(planned, request=replace(request, max_tokens=room))
    request = replace(request, max_tokens=planned.fallback_max_tokens, answer_tokens=None)
    return replace(planned, request=request)


def find_prompt_limit(target: ResolvedModel, request: ChatRequest) -> tuple[int, bool] | None:
    """Return the maximum number of tokens of a prompt; None if it is unknown.

    The second value is whether the limit is firm: set by the user or reported by the provider.
    """
    setting = target.adapter.traits.context_setting
    requested = None if setting is None else request.settings.get(setting)
    if type(requested) is int and requested > 0:
        return requested, True
    for fact in ("max_prompt_tokens", "max_context_tokens"):
        limit: int | None = getattr(target.info, fact, None)
        if limit is not None:
            # Providers raise their limits, so a limit from the bundled snapshot causes only a warning.
            return limit, target.sources.get(fact) != "snapshot"
    return None
