"""Estimates the tokens of images and documents from their size.

Images are neither decoded nor fetched. Source: the formula on Anthropic's vision page (width times height
/ 750; large images are scaled down to about 1600 tokens). The tiles on OpenAI's vision page give the same
result within a factor of two.
"""

from __future__ import annotations

import binascii
from base64 import b64decode

from jumpseat.chat import DocumentBlock, ImageBlock
from jumpseat.chat.media import takes_document

PIXELS_PER_TOKEN = 750
MOST_TOKENS = 1600
FEWEST_TOKENS = 20

UNKNOWN_TOKENS = 1000
"""The tokens of an image at a URL or in an unknown format: about a megapixel, as most providers scale it."""

PAGE_TOKENS = 2000
"""The tokens of a PDF page, from Anthropic's page on PDF support. The number of pages is unknown."""

_HEAD_LENGTH = 96 * 1024
"""The number of base64 characters to read. A JPEG's size follows its embedded preview."""


def image_tokens(block: ImageBlock) -> int:
    """Estimate the tokens of one image."""
    size = image_size(_first_bytes(block.source))
    if size is None:
        return UNKNOWN_TOKENS
    return min(max(size[0] * size[1] // PIXELS_PER_TOKEN, FEWEST_TOKENS), MOST_TOKENS)


def document_tokens(block: DocumentBlock) -> int:
    """Estimate the tokens of a document: text by its size, other types as one page."""
    if takes_document(block, ("text/",)) and not block.source.startswith("https:"):
        return len(block.source) * 3 // 16  # Four characters of base64 are three bytes.
    return PAGE_TOKENS


def _first_bytes(source: str) -> bytes:
    """Decode the start of the image; return no bytes if it is at a URL or not valid base64."""
    if source.startswith("https:"):
        return b""
    start = source.find(",") + 1 if source.startswith("data:") else 0
    # Base64 may be wrapped into lines, and it is decoded in groups of four characters.
    head = "".join(source[start : start + _HEAD_LENGTH].split())
    try:
        return b64decode(head[: len(head) // 4 * 4])
    except binascii.Error:
        return b""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height in pixels; None if the format is unknown or `data` is too short."""
    size: tuple[int, int] | None = None
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        size = _big(data[16:20]), _big(data[20:24])
    elif data.startswith((b"GIF87a", b"GIF89a")):
        size = _little(data[6:8]), _little(data[8:10])
    elif data.startswith(b"\xff\xd8"):
        size = _of_jpeg(data)
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        size = _of_webp(data)
    return size if size is not None and min(size) > 0 else None


def _of_jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments (marker, two bytes of length, content) up to the frame header (SOF)."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # This byte is padding.
            place += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # These three are not frames.
            return _big(data[place + 7 : place + 9]), _big(data[place + 5 : place + 7])
        else:
            place += 2 + max(_big(data[place + 2 : place + 4]), 2)
    return None


def _of_webp(data: bytes) -> tuple[int, int] | None:
    # The WebP container specification defines three forms: extended, lossy and lossless.
    kind = data[12:16]
    if kind == b"VP8X":
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    if kind == b"VP8 ":
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    if kind == b"VP8L" and len(data) >= 25:
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
