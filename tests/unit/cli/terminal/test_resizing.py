"""A terminal that is resized during an answer shows the whole answer exactly once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.screen import CuttingScreen, Screen
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]

FIRST = [f"a{number:03}" for number in range(100)]
LAST = [f"b{number:03}" for number in range(20)]


def piece(text: str) -> dict[str, Any]:
    return {"delta": {"type": "text_delta", "block": 0, "text": text}}


def resize_between(
    folder: Path, before: str, after: str, to: tuple[int, int], kind: type[Screen] = Screen
) -> Screen:
    """Return the final screen after a resize between two pieces of an answer."""
    go = folder / "go"
    start, begin, *end = answer_steps()
    waiting = {"wait": "file", "path": str(go)}
    scenario = Scenario.chat(folder, [start, begin, piece(before), waiting, piece(after), *end])
    # Some shells export the initial size in these variables.
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24"}
    if kind is CuttingScreen:
        # This variable tells the command line that a narrower terminal cuts long rows.
        environment["XTERM_VERSION"] = "XTerm(390)"
    command = [sys.executable, "-m", "tests.fakes.cli", json.dumps(scenario.command), "chat", "Hi"]
    terminal = Terminal(command, {name: value for name, value in environment.items() if name != "TMUX"})
    screen = kind(24, 80)
    terminal.read_until(lambda output: before.split()[-1].encode() in output)
    screen.show(terminal.output)
    drawn = len(terminal.output)
    terminal.resize(*to)
    screen.resize(*to)
    go.touch()
    code, _ = terminal.finish()
    screen.show(terminal.output[drawn:])
    assert code == 0
    return screen


SIZES = [(24, 40), (24, 33), (24, 120), (5, 80), (40, 80)]


@pytest.mark.parametrize(
    ("kind", "to"),
    [*((Screen, to) for to in [*SIZES, (5, 40)]), *((CuttingScreen, to) for to in SIZES)],
    ids=str,
)
def test_each_word_of_a_paragraph_is_printed_once(
    tmp_path: Path, kind: type[Screen], to: tuple[int, int]
) -> None:
    text = "Before it.\n\n" + " ".join(FIRST)
    screen = resize_between(tmp_path, text, " " + " ".join(LAST) + "\n\nAfter it.\n", to, kind)

    # Ignore white space, because a terminal wraps between any two characters.
    assert "".join("".join(screen.rows).split()) == "".join(["Beforeit.", *FIRST, *LAST, "Afterit."])


def test_the_rest_of_a_code_block_is_rendered_as_code(tmp_path: Path) -> None:
    code = "".join(f"call_{number}(" + "x" * 60 + ")\n" for number in range(5))
    screen = resize_between(
        tmp_path, f"```py\n{code}last", "_line()\n# not a title\n```\n\nAfter *it*.\n", (24, 40)
    )

    rows = [row.strip() for row in screen.rows if row.strip()]
    assert rows[-4:] == ["last", "_line()", "# not a title", "After it."]
    assert "".join(rows).count("call_") == 5


def test_short_rows_are_redrawn_in_the_new_width(tmp_path: Path) -> None:
    screen = resize_between(
        tmp_path, "- one\n- *two", "* and more words than the new width has room for\n", (24, 30)
    )

    rows = [row.strip() for row in screen.rows if row.strip()]
    assert rows == ["• one", "• two and more words than the", "new width has room for"]


def test_each_row_is_printed_once_if_rows_cannot_be_erased(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps("Some *words*", " in\n", "two lines.\n\nEnd.\n"))
    command = [sys.executable, "-m", "tests.fakes.cli", json.dumps(scenario.command), "chat", "Hi"]
    code, output = Terminal(["env", "TERM=dumb", *command]).finish()

    assert code == 0
    assert output.split("\n")[-4:] == ["Some words in two lines.\r", "\r", "End.\r", ""]
    assert "\x1b[2K" not in output
