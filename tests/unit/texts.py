"""The texts of the files that users, authors of plug-ins and contributors read or run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", ".github", "client", "docs", "editors", "server")
GENERATED = {"node_modules", "dist", "__pycache__"}
BINARY = {".png", ".pyc"}


def shipped_texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file outside of `tests/`."""
    below = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*")]
    at_the_top = [file for file in ROOT.iterdir() if not file.name.startswith(".")]
    for path in (*at_the_top, *below):
        name = path.relative_to(ROOT)
        if path.is_file() and not GENERATED & set(name.parts) and path.suffix not in BINARY:
            yield name.as_posix(), path.read_text("utf-8")
