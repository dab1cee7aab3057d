"""The interface of prompts, and a prompt for terminals without cursor movement (TERM=dumb)."""

from __future__ import annotations

import asyncio
import os
import select
from typing import Protocol

PIECE = 1 << 16
HOW_TO_LEAVE = "(Ctrl-D leaves.)"


class Reader(Protocol):
    """A prompt on the terminal."""

    async def read(self, text: str = "") -> str | None:
        """Return the next input, which may have several lines; None if the user leaves.

        Args:
            text: initial text for the user to edit.
        """

    async def confirm(self, question: str) -> bool:
        """Ask a question, and return whether the user answers yes."""

    async def ask_line(self, question: str) -> str | None:
        """Ask for a line that is typed after the question appeared; None after Ctrl-D.

        Text that was typed earlier is kept for the next prompt.

        Raises:
            KeyboardInterrupt: the user pressed Ctrl-C. `PlainReader` raises this only while no work is
                running; otherwise, Ctrl-C stops the work.
        """

    def interrupt(self) -> None:
        """Handle a Ctrl-C that arrived as a signal while no work was running."""


class PlainReader:
    """Reads lines that the terminal edits itself; a backslash at the end of a line continues the input."""

    def __init__(self) -> None:
        self._rest = b""
        self._ready: asyncio.Future[bool] | None = None

    async def read(self, text: str = "") -> str | None:
        """Return the next input. After Ctrl-D, return the unfinished lines, or None if there are none."""
        if text:
            print(f"Not answered: {text}")
        lines: list[str] = []
        while True:
            try:
                line = await self._read_line("  " if lines else "> ")
            except KeyboardInterrupt:
                print(f"\n{HOW_TO_LEAVE}")
                lines = []
                continue
            if line is None:
                return "\n".join(lines) or None
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line[:-1])

    async def confirm(self, question: str) -> bool:
        """Ask for y or n."""
        try:
            return (await self.ask_line(f"{question} [y/N] ") or "").strip().lower() in ("y", "yes")
        except KeyboardInterrupt:
            print()
            return False

    async def ask_line(self, question: str) -> str | None:
        """Ask for a line; lines that were typed before the question appeared remain for the next prompt."""
        typed_before = self._rest
        self._rest = b""
        while select.select([0], [], [], 0)[0] and (piece := os.read(0, PIECE)):
            typed_before += piece
        try:
            return await self._read_line(question)
        finally:
            self._rest = typed_before + self._rest

    def interrupt(self) -> None:
        """Clear the input after Ctrl-C, which arrives as a signal here."""
        if self._ready is not None and not self._ready.done():
            self._rest = b""
            self._ready.set_result(False)

    async def _read_line(self, prompt: str) -> str | None:
        """Return the next line; None at the end of the input.

        Raises:
            KeyboardInterrupt: `interrupt` was called.
        """
        print(prompt, end="", flush=True)
        while b"\n" not in self._rest:
            if not await self._wait_for_input():
                raise KeyboardInterrupt
            piece = os.read(0, PIECE)
            if not piece:
                print()
                return None
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    async def _wait_for_input(self) -> bool:
        """Wait until stdin can be read; return False if `interrupt` was called first."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[bool] = loop.create_future()

        def set_ready() -> None:
            if not ready.done():
                ready.set_result(True)

        self._ready = ready
        loop.add_reader(0, set_ready)
        try:
            return await ready
        finally:
            loop.remove_reader(0)
            self._ready = None
