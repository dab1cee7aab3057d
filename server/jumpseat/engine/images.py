"""Estimates the tokens of images and documents from their size.

Pixels are not decoded, and URLs are not fetched. Source: the formula on Anthropic's vision page (width
times height / 750; large images are scaled down to about 1600 tokens). The tiles on OpenAI's vision page
give the same result within a factor of two.
"""

from __future__ import annotations

from base64 import b64decode

from jumpseat.chat import DocumentBlock, ImageBlock
from jumpseat.chat.media import has_document_type

PIXELS_PER_TOKEN = 750
MAX_TOKENS = 1600
MIN_TOKENS = 20

UNKNOWN_TOKENS = 1000
"""The tokens of an image at a URL or in an unknown format.

Most providers scale images down to about a megapixel.
"""

PAGE_TOKENS = 2000
"""The tokens of a PDF page, from Anthropic's page on PDF support. The number of pages is unknown, so a
document counts as one page.
"""

_HEAD_LENGTH = 96 * 1024
"""The number of base64 characters to read. It is large because a JPEG's dimensions follow its preview."""


def estimate_image_tokens(block: ImageBlock) -> int:
    """Estimate the tokens of one image."""
    size = read_image_size(_decode_start(block.source))
    if size is None:
        return UNKNOWN_TOKENS
    return min(max(size[0] * size[1] // PIXELS_PER_TOKEN, MIN_TOKENS), MAX_TOKENS)


def estimate_document_tokens(block: DocumentBlock) -> int:
    """Estimate the tokens of a document: text by its size, other types as one page."""
    if has_document_type(block, ("text/",)) and not block.source.startswith("https:"):
        return len(block.source) * 3 // 16  # Four characters of base64 are three bytes.
    return PAGE_TOKENS


def _decode_start(source: str) -> bytes:
    """Decode the start of the image; return no bytes if it is at a URL or not valid base64."""
    if source.startswith("https:"):
        return b""
    start = source.find(",") + 1 if source.startswith("data:") else 0
    # Base64 may be wrapped into lines, and it is decoded in groups of four characters.
    head = "".join(source[start : start + _HEAD_LENGTH].split())
    try:
        return b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return b""


def read_image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height in pixels; None if the format is unknown or `data` is too short."""
    size: tuple[int, int] | None = None
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        size = _read_big_endian(data[16:20]), _read_big_endian(data[20:24])
    elif data.startswith((b"GIF87a", b"GIF89a")):
        size = _read_little_endian(data[6:8]), _read_little_endian(data[8:10])
    elif data.startswith(b"\xff\xd8"):
        size = _read_jpeg_size(data)
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        size = _read_webp_size(data)
    return size if size is not None and min(size) > 0 else None


def _read_jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk the segments (marker, two bytes of length, content) up to the frame header (SOF)."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:  # This byte is padding.
            place += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # These three are not frames.
            return _read_big_endian(data[place + 7 : place + 9]), _read_big_endian(
                data[place + 5 : place + 7]
            )
        else:
            place += 2 + max(_read_big_endian(data[place + 2 : place + 4]), 2)
    return None


def _read_webp_size(data: bytes) -> tuple[int, int] | None:
    # The WebP container specification defines three forms: extended, lossy and lossless.
    kind = data[12:16]
    if kind == b"VP8X":
        return _read_little_endian(data[24:27]) + 1, _read_little_endian(data[27:30]) + 1
    if kind == b"VP8 ":
        return _read_little_endian(data[26:28]) & 0x3FFF, _read_little_endian(data[28:30]) & 0x3FFF
    if kind == b"VP8L" and len(data) >= 25:
        bits = _read_little_endian(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _read_big_endian(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _read_little_endian(data: bytes) -> int:
    return int.from_bytes(data, "little")
