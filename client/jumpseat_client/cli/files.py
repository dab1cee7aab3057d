"""Files that commands write for the user."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically: after a failure or a crash the old one is unchanged.

    A file that exists keeps its mode, and a link stays a link.

    Raises:
        OSError: it cannot be written.
    """
    path = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # `mkstemp` makes a file that only its owner can read.
        temporary.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    # Setting it is the only way to read it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
