"""Whether a prompt fits its model, as far as that can be said before it is sent.

Asks nobody: an exact count is used where the client had the provider make one for this very prompt, else the
estimate. Above it is the turn; below it `tokens`.
"""

from __future__ import annotations

from dataclasses import replace

from jumpseat.chat import ChatRequest, ContextExceededError, WarningEvent
from jumpseat.engine.plan import Plan
from jumpseat.engine.tokens import BYTES_PER_TOKEN, TokenMemory, estimate
from jumpseat.providers import ResolvedModel

CERTAINTY = 2
"""How many times the limit an estimate must be before a prompt is refused for it."""


def check_length(target: ResolvedModel, planned: Plan, memory: TokenMemory) -> Plan:
    """The plan, with a warning where its prompt may be too long; one that certainly is too long is refused.

    A limit that only the snapshot tells never refuses: providers raise them.

    Raises:
        ContextExceededError: an exact count is above the limit, or an estimate above twice of it.
    """
    request = planned.request
    found = _limit(target, request)
    if found is None:
        return planned
    limit, is_firm = found
    blind = estimate(request)
    if blind * BYTES_PER_TOKEN <= limit:
        return planned  # Not even with a token for each byte; most prompts end here.
    size = memory.size(target.provider, request)
    if size.tokens <= limit:
        return planned
    # Where a provider runs tools of its own, a turn's total is that of several prompts: the smaller counts.
    certain = size.exact or min(size.tokens, blind) > CERTAINTY * limit
    model = f"{target.model} of {target.provider} takes {limit}"
    if certain and is_firm:
        about = "" if size.exact else "about "
        raise ContextExceededError(
            f"The conversation has {about}{size.tokens} tokens; {model}.",
            provider=target.provider,
            hint="Leave out files and older messages, start anew, or choose a model with a longer context.",
        )
    told = f"The conversation may be too long: it has about {size.tokens} tokens, and {model}."
    return replace(planned, warnings=[*planned.warnings, WarningEvent("prompt_may_be_too_long", told)])


def _limit(target: ResolvedModel, request: ChatRequest) -> tuple[int, bool] | None:
    """The longest prompt in tokens, and whether its provider or the user said so; None where nobody did."""
    setting = target.adapter.traits.context_setting
    asked = None if setting is None else request.settings.get(setting)
    if type(asked) is int and asked > 0:
        return asked, True
    for fact in ("max_prompt_tokens", "max_context_tokens"):
        limit: int | None = getattr(target.info, fact, None)
        if limit is not None:
            return limit, target.sources.get(fact) != "snapshot"
    return None
