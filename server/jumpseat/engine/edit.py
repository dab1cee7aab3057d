"""Rewrites text in place: runs a turn with its own prompt and extracts the replacement from the answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from jumpseat.adapters.base import EditsInline
from jumpseat.chat import ContentBlock, ContextBlock, Message, Response, TextBlock
from jumpseat.engine.keeping import Keeper
from jumpseat.engine.replacement import choose_fence, find_replacement
from jumpseat.engine.turn import run_turn
from jumpseat.engine.turn_request import Sink, TurnRequest
from jumpseat.providers import Registry

logger = logging.getLogger(__name__)

SYSTEM = """\
You rewrite a piece of a user's text in place. Your answer replaces that piece in the editor without review. \
So it must be the whole new piece, including the parts that do not change, and nothing else: no greeting, no \
explanation, no summary, no text before or after the piece.

Keep the indentation, the style and the line endings of the piece. Change only what the instruction asks \
for. Do not shorten it with placeholders such as "rest unchanged"."""

CONTEXT = "First, some context, which you must not rewrite:"
TARGET = "Now the piece to rewrite:"

REQUEST = """\
The text above is the piece to rewrite, between its fences, which are not part of it.

Instruction:
{instruction}

Answer with the rewritten piece alone, in one fenced block that opens with a line of {fence} and closes \
with a line of {fence}. Write nothing outside that block."""

INSERTION = """\
The text above is empty: write new text for this place.

Instruction:
{instruction}

Answer with the new text alone, in one fenced block that opens with a line of {fence} and closes with a \
line of {fence}. Write nothing outside that block."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The result of an edit."""

    response: Response
    replacement: str | None
    """The new text for the target; None if there is nothing to apply."""


def build_edit_turn(
    turn_request: TurnRequest,
    target: ContextBlock,
    instruction: str,
    context: tuple[ContentBlock, ...],
) -> TurnRequest:
    """Return the turn that asks for a replacement.

    Args:
        turn_request: the turn without messages; its system prompt precedes `SYSTEM`.
        target: the text to rewrite.
        instruction: what to change, in the user's words.
        context: texts, images and documents that the instruction may refer to.
    """
    words = REQUEST if target.text else INSERTION
    request = words.format(instruction=instruction, fence=choose_fence(target.text, _find_language(target)))
    before = (TextBlock(CONTEXT), *context, TextBlock(TARGET)) if context else ()
    return replace(
        turn_request,
        messages=(Message("user", (*before, target, TextBlock(request))),),
        system=f"{turn_request.system}\n\n{SYSTEM}" if turn_request.system else SYSTEM,
    )


async def run_edit(
    registry: Registry,
    turn_request: TurnRequest,
    target: ContextBlock,
    instruction: str,
    sink: Sink,
    keeper: Keeper | None = None,
    context: tuple[ContentBlock, ...] = (),
) -> Edit:
    """Run one edit to its end; events, errors and cancellation are the same as for `run_turn`."""
    response = await run_turn(
        registry, build_edit_turn(turn_request, target, instruction, context), sink, keeper=keeper
    )
    may_be_cut_off = any(warning.code == "unknown_stop_reason" for warning in response.warnings)
    # Applying a truncated replacement would delete the rest of the user's text.
    if response.stop_reason != "end_turn" or may_be_cut_off or not response.text.strip():
        return Edit(response, None)
    try:
        adapter = registry.adapter(response.provider)
        found = adapter.inline_output(response.text) if isinstance(adapter, EditsInline) else None
    except Exception:  # A bug in a plug-in must not lose the answer.
        logger.exception("%s failed to read its own answer to an edit", response.provider)
        found = None
    if found is None:
        found = find_replacement(response.text, target.text, _find_language(target))
    return Edit(response, found)


def _find_language(target: ContextBlock) -> str | None:
    """Return the language that the client gave for the target, or else the extension of the target's file."""
    if target.language_id or not target.uri:
        return target.language_id
    try:
        path = urlsplit(target.uri).path
    except ValueError:
        return None
    return PurePosixPath(path).suffix.removeprefix(".") or None
