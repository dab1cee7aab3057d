"""Builds blocks for output other than text: generated images, and tools that the provider ran."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.chat import ImageBlock, OtherBlock
from jumpseat.dialects.loose_values import mapping_in, mappings_in, text_in
from jumpseat.dialects.opaque import write_opaque

_URL = re.compile(r"https://|data:image/[^,;]+;base64,[A-Za-z0-9+/\s]+={0,2}\s*\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")

# The keys are the first characters of a file in base64.
_FORMATS = {"iVBOR": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}


def generated_image(source: str, opaque: str | None = None) -> ImageBlock | OtherBlock:
    """Create the block for a generated image; an `other` block if clients could not send the image back.

    Args:
        source: base64, a `data:` URL or an `https:` URL.
        opaque: the data that the provider needs to accept the image in later requests.
    """
    if _URL.match(source):
        return ImageBlock(source, opaque=opaque)
    if _BASE64.fullmatch(source):
        formats = (name for start, name in _FORMATS.items() if source.startswith(start))
        return ImageBlock(source, next(formats, "image/png"), opaque=opaque)
    return OtherBlock("image", opaque=write_opaque({"source": source}))


class ExecutedTools:
    """The tools that Groq's compound systems ran; streamed answers update them by index."""

    def __init__(self) -> None:
        self._tools: dict[Any, dict[str, Any]] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Add the tools in a message or a delta."""
        for position, tool in enumerate(mappings_in(delta.get("executed_tools"))):
            index = tool.get("index")
            known = self._tools.setdefault(index if isinstance(index, int) else position, {})
            known.update((name, value) for name, value in tool.items() if value is not None)

    def blocks(self) -> Iterator[OtherBlock]:
        """Yield a block for each tool, with its output as text."""
        for tool in self._tools.values():
            yield OtherBlock("executed_tool", text_in(tool.get("output")) or None, opaque=write_opaque(tool))


def image_urls(images: Any) -> Iterator[str]:
    """Yield the URLs in a list of images, each of which is a string or an `image_url` part."""
    for image in images if isinstance(images, list) else ():
        part = mapping_in(image)
        nested = part.get("image_url")
        url = text_in(image) or text_in(nested) or text_in(mapping_in(nested).get("url"))
        if url or (url := text_in(part.get("url"))):
            yield url
