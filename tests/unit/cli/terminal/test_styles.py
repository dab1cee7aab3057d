"""Styled lines: diffs in colour on terminals, and with hidden characters made visible."""

from __future__ import annotations

import sys

import pytest

from jumpseat_cli.terminal.styles import print_diff
from tests.fakes.terminal import Terminal

LINES = ["@@ -1 +1 @@", "-old\x1b[2K", "+new\u202e\tx", "\\ No newline at end of file"]
PRINT = f"from jumpseat_cli.terminal.styles import print_diff\nprint_diff({LINES!r}, err=True)"


def test_hidden_characters_of_a_diff_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_diff(LINES)
    out, error = capsys.readouterr()

    assert out.splitlines() == [
        "@@ -1 +1 @@",
        "-old\\x1b[2K",
        "+new\\u202e\tx",
        "\\ No newline at end of file",
    ]
    assert error == ""


@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["colours", "NO_COLOR", "dumb"],
)
def test_a_diff_is_coloured_on_a_terminal_unless_colours_are_off(
    variables: dict[str, str], is_coloured: bool
) -> None:
    given = [f"{name}={value}" for name, value in variables.items()]
    code, output = Terminal(["env", *given, sys.executable, "-c", PRINT]).finish()

    assert (code, "new\\u202e" in output) == (0, True)
    assert ("\x1b[31m-old" in output, "\x1b[32m+new" in output) == (is_coloured, is_coloured)
