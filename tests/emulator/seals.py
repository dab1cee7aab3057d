"""Opaque values that only this emulator can create: thinking signatures, encrypted content, item ids.

A client must send them back unchanged. A value for one purpose is not valid for another, and a value from
another emulator is never valid.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

_MAC_BYTES = 16
_NONCE_BYTES = 12


class Sealer:
    """Encrypts texts with a key of its own. Two seals of the same text differ."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, purpose: str, text: str, at_least: int = 0) -> str:
        """Return an opaque base64 string, at least `at_least` characters long, with `text` for `purpose`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        padded = text.encode() + b"\0" * max(0, at_least * 3 // 4 - len(text) - _NONCE_BYTES - _MAC_BYTES)
        hidden = self._mask(nonce, padded)
        return base64.b64encode(nonce + hidden + self._mac(purpose, nonce + hidden)).decode()

    def open(self, purpose: str, sealed: object) -> str | None:
        """Return the sealed text, or None if it was not sealed here for this purpose or has been changed."""
        if not isinstance(sealed, str):
            return None
        try:
            raw = base64.b64decode(sealed, validate=True)
        except ValueError:
            return None
        content, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(purpose, content)):
            return None
        nonce, hidden = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
        return self._mask(nonce, hidden).rstrip(b"\0").decode()

    def _mac(self, purpose: str, content: bytes) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + content, "sha256")[:_MAC_BYTES]

    def _mask(self, nonce: bytes, text: bytes) -> bytes:
        stream = hashlib.shake_256(self._key + nonce).digest(len(text))
        return bytes(a ^ b for a, b in zip(text, stream, strict=True))
