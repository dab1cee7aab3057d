"""Records what a terminal shows while a command runs in it."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence

from tests.fakes.screen import Screen
from tests.fakes.terminal import LIMIT_SECONDS, Terminal
from tests.tools.pictures.svg import Frame, frame_of

KEY_SECONDS = 0.04
"""The seconds between two keys, so that the animation shows the typing."""


class Recorder:
    """A terminal that records its screens with their times."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], rows: int, columns: int) -> None:
        self.terminal = Terminal(command, env)
        self.terminal.resize(rows, columns)
        self.screen = Screen(rows, columns)
        # pyte answers programs that ask for the cursor's position.
        self.screen.write_process_input = self._answer
        self.frames: list[Frame] = []
        self._shown = 0
        self._began = time.monotonic()

    def _answer(self, data: str) -> None:
        self.terminal.type(data.encode())

    def keep(self) -> None:
        """Record the current screen, unless it is the same as the last recorded one."""
        self.screen.show(self.terminal.output[self._shown :])
        self._shown = len(self.terminal.output)
        frame = frame_of(self.screen, time.monotonic() - self._began)
        if not self.frames or frame.rows != self.frames[-1].rows:
            self.frames.append(frame)

    def record_for(self, seconds: float) -> None:
        """Record for this many seconds."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.terminal.screen], [], [], left)[0]:
                self.terminal.output += os.read(self.terminal.screen, 65_536)
                self.keep()

    def record_until(self, text: str) -> None:
        """Record until the screen contains this text."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not any(text in row for row in self.screen.rows):
            assert time.monotonic() < deadline, "\n".join(self.screen.rows)
            self.record_for(0.02)

    def type(self, text: str) -> None:
        """Type a line key by key, and press Enter."""
        for key in text:
            self.terminal.type(key.encode())
            self.record_for(KEY_SECONDS)
        self.terminal.type(b"\r")
