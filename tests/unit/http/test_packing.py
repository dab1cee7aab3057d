"""Compressed bodies in each supported encoding, in bounded steps for any split."""

import gzip
import zlib

import pytest

from jumpseat.chat import ProtocolError
from jumpseat.http.packing import STEP_BYTES, make_unpacker

TEXT = b"data: some words\n\n" * 20_000


def deflate_without_header(data):
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


def unpack(coding, packed, size):
    unpacker = make_unpacker(coding, "acme")
    return [
        step
        for start in range(0, len(packed), size)
        for step in unpacker.decompress(packed[start : start + size])
    ]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(TEXT)),
        (" X-GZIP ", gzip.compress(TEXT)),
        ("identity, gzip", gzip.compress(TEXT[:9]) + gzip.compress(TEXT[9:])),
        ("gzip", gzip.compress(TEXT) + b"\0\0\0 padding"),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", deflate_without_header(TEXT)),
    ],
)
def test_a_compressed_body_is_decompressed_in_bounded_steps(coding, packed, size):
    steps = unpack(coding, packed, size)
    assert b"".join(steps) == TEXT
    assert max(map(len, steps)) <= STEP_BYTES


@pytest.mark.parametrize("coding", ["", "identity", "Identity, identity"])
def test_an_uncompressed_body_is_unchanged(coding):
    assert make_unpacker(coding, "acme") is None


def test_a_step_is_bounded_even_for_a_high_compression_ratio():
    steps = make_unpacker("gzip", "acme").decompress(gzip.compress(bytes(64 << 20)))
    assert [len(next(steps)) for _ in range(10)] == [STEP_BYTES] * 10


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "no such thing"])
def test_an_unsupported_compression_is_an_error_with_a_hint(coding):
    with pytest.raises(ProtocolError, match=r"acme .* compression other than") as caught:
        make_unpacker(coding, "acme")
    assert caught.value.hint


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_body_that_cannot_be_decompressed_is_an_error(coding):
    with pytest.raises(ProtocolError, match=r"acme .* cannot be decompressed"):
        unpack(coding, b"\x1fnot packed at all", 1 << 20)
