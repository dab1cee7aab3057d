"""Decompresses bodies (gzip, deflate) in bounded steps, because a small body may expand to a huge one.

Requests ask for `identity`, but some providers compress anyway.
"""
# httpx2's decoders are not used: in a single step, they decompress all the data that one read returned, and
# the result may be a thousand times as large.

from __future__ import annotations

import zlib
from collections.abc import Iterator

from jumpseat.chat import ProtocolError

STEP_BYTES = 64 * 1024
"""The maximum output of one step, in bytes. A step takes well under a millisecond."""

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f"


def make_unpacker(coding: str, provider: str) -> Unpacker | None:
    """Create the unpacker for an answer's `content-encoding`; return None if the answer is not compressed.

    Raises:
        ProtocolError: the coding is not supported.
    """
    codings = [name for each in coding.lower().split(",") if (name := each.strip()) not in ("", "identity")]
    if not codings:
        return None
    if codings in (["gzip"], ["x-gzip"]):
        return _Gzip(provider)
    if codings == ["deflate"]:
        return _Deflate(provider)
    raise ProtocolError(
        f"{provider} sent an answer with a compression other than gzip or deflate.",
        provider=provider,
        hint="The request asked for no compression. If a gateway adds it, turn it off there.",
    )


class Unpacker:
    """An incremental decompressor of one body."""

    def __init__(self, provider: str, wbits: int) -> None:
        self._provider = provider
        self._stream = zlib.decompressobj(wbits)

    def decompress(self, packed: bytes) -> Iterator[bytes]:
        """Decompress a part of the body in steps, and yield their output, which may be empty.

        Raises:
            ProtocolError: the data is not valid.
        """
        step = b""
        # After a full step, the decompressor may have more output even if it has consumed all input.
        while (packed or len(step) == STEP_BYTES) and not self._stream.eof:
            try:
                step = self._stream.decompress(packed, STEP_BYTES)
            except zlib.error:
                raise ProtocolError(
                    f"{self._provider} sent an answer that cannot be decompressed.", provider=self._provider
                ) from None
            yield step
            packed = self._stream.unconsumed_tail


class _Gzip(Unpacker):
    """The gzip format, in which a body may have several consecutive members (RFC 1952)."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider, _GZIP)

    def decompress(self, packed: bytes) -> Iterator[bytes]:
        while packed:
            if self._stream.eof:
                if not packed.startswith(_GZIP_BEGINS):
                    return  # Ignore bytes after the last member, such as padding.
                self._stream = zlib.decompressobj(_GZIP)
            yield from super().decompress(packed)
            packed = self._stream.unused_data


class _Deflate(Unpacker):
    """The `deflate` coding: the zlib format (RFC 9110), although some servers send raw deflate data."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider, zlib.MAX_WBITS)
        self._begun = False

    def decompress(self, packed: bytes) -> Iterator[bytes]:
        if packed and not self._begun:
            self._begun = True
            # The low half of a zlib stream's first byte is 8. In practice, a raw stream starts differently.
            if packed[0] & 0x0F != 8:
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        yield from super().decompress(packed)
