"""`jumpseat edit`: rewrites a file, or some of its lines, following an instruction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpseat_client.cli.chat import daemon, wait_for_result
from jumpseat_client.cli.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_client.cli.files import replace_file
from jumpseat_client.cli.output import make_spinner, print_text

_LINES = re.compile(r"(?P<first>[0-9]+)(?:(?P<colon>:)(?P<last>[0-9]+)?)?", re.ASCII)


class CannotEdit(Exception):  # noqa: N818 - it is printed, not handled
    """The file cannot be edited as requested; the message says why."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, and the part of it to rewrite."""

    path: Path
    raw: bytes
    """The whole file as it was read."""

    before: str
    text: str
    after: str

    @property
    def target(self) -> dict[str, Any]:
        """The context block for the daemon."""
        start = self.before.count("\n")
        end = {"line": start + self.text.count("\n"), "character": 0}
        if not self.text.endswith("\n"):
            # LSP counts UTF-16 code units.
            end["character"] = len(self.text.rpartition("\n")[2].encode("utf-16-le")) // 2
        return {
            "text": self.text,
            "uri": self.path.as_uri(),
            "range": {"start": {"line": start, "character": 0}, "end": end},
        }


def parse_lines(value: str) -> tuple[int, int | None]:
    """The first and the last line of `3`, `3:7` or `3:`, counted from 1; None for the end of the file.

    Raises:
        ValueError: it is none of these.
    """
    match = _LINES.fullmatch(value)
    if match is None or int(match["first"]) < 1:
        raise ValueError(value)
    first = int(match["first"])
    last = int(match["last"]) if match["last"] else None if match["colon"] else first
    if last is not None and last < first:
        raise ValueError(value)
    return first, last


def read_piece(file: Path, lines: tuple[int, int | None] | None) -> Piece:
    """Read the given lines of a file, or all of them.

    Raises:
        CannotEdit: it cannot be read, is not text, or has no such lines.
    """
    path = file.resolve()
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8")
    except OSError as error:
        raise CannotEdit(f"{file} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise CannotEdit(f"{file} is not UTF-8 text.") from None
    if lines is None:
        return Piece(path, raw, "", text, "")
    # Not `splitlines`, which also splits at form feeds and other characters.
    pieces = re.split(r"(?<=\n)", text)
    all_lines = pieces if pieces[-1] else pieces[:-1]
    first, last = lines
    last = len(all_lines) if last is None else last
    if max(first, last) > len(all_lines):
        raise CannotEdit(f"{file} has {len(all_lines)} lines; there is no line {max(first, last)}.")
    cut = first - 1
    return Piece(path, raw, "".join(all_lines[:cut]), "".join(all_lines[cut:last]), "".join(all_lines[last:]))


async def edit_file(
    piece: Piece,
    instruction: str,
    options: Mapping[str, Any],
    *,
    in_place: bool,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Rewrite the piece, print the new text or write it to the file, and return the exit code.

    Raises:
        ClientError: the daemon cannot be used, or the edit failed.
    """
    spinner = make_spinner("Starting")
    try:
        async with daemon(daemon_command) as client:
            spinner.show("Waiting for the model")
            stream = client.edit(piece.target, instruction, on_progress=spinner.progress, **options)
            result, notes = await wait_for_result(stream, spinner)
    finally:
        spinner.stop()
    replacement = result.replacement
    if in_place and replacement is not None:
        try:
            _put(piece, replacement)
        except CannotEdit as error:
            print_failure(str(error), None)
            return FAILED
    if as_json:
        print_json(result)
        return OK if replacement is not None else FAILED
    for note in notes:
        say(note)
    if replacement is None:
        ended_well = result.stop_reason == "end_turn"
        why = "the answer has no new text" if ended_well else f"the answer ended with {result.stop_reason}"
        print_failure(
            f"There is no replacement: {why}.",
            "Try again, with a higher --max-tokens if the answer was too long." if result.text else None,
        )
        return FAILED
    if not in_place:
        print_text(replacement)
    return OK


def _put(piece: Piece, replacement: str) -> None:
    """Replace the file atomically, unless it changed since it was read."""
    text = f"{piece.before}{replacement}{piece.after}".encode("utf-8", "replace")
    try:
        if piece.path.read_bytes() != piece.raw:
            raise CannotEdit(f"{piece.path} was changed in the meantime; it is left as it is.")
        replace_file(piece.path, text)
    except OSError as error:
        raise CannotEdit(f"{piece.path} cannot be written: {error.strerror or error}.") from None
