"""Blocks for what a model generates besides text: images, and tools that the provider ran."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.chat import ImageBlock, OtherBlock
from jumpseat.dialects.loose_values import mapping_in, mappings_in, text_in
from jumpseat.dialects.opaque import write_opaque

_URL = re.compile(r"https://|data:image/[^,;]+;base64,[A-Za-z0-9+/\s]+={0,2}\s*\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")

# The first characters of a file in base64.
_FORMATS = {"iVBOR": "image/png", "/9j/": "image/jpeg", "UklGR": "image/webp", "R0lGOD": "image/gif"}


def generated_image(source: str, opaque: str | None = None) -> ImageBlock | OtherBlock:
    """The block of a generated image; `other` if a client could not send it back.

    Args:
        source: Base64, a `data:` URL or an `https:` URL.
        opaque: Data with which the provider takes the image back.
    """
    if _URL.match(source):
        return ImageBlock(source, opaque=opaque)
    if _BASE64.fullmatch(source):
        formats = (name for start, name in _FORMATS.items() if source.startswith(start))
        return ImageBlock(source, next(formats, "image/png"), opaque=opaque)
    return OtherBlock("image", opaque=write_opaque({"source": source}))


class ExecutedTools:
    """Collects the tools that Groq's compound systems ran; streamed answers update them by their index."""

    def __init__(self) -> None:
        self._tools: dict[Any, dict[str, Any]] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take the tools of a message or a delta."""
        for position, tool in enumerate(mappings_in(delta.get("executed_tools"))):
            index = tool.get("index")
            known = self._tools.setdefault(index if isinstance(index, int) else position, {})
            known.update((name, value) for name, value in tool.items() if value is not None)

    def blocks(self) -> Iterator[OtherBlock]:
        """Each tool, with its output as text."""
        for tool in self._tools.values():
            yield OtherBlock("executed_tool", text_in(tool.get("output")) or None, opaque=write_opaque(tool))


def image_urls(images: Any) -> Iterator[str]:
    """The addresses in a list of images: each a text, or a part of the type `image_url`."""
    for image in images if isinstance(images, list) else ():
        part = mapping_in(image)
        nested = part.get("image_url")
        url = text_in(image) or text_in(nested) or text_in(mapping_in(nested).get("url"))
        if url or (url := text_in(part.get("url"))):
            yield url
