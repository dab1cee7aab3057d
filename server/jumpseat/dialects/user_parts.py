"""Parts of a user's message that several dialects encode in the same way."""

from __future__ import annotations

from collections.abc import Iterable

from jumpseat.chat import ContentBlock, DocumentBlock, ImageBlock, TextBlock, ToolResultBlock
from jumpseat.chat.media import document_type


def image_url(block: ImageBlock) -> str:
    """The URL of an image for OpenAI's dialects; base64 becomes a `data:` URL."""
    if block.source.startswith(("data:", "https:")):
        return block.source
    return f"data:{block.media_type or 'image/png'};base64,{block.source}"


def document_url(block: DocumentBlock) -> str:
    """The URL of a document for OpenAI's dialects; base64 becomes a `data:` URL."""
    if block.source.startswith(("data:", "https:")):
        return block.source
    return f"data:{block.media_type or 'application/pdf'};base64,{block.source}"


def document_name(block: DocumentBlock) -> str:
    """The name of a document, which OpenAI's API requires."""
    return block.name or f"document.{document_type(block).rpartition('/')[2]}"


def result_text(block: ToolResultBlock) -> str:
    """The text of a tool's result, for dialects without a flag for a failed tool."""
    text = block.text or ("The user message after this one has the result." if block.media else "")
    return f"Error: {text}" if block.is_error and not text.lower().startswith("error") else text


def media_after_results(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """The images and documents of tool results as blocks of a user message, each result's after a line.

    For dialects whose results are text.
    """
    media: list[ContentBlock] = []
    for block in blocks:
        if isinstance(block, ToolResultBlock) and block.media:
            media += [
                TextBlock(f"The files in the result of the tool call {block.tool_use_id}:"),
                *block.media,
            ]
    return media
