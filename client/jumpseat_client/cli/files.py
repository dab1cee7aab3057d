"""Files that commands write for the user, and ranges of lines in files."""

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


def range_of(name: object, lines: tuple[int, int | None], count: int) -> tuple[int, int]:
    """The first and the last line of a range, from 1.

    Args:
        name: the file's, for the error.
        lines: as they were typed; without a last line the range ends with the file.
        count: how many lines the file has.

    Raises:
        ValueError: the file has no such lines; its text is a sentence.
    """
    first, last = lines[0], count if lines[1] is None else lines[1]
    if not 1 <= first <= last <= count:
        part = f"line {first}" if first == last else f"part {first}-{'' if lines[1] is None else last}"
        raise ValueError(f"{name} has {count} line{'' if count == 1 else 's'}; there is no {part}.")
    return first, last
