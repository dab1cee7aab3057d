"""Renders a conversation as the text of a transcript."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from jumpseat.chat.blocks import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.transcript.fences import FencedBlock, list_pairs_and_text, write_info
from jumpseat.chat.transcript.form import Form, RoleNames, get_form
from jumpseat.chat.transcript.front_matter import write_front_matter
from jumpseat.chat.transcript.syntax import MARKDOWN, Syntax

LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t\r]*\n)+")


def render(
    messages: Sequence[Message],
    *,
    system: str | None = None,
    model: str | None = None,
    tools: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    conversation: str | None = None,
    roles: RoleNames | None = None,
    trim_answers: bool = False,
    syntax: Syntax = MARKDOWN,
    level: int = 1,
) -> str:
    """Render a conversation as text, which is empty if there are no messages and no front matter.

    Args:
        messages: the conversation, oldest first.
        model: the model's name as the user wrote it.
        tools: selectors of the tools that the daemon runs.
        settings: JSON values by setting name.
        conversation: the conversation's id.
        roles: the role names in headings; None for the standard ones.
        trim_answers: whether to omit carriage returns, leading blank lines and trailing white space from the
            assistant's text and thinking. The result is then the same as from `TranscriptStream`.
        syntax: the format of the text.
        level: the level of the headings, counted from 1; always 1 in Markdown.

    Raises:
        InvalidRequestError: the front matter would be larger, or nested deeper, than `parse` allows.
    """
    form = get_form(roles or RoleNames(), syntax)
    lines = write_front_matter(
        syntax, system=system, model=model, tools=tools, settings=settings or {}, conversation=conversation
    )
    for message in messages:
        if lines:
            lines.append("")
        content = message.content
        if trim_answers and message.role == "assistant":
            content = [trimmed for block in content if (trimmed := _trim(block)) is not None]
        lines += [form.write_heading(message.role, level), "", *_render_body(content, form)]
    return "\n".join([*lines, ""]) if lines else ""


def _trim(block: ContentBlock) -> ContentBlock | None:
    match block:
        case TextBlock():
            text = _strip_blank_ends(block.text)
            return replace(block, text=text) if text else None
        case ThinkingBlock():
            return replace(block, thinking=_strip_blank_ends(block.thinking))
        case _:
            return block


def _strip_blank_ends(text: str) -> str:
    return LEADING_BLANK_LINES.sub("", text.replace("\r", "").rstrip())


def _render_body(content: Sequence[ContentBlock], form: Form) -> list[str]:
    if not content:
        return [form.syntax.no_blocks]
    lines: list[str] = []
    after_text = False
    for block in content:
        if lines:
            lines.append("")
        match block:
            case TextBlock():
                if after_text:
                    lines += [form.syntax.next_text, ""]
                lines += form.in_text.write_block(block.text)
            case ThinkingBlock():
                # In an HTML element, Markdown is rendered only between blank lines (CommonMark 0.31, 4.6).
                written = [*form.in_thinking.write_block(block.thinking), ""] if block.thinking else []
                lines += [form.syntax.thinking, "", *written, form.syntax.thinking_end]
            case (
                ContextBlock()
                | ImageBlock()
                | DocumentBlock()
                | OtherBlock()
                | RedactedThinkingBlock()
                | ToolResultBlock()
                | ToolUseBlock()
            ):
                lines += render_fences(block, form)
            case _:
                assert_never(block)
        after_text = isinstance(block, TextBlock)
    return lines


def render_fences(block: FencedBlock, form: Form, *, drop_returns: bool = False) -> list[str]:
    """Return the lines of a fenced block and, for a tool result, of its images and documents.

    Args:
        form: the form, which determines the escapes.
        drop_returns: whether to omit carriage returns from the block's text.
    """
    lines = _render_fence(block, form, drop_returns, None)
    if isinstance(block, ToolResultBlock):
        for part in block.media:
            lines += ["", *_render_fence(part, form, drop_returns, block.tool_use_id)]
    return lines


def _render_fence(block: FencedBlock, form: Form, drop_returns: bool, call_id: str | None) -> list[str]:
    pairs, text = list_pairs_and_text(block, call_id)
    if drop_returns and text is not None:
        text = text.replace("\r", "")
    first, last = form.syntax.write_fence(block.type, text or "")
    content = [] if text is None else form.in_fence.write(text)
    return [first + write_info(pairs, form.syntax), *content, last]
