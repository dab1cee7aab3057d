"""Fills in a prompt from the configuration, and shortens the diffs in its input to fit the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jumpseat.chat import ChatError, ContextBlock, Message, TextBlock, WarningEvent
from jumpseat.chat.long import is_long
from jumpseat.config import Prompt
from jumpseat.context.diffs import shorten_diffs
from jumpseat.engine.length import find_prompt_limit
from jumpseat.engine.prepare import Planner
from jumpseat.engine.tokens import BYTES_PER_TOKEN
from jumpseat.engine.turn_request import TurnRequest
from jumpseat.providers import Registry, resolve_model
from jumpseat.system.threads import compute

UNKNOWN_LIMIT = 32_000
"""The input limit in tokens to assume if the model's limit is unknown. Most models accept this much, and half
of it is enough for most diffs."""

DIVISOR = 2
"""Diffs may use the input limit divided by this number. The rest is for the prompt, the answer, and the error
of the estimate."""


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with its input, ready to be sent."""

    text: str
    context: Sequence[ContextBlock] = ()
    """The context blocks of the question, without those that were left out completely."""

    left_out: Sequence[str] = ()
    """The names of the files that were left out."""

    cut_off: str | None = None
    """The name of the file of which only the beginning remains."""

    warnings: Sequence[WarningEvent] = ()


async def fill_prompt(
    registry: Registry,
    prompt: Prompt,
    given: str,
    context: Sequence[ContextBlock] = (),
    model: str | None = None,
) -> FilledPrompt:
    """Fill in a prompt. If it takes a diff, shorten the diffs to half of the model's input limit.

    Args:
        registry: the connection's providers.
        prompt: the prompt.
        given: the input.
        context: the context blocks of the question, which may contain diffs too.
        model: the model of the question; None for the default one.
    """
    if not prompt.takes_diff or not (given.strip() or context):
        return FilledPrompt(prompt.fill(given), context)
    messages = (Message("user", (*context, TextBlock(prompt.fill(given)))),)
    turn_request = TurnRequest(messages=messages, system=prompt.system, model=model, settings=prompt.settings)
    max_bytes = await _find_limit(registry, turn_request) * BYTES_PER_TOKEN // DIVISOR
    texts = [given, *(block.text for block in context)]
    shortened = await compute(is_long(messages), shorten_diffs, texts, max_bytes)
    if not shortened.note:
        # Without an input, the prompt would end with blank lines.
        return FilledPrompt(prompt.fill(given) if given.strip() else prompt.fill("").rstrip(), context)
    given, *rest = shortened.texts
    kept = [replace(block, text=text) for block, text in zip(context, rest, strict=True) if text]
    return FilledPrompt(
        prompt.fill(f"{given}\n{shortened.note}\n" if given else shortened.note),
        kept,
        shortened.left_out,
        shortened.cut_off,
        [WarningEvent("diff_shortened", shortened.warning)],
    )


async def _find_limit(registry: Registry, turn_request: TurnRequest) -> int:
    """Return the model's input limit in tokens. Errors are ignored, because the turn will raise them too."""
    try:
        target = await resolve_model(registry, turn_request.model)
        request = (await Planner(registry, target).plan(turn_request)).request
    except ChatError:
        return UNKNOWN_LIMIT
    known = find_prompt_limit(target, request)
    return UNKNOWN_LIMIT if known is None else known[0]
