"""The size of an image from its first bytes, and its cost in tokens."""

from __future__ import annotations

import struct
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import ImageBlock
from jumpseat.engine.images import (
    MAX_TOKENS,
    MIN_TOKENS,
    UNKNOWN_TOKENS,
    estimate_image_tokens,
    read_image_size,
)


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def jpeg(width: int, height: int, *, preview: int = 0) -> bytes:
    app = b"\xff\xe1" + struct.pack(">H", preview + 2) + b"\xff" * preview
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + b"\x03"
    return b"\xff\xd8" + app + b"\xff" + frame


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00\x00\x00\x00" + rest


FILES = {
    "png": png(640, 480),
    "jpeg": jpeg(640, 480),
    "jpeg behind a preview": jpeg(640, 480, preview=60_000),
    "gif": b"GIF89a" + struct.pack("<HH", 640, 480),
    "webp, extended": webp(b"VP8X", b"\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")),
    "webp, lossy": webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)),
    "webp, lossless": webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)),
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_the_size_is_read_from_the_first_bytes(data: bytes) -> None:
    assert read_image_size(data) == (640, 480)
    source = b64encode(data).decode()
    for written in (
        source,
        f"data:image/x;base64,{source}",
        "\n".join(source[i : i + 64] for i in range(0, len(source), 64)),
    ):
        # One token covers 750 pixels.
        assert estimate_image_tokens(ImageBlock(written, "image/x")) == 640 * 480 // 750


@given(
    st.binary(max_size=64),
    st.sampled_from([data[:count] for data in FILES.values() for count in (3, 12, 20)]),
)
def test_any_input_can_be_measured(data: bytes, start: bytes) -> None:
    size = read_image_size(start + data)

    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("https://example.org/a.png", UNKNOWN_TOKENS),
        ("not base64!", UNKNOWN_TOKENS),
        ("Größe", UNKNOWN_TOKENS),
        ("", UNKNOWN_TOKENS),
        (b64encode(b"BM an older format").decode(), UNKNOWN_TOKENS),
        (b64encode(png(8, 8)).decode(), MIN_TOKENS),
        (b64encode(png(8000, 8000)).decode(), MAX_TOKENS),
        (b64encode(png(0, 8)).decode(), UNKNOWN_TOKENS),
    ],
)
def test_an_unreadable_image_has_a_typical_cost_and_every_cost_is_bounded(source: str, tokens: int) -> None:
    assert estimate_image_tokens(ImageBlock(source, "image/png")) == tokens
