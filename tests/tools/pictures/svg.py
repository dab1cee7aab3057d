"""Converts a recorded terminal to an animated SVG, which a README can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any, TypeAlias

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 8.4, 18, 14
MARGIN, BAR = 14, 28
"""The pixels around the text, and the height of the window's bar in pixels."""

LAST_FRAME_SECONDS = 4.0

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
"""Replaces the spaces at the ends of a text, which SVG would drop."""

BACKGROUND, FOREGROUND = "#1c2128", "#d5dbe3"
COLOURS = {
    "black": "#545d68", "red": "#f47067", "green": "#7fc87f", "brown": "#daaa3f", "blue": "#6cb6ff",
    "magenta": "#dcbdfb", "cyan": "#76e3ea", "white": "#d5dbe3", "brightblack": "#768390",
}  # fmt: skip
"""The colours by pyte's names. pyte writes other colours as six hexadecimal digits."""


@dataclass(frozen=True)
class Style:
    """How a run of characters looks."""

    colour: str
    background: str | None
    bold: bool
    italic: bool
    underlined: bool


Row: TypeAlias = tuple[tuple[int, int, str, Style], ...]
"""The runs of a line: column, number of cells, text, style."""


@dataclass(frozen=True)
class Frame:
    """A screen, and the time at which it was seen, in seconds from the beginning."""

    at: float
    rows: tuple[Row, ...]


def frame_of(screen: Any, at: float) -> Frame:
    """Return the frame of a pyte screen."""
    return Frame(at, tuple(_row(screen.buffer[number], screen.columns) for number in range(screen.lines)))


def _row(characters: Any, columns: int) -> Row:
    runs = []
    numbered = ((column, characters[column]) for column in range(columns))
    for style, run in groupby(numbered, key=lambda each: _style(each[1])):
        placed = list(run)
        text = "".join(cell.data for _, cell in placed)
        if text.strip() or style.background:
            shown = text if style.background else text.rstrip()
            runs.append((placed[0][0], len(placed) - len(text) + len(shown), shown, style))
    return tuple(runs)


def _style(cell: Any) -> Style:
    colour, background = _colour(cell.fg, FOREGROUND), _colour(cell.bg, None)
    if cell.reverse:
        colour, background = background or BACKGROUND, colour
    return Style(colour or FOREGROUND, background, cell.bold, cell.italics, cell.underscore)


def _colour(name: str, default: str | None) -> str | None:
    if name == "default":
        return default
    known = COLOURS.get(name) or COLOURS.get(name.removeprefix("bright"))
    return known or f"#{name}"


def picture(frames: Sequence[Frame], columns: int, title: str) -> str:
    """Return an SVG that shows these frames again and again. With only one frame, it is a still picture.

    A line that is the same in consecutive frames is only one element, so that the SVG of a growing answer is
    small.
    """
    lines = len(frames[0].rows)
    width, height = columns * CELL_WIDTH + 2 * MARGIN, lines * CELL_HEIGHT + BAR + MARGIN
    total = frames[-1].at + LAST_FRAME_SECONDS
    style = f"font:{FONT_SIZE}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    shown = (element for number in range(lines) for element in _line(frames, number, total))
    dots = "".join(
        f'<circle cx="{18 + 18 * place}" cy="14" r="5" fill="{colour}"/>'
        for place, colour in enumerate(("#f47067", "#daaa3f", "#7fc87f"))
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            dots,
            f'<g style="{style}">',
            *shown,
            "</g>",
            "</svg>\n",
        ]
    )


def _line(frames: Sequence[Frame], number: int, total: float) -> Iterator[str]:
    for row, run in groupby(frames, key=lambda frame: frame.rows[number]):
        same = list(run)
        if not row:
            continue
        start, last = same[0], frames.index(same[-1])
        end = frames[last + 1].at if last + 1 < len(frames) else total
        text = "".join(_run(number, *each) for each in row)
        if start is frames[0] and end == total:
            yield f"<g>{text}</g>"
        else:
            yield f'<g visibility="hidden">{text}{_visible(start.at / total, end / total, total)}</g>'


def _visible(start: float, end: float, total: float) -> str:
    times, values = ["0"], ["hidden"]
    if start <= 0:
        values = ["visible"]
    else:
        times.append(f"{start:.4f}")
        values.append("visible")
    if end < 1:
        times.append(f"{end:.4f}")
        values.append("hidden")
    return (
        f'<animate attributeName="visibility" calcMode="discrete" dur="{total:.2f}s" '
        f'repeatCount="indefinite" keyTimes="{";".join(times)}" values="{";".join(values)}"/>'
    )


def _run(line: int, column: int, cells: int, text: str, style: Style) -> str:
    left, top = MARGIN + column * CELL_WIDTH, BAR + line * CELL_HEIGHT
    drawn = ""
    if style.background:
        drawn = (
            f'<rect x="{left:g}" y="{top:g}" width="{cells * CELL_WIDTH:g}" height="{CELL_HEIGHT}" '
            f'fill="{style.background}"/>'
        )
    if not text.strip():
        return drawn
    more = (
        (' font-weight="bold"' if style.bold else "")
        + (' font-style="italic"' if style.italic else "")
        + (' text-decoration="underline"' if style.underlined else "")
    )
    # The length keeps the columns aligned if the reader's font has another width.
    length = f' textLength="{cells * CELL_WIDTH:g}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'{drawn}<text x="{left:g}" y="{top + 14:g}" fill="{style.colour}"{more}{length}>'
        f"{escape(text).replace(' ', NO_BREAK_SPACE)}</text>"
    )
