"""Encodes the parts of a user's message that are the same in several dialects."""

from __future__ import annotations

from collections.abc import Iterable

from jumpseat.chat import ContentBlock, DocumentBlock, ImageBlock, TextBlock, ToolResultBlock
from jumpseat.chat.media import get_document_type


def image_url(block: ImageBlock) -> str:
    """Return an image's URL for OpenAI's dialects; base64 becomes a `data:` URL."""
    if block.source.startswith(("data:", "https:")):
        return block.source
    return f"data:{block.media_type or 'image/png'};base64,{block.source}"


def document_url(block: DocumentBlock) -> str:
    """Return a document's URL for OpenAI's dialects; base64 becomes a `data:` URL."""
    if block.source.startswith(("data:", "https:")):
        return block.source
    return f"data:{block.media_type or 'application/pdf'};base64,{block.source}"


def document_name(block: DocumentBlock) -> str:
    """Return a document's file name, which OpenAI's API requires."""
    return block.name or f"document.{get_document_type(block).rpartition('/')[2]}"


def result_text(block: ToolResultBlock) -> str:
    """Return a tool result as text, for dialects without a flag for failed tools."""
    text = block.text or ("The user message after this one has the result." if block.media else "")
    return f"Error: {text}" if block.is_error and not text.lower().startswith("error") else text


def media_after_results(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """Return the images and documents of tool results as blocks of a user message.

    Dialects whose tool results are plain text need this. The blocks of each result follow a line that names
    its tool call.
    """
    media: list[ContentBlock] = []
    for block in blocks:
        if isinstance(block, ToolResultBlock) and block.media:
            media += [
                TextBlock(f"The files in the result of the tool call {block.tool_use_id}:"),
                *block.media,
            ]
    return media
