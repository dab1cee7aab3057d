"""`file:path`: the content of a file. Relative paths start at the configuration file's directory."""

from __future__ import annotations

from pathlib import Path

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource, run_in_thread
from jumpseat.system.regular_file import read_regular

MAX_FILE_BYTES = 64 * 1024


async def _read(name: str, table: ProviderConfig) -> str:
    path = table.origin.directory / table.origin.environment.expand_path(name)
    return await run_in_thread(lambda: _read_content(name, path), f"reading {name}")


def _read_content(name: str, path: Path) -> str:
    try:
        content = read_regular(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise SourceError(f"the file {name!r} does not exist", "Create it, or correct its path.") from None
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        raise SourceError(
            f"the file {name!r} cannot be read: {why}",
            "Name the file that holds the value; check its permissions.",
        ) from None
    try:
        return content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise SourceError(f"the file {name!r} is not UTF-8 text", "Write the value as UTF-8.") from None


FILE = ValueSource(prefix="file:", read=_read)
