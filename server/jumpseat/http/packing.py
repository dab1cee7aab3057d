"""Bodies that come compressed, unpacked in bounded steps: a small one may hold a huge one.

Providers are asked for `identity`; some compress nevertheless. gzip and deflate are read. The decoders of
httpx2 are not used: they unpack all of a read in one step, a thousandfold. Above it is `body.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from jumpseat.chat import ProtocolError

STEP_BYTES = 64 * 1024
"""What one step gives at most; that takes well below a millisecond."""

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_BEGINS = b"\x1f"


def unpacker_for(coding: str, provider: str) -> Unpacker | None:
    """The unpacker for the `content-encoding` of an answer; None where nothing is packed.

    Raises:
        ProtocolError: it is none that is read.
    """
    named = [name for each in coding.lower().split(",") if (name := each.strip()) not in ("", "identity")]
    if not named:
        return None
    if named in (["gzip"], ["x-gzip"]):
        return _Gzip(provider)
    if named == ["deflate"]:
        return _Deflate(provider)
    raise ProtocolError(
        f"{provider} sent an answer that is compressed in another way than by gzip or deflate.",
        provider=provider,
        hint="Answers are asked for uncompressed. Switch the compression off where a gateway adds it.",
    )


class Unpacker:
    """Takes a body as it comes."""

    def __init__(self, provider: str, wbits: int) -> None:
        self._provider = provider
        self._stream = zlib.decompressobj(wbits)

    def steps(self, packed: bytes) -> Iterator[bytes]:
        """What this much of the body unpacks to, in steps; a step may be empty.

        Raises:
            ProtocolError: it cannot be unpacked.
        """
        step = b""
        # A full step may have taken all of the input and left output inside.
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
    """RFC 1952: a body may have several members, one behind the other."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider, _GZIP)

    def steps(self, packed: bytes) -> Iterator[bytes]:
        while packed:
            if self._stream.eof:
                if not packed.startswith(_GZIP_BEGINS):
                    return
                self._stream = zlib.decompressobj(_GZIP)
            yield from super().steps(packed)
            packed = self._stream.unused_data


class _Deflate(Unpacker):
    """RFC 9110 means zlib's form by it; some servers send the bare one."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider, zlib.MAX_WBITS)
        self._begun = False

    def steps(self, packed: bytes) -> Iterator[bytes]:
        if packed and not self._begun:
            self._begun = True
            # The low half of zlib's first byte is 8, its method; no bare stream that is in use begins so.
            if packed[0] & 0x0F != 8:
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        yield from super().steps(packed)
