"""Converts files and images that are attached to a question into wire blocks."""

from __future__ import annotations

import base64
import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from jumpseat_cli.files.lines import CannotUse, Range, cut_range, split_range

Block: TypeAlias = dict[str, Any]

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_IMAGE_BYTES = 20 * 1024 * 1024

_IMAGES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)

# These LSP language ids differ from the file extension.
_LANGUAGES = {
    "bash": "shellscript", "cc": "cpp", "cjs": "javascript", "cs": "csharp", "cxx": "cpp", "el": "emacs-lisp",
    "erl": "erlang", "ex": "elixir", "exs": "elixir", "fs": "fsharp", "h": "c", "hpp": "cpp", "hs": "haskell",
    "htm": "html", "jl": "julia", "js": "javascript", "jsx": "javascriptreact", "kt": "kotlin",
    "md": "markdown", "mjs": "javascript", "ml": "ocaml", "patch": "diff", "pl": "perl", "ps1": "powershell",
    "py": "python", "rb": "ruby", "rs": "rust", "sh": "shellscript", "tex": "latex", "ts": "typescript",
    "tsx": "typescriptreact", "txt": "plaintext", "yml": "yaml", "zsh": "shellscript",
}  # fmt: skip


_IMAGE_ADDRESS = re.compile(r"https://.|data:image/[\w.+-]+(;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]+\Z")
"""The image URLs that the daemon accepts."""


def read_attachments(files: Sequence[str], images: Sequence[str]) -> list[Block]:
    """Return the blocks for all files and images of a question.

    Raises:
        CannotUse: see `read_files` and `read_image`.
    """
    return [*(block for each in files for block in read_files(each)), *map(read_image, images)]


def read_files(argument: str) -> list[Block]:
    """Return the context blocks for `PATH`, `PATH:3`, `PATH:3-7`, `PATH:3-` or a pattern like `src/*.py`.

    Raises:
        CannotUse: a file cannot be read, is not text, or does not have these lines.
    """
    path = _path(argument)
    name, lines = (argument, None) if _exists(path) else split_range(argument)
    return [_read_context(each, lines) for each in _expand_pattern(name)]


def read_image(argument: str) -> Block:
    """Return the block for an image file, a PDF file or an image's URL.

    A URL is passed on to the provider, and is not fetched here.

    Raises:
        CannotUse: the file cannot be read, or is neither an image nor a PDF; or the URL is not accepted.
    """
    if _IMAGE_ADDRESS.match(argument):
        return {"type": "image", "source": argument}
    if re.match(r"https?://|data:", argument):
        reason = "is neither the https:// address of an image nor a data: URL with an image in base64"
        raise CannotUse(f"{argument[:80]} {reason}. Download it, and give the file.")
    path = _path(argument)
    return make_image_block(_read(path, MAX_IMAGE_BYTES), str(path))


def make_image_block(data: bytes, name: str) -> Block:
    """Return the block for an image in PNG, JPEG, GIF or WebP format, or for a PDF.

    Raises:
        CannotUse: the data has none of these formats; the message contains the name.
    """
    source = base64.b64encode(data).decode("ascii")
    if data.startswith(b"%PDF-"):
        return {"type": "document", "source": source, "mediaType": "application/pdf", "name": Path(name).name}
    for start, media_type in _IMAGES:
        if start.match(data):
            return {"type": "image", "source": source, "mediaType": media_type}
    raise CannotUse(f"{name} is neither an image that models accept (PNG, JPEG, GIF or WebP) nor a PDF.")


def _expand_pattern(argument: str) -> list[Path]:
    path = _path(argument)
    # A file that exists is meant literally, even if its name is a valid pattern.
    if not _exists(path) and glob.has_magic(argument):
        # In `glob.glob`, as in shells, `*` does not match hidden files; `Path.glob` would return them.
        found = [Path(each) for each in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
        if files := [each for each in found if each.is_file()]:
            return files
        raise CannotUse(f"No file matches {argument}.")
    return [path]


def _read_context(path: Path, lines: Range | None) -> Block:
    try:
        text = _read(path, MAX_FILE_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise CannotUse(f"{path} is not UTF-8 text.") from None
    block: Block = {"type": "context", "text": text, "uri": path.absolute().as_uri()}
    extension = path.suffix.removeprefix(".").lower()
    if language := _LANGUAGES.get(extension, extension):
        block["languageId"] = language
    if lines is None:
        return block
    before, part, _ = cut_range(text, lines, path)
    first = len(before)
    place = {"start": {"line": first, "character": 0}, "end": {"line": first + len(part), "character": 0}}
    return {**block, "text": "".join(part), "range": place}


def _path(argument: str) -> Path:
    try:
        return Path(argument).expanduser()
    except RuntimeError:  # The user in a path like `~nobody` does not exist.
        return Path(argument)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # The name is too long or contains a null character.
        return False


def _read(path: Path, limit: int) -> bytes:
    try:
        if not path.is_file():
            raise CannotUse(f"{path} is not a file." if path.exists() else f"There is no file {path}.")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        raise CannotUse(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > limit:
        raise CannotUse(f"{path} is larger than {limit >> 20} MiB.")
    return data
