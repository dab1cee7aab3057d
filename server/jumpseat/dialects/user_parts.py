"""Parts of a user's message that several dialects encode in the same way."""

from __future__ import annotations

from jumpseat.chat import ImageBlock, ToolResultBlock


def image_url(block: ImageBlock) -> str:
    """The URL of an image for OpenAI's dialects; base64 becomes a `data:` URL."""
    if block.source.startswith(("data:", "https:")):
        return block.source
    return f"data:{block.media_type or 'image/png'};base64,{block.source}"


def result_text(block: ToolResultBlock) -> str:
    """The text of a tool's result, for dialects without a flag for a failed tool."""
    if block.is_error and not block.content.lower().startswith("error"):
        return f"Error: {block.content}"
    return block.content
