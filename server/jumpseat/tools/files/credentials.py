"""Recognises files that contain credentials, which no tool reads or writes."""

from __future__ import annotations

import re
from collections.abc import Iterable

START_BYTES = 1024
"""The number of bytes at the start of a file that are searched for a private key."""

_FOLDERS = frozenset({".ssh", ".gnupg"})
_NAME = re.compile(r"\.netrc|\.env(\..*)?|id_(?!.*\.pub$).*|.*\.(pem|key|p12)", re.DOTALL)


def is_credential_path(names: Iterable[str]) -> bool:
    """Whether a path names a file with credentials, judged by its file name and its directories."""
    # Some file systems ignore the case of names, and Windows ignores dots and spaces at the end of names.
    *folders, name = (each.lower().rstrip(". ") or each for each in names)
    return _NAME.fullmatch(name) is not None or not _FOLDERS.isdisjoint((*folders, name))


def has_private_key(start: bytes) -> bool:
    """Whether a file that starts with these bytes contains a private key, in UTF-8 or UTF-16."""
    return b"PRIVATE KEY-----" in start[:START_BYTES].replace(b"\0", b"")
