"""The message that a chat sends, built from command-line words, stdin, files and images."""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from jumpseat_cli.daemon.pages import fetch_pages, is_address
from jumpseat_cli.files.lines import CannotUse
from jumpseat_cli.terminal.failures import say

if TYPE_CHECKING:
    from jumpseat_cli.files.attachments import Block
    from jumpseat_client.client import Client

STDIN = "-"
"""The argument that stands for stdin."""

MAX_TOTAL_BYTES = 32 * 1024 * 1024
"""The maximum size of stdin, files, images and pages together; the daemon refuses messages above 64 MiB."""

SILENT_SECONDS = 1.0
"""How long stdin may be silent before the command reports that it is waiting."""


# This class and `AnswerForm` are not dataclasses, which would add 1 % to the start time of a chat.
class AskedQuestion(NamedTuple):
    """A question with its files, images and pages."""

    words: str
    piped: str
    """The text from stdin."""

    blocks: Sequence[Block] = ()
    """Files, images and pages."""

    addresses: Sequence[str] = ()
    """The addresses of pages that have not been fetched yet."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to answer: neither words nor stdin."""
        return not self.words and not self.piped.strip()

    @property
    def lacks_input(self) -> bool:
        """Whether a prompt would have no input: neither text nor a file, an image or a page."""
        return self.is_empty and not self.blocks and not self.addresses

    @property
    def as_input(self) -> str:
        """The words and the text from stdin, as the input of a prompt."""
        return "\n\n".join(part for part in (self.words, self.piped) if part.strip())

    async def with_pages(self, client: Client) -> AskedQuestion:
        """Return the question with its pages fetched.

        Raises:
            CannotUse: the files, images and pages together are too large.
            ClientError: a page cannot be read.
        """
        blocks = [*self.blocks, *await fetch_pages(client, self.addresses)]
        _check_size(blocks, self.piped.encode())
        return self._replace(blocks=blocks, addresses=())

    def message(self, prompt: str | None = None) -> dict[str, object]:
        """Return the user's message.

        Args:
            prompt: text that replaces the words and the text from stdin.
        """
        files = [block for block in self.blocks if block["type"] == "context"]
        images = [block for block in self.blocks if block["type"] != "context"]
        text = prompt if prompt is not None else self.words or self.piped
        if prompt is None and self.words and self.piped.strip():
            files.append({"type": "context", "text": self.piped, "label": "stdin"})
        texts = [{"type": "text", "text": text}] if text else []
        return {"role": "user", "content": [*files, *images, *texts]}


def read_question(
    words: Sequence[str],
    files: Sequence[str] = (),
    images: Sequence[str] = (),
    *,
    has_prompt: bool = False,
    with_stdin: bool = True,
) -> AskedQuestion:
    """Build the question.

    Reads stdin if an argument is `-`, or if stdin is a pipe or a file. Without words and without a prompt,
    reads stdin unless it is a terminal.

    Args:
        words: the command's arguments.
        files: arguments for `attachments.read_files`, and addresses of pages.
        images: arguments for `attachments.read_image`; `-` stands for an image on stdin.
        has_prompt: whether the text comes from a prompt, so that neither words nor stdin are required.
        with_stdin: False to ignore stdin.

    Raises:
        CannotUse: a file, an image or stdin cannot be sent.
    """
    named = STDIN in words or STDIN in files or STDIN in images
    typed = " ".join(word for word in words if word != STDIN).strip()
    blocks: list[Block] = []
    addresses = [each for each in files if is_address(each)]
    files = [each for each in files if not is_address(each)]
    if files:
        _warn_about_files_in(words)
    if files or images:
        from jumpseat_cli.files.attachments import make_image_block, read_attachments

        # Read these before stdin, so that a mistake is reported immediately.
        blocks += read_attachments(
            [each for each in files if each != STDIN], [each for each in images if each != STDIN]
        )
        _check_size(blocks)
    piped = _read_stdin(optional=bool(words) or has_prompt, named=named) if with_stdin else b""
    if STDIN in images:
        blocks.append(make_image_block(piped, "stdin"))
        piped = b""
    _check_size(blocks, piped)
    if b"\0" in piped:
        raise CannotUse("stdin is not text. To send an image: jumpseat chat -a -")
    try:
        return AskedQuestion(typed, piped.decode("utf-8"), blocks, addresses)
    except UnicodeDecodeError:
        raise CannotUse("stdin is not UTF-8 text. To convert it: iconv -f ENCODING -t UTF-8") from None


def _check_size(blocks: Sequence[Block], piped: bytes = b"") -> None:
    texts = [str(block.get("text", block.get("source"))) for block in blocks]
    if len(piped) + sum(len(text.encode("utf-8", "replace")) for text in texts) > MAX_TOTAL_BYTES:
        raise CannotUse(
            f"Files, images, pages and stdin together are larger than {MAX_TOTAL_BYTES >> 20} MiB."
        )


def _warn_about_files_in(words: Sequence[str]) -> None:
    """Warn if the shell expanded a pattern after `-f`: then every file but the first became a word."""
    for word in words:
        if "." in word and " " not in word and os.path.isfile(word):  # noqa: PTH113 - pathlib refuses some words
            say(f"warning: {word} is part of the question; repeat -f for each file, or quote the pattern.")
            return


def _read_stdin(*, optional: bool, named: bool) -> bytes:
    """Read stdin, or return nothing if it need not be read.

    Args:
        optional: whether the question is complete without stdin; then read only a pipe or a file.
        named: whether an argument is `-`; then read stdin whatever it is.
    """
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return b""
    # A script's stdin may be a socket or a device, which may never end.
    if not named and (os.isatty(0) or (optional and not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)))):
        return b""
    end = "Ctrl-D ends it" if os.isatty(0) else "--no-stdin ignores it"
    notice = threading.Timer(SILENT_SECONDS, say, [f"Waiting for stdin; {end}."])
    notice.daemon = True
    if not stat.S_ISREG(mode):
        notice.start()
    try:
        return b"".join(_read_chunks(notice))
    except OSError as error:
        raise CannotUse(f"stdin cannot be read: {error.strerror or error}.") from None
    finally:
        notice.cancel()


def _read_chunks(notice: threading.Timer) -> Sequence[bytes]:
    """Read stdin until it ends or exceeds `MAX_TOTAL_BYTES`."""
    chunks: list[bytes] = []
    size = 0
    while True:
        with suppress(BlockingIOError):
            chunk = os.read(0, 1 << 16)
            notice.cancel()
            if not chunk:
                return chunks
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_TOTAL_BYTES:
                return chunks
            continue
        # Another process may have made the pipe non-blocking.
        select.select([0], [], [])
