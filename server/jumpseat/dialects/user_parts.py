"""Parts of a user's message that several dialects write alike.

Above it are the encoders; it does no I/O.
"""

from __future__ import annotations

from jumpseat.chat import ImageBlock, ToolResultBlock


def image_url(block: ImageBlock) -> str:
    """An image as the URL that OpenAI's dialects take: `https:` and `data:` as they are, bytes as `data:`."""
    if block.source.startswith(("data:", "https:")):
        return block.source
    return f"data:{block.media_type or 'image/png'};base64,{block.source}"


def result_text(block: ToolResultBlock) -> str:
    """A tool's result where the dialect has no flag for a failed tool, so that the text has to say it."""
    if block.is_error and not block.content.lower().startswith("error"):
        return f"Error: {block.content}"
    return block.content
