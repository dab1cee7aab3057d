"""The screens of resizable terminals, which wrap or cut long rows."""

from __future__ import annotations

from collections import deque
from typing import Any

import pyte


class Screen(pyte.HistoryScreen):
    """A terminal that wraps long rows when it becomes narrower, with its scrollback.

    pyte itself cuts long rows, and loses the cursor position when there are fewer rows.
    """

    wraps = True

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self)

    def show(self, output: bytes) -> None:
        """Process the output of a command."""
        self._stream.feed(output)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Resize the screen, and move the rows that no longer fit to the scrollback, as terminals do."""
        if not hasattr(self, "_stream"):  # pyte's constructor calls this.
            return super().resize(lines, columns)
        assert lines is not None
        assert columns is not None
        rows: list[list[Any]] = []
        cursor_row = 0
        for number in range(self.cursor.y + 1):
            row = self._cells(self.buffer[number])
            cursor_row = len(rows)
            size = columns if self.wraps else max(len(row), 1)
            rows += [row[start : start + size] for start in range(0, max(len(row), 1), size)]
        hidden = max(0, cursor_row + 1 - lines)
        column = min(self.cursor.x, columns - 1)
        super().resize(lines, columns)
        self.buffer.clear()
        for row in rows[:hidden]:
            self.history.top.append(dict(enumerate(row)))
        for number, row in enumerate(rows[hidden:]):
            for place, cell in enumerate(row[:columns]):
                self.buffer[number][place] = cell
        self.cursor.y, self.cursor.x = cursor_row - hidden, column
        return None

    @property
    def rows(self) -> list[str]:
        """All rows, the scrollback first."""
        seen = [*self.history.top, *(self.buffer[number] for number in range(self.lines))]
        return ["".join(cell.data for cell in self._cells(row)) for row in seen]

    @staticmethod
    def _cells(row: Any) -> list[Any]:
        """Return the cells of a row up to the last one that is not blank."""
        blank = pyte.screens.Char(" ")
        cells = deque(row.get(place, blank) for place in range(max(row, default=-1) + 1))
        while cells and cells[-1].data == " ":
            cells.pop()
        return list(cells)


class CuttingScreen(Screen):
    """A terminal that cuts long rows, as xterm does."""

    wraps = False
