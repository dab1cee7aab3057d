"""`jumpseat chat --tools` on a terminal: the questions about calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scenario import Scenario
from tests.fakes.terminal import Terminal, list_visible_lines
from tests.fakes.tool_steps import START, call, question, result, status, wait_for_decisions
from tests.unit.cli.commands.tool_chats import ANSWERS, END, list_decisions
from tests.unit.cli.test_program import argv

pytestmark = pytest.mark.timeout(60)
CANCELLED = {"error": {"code": -32800, "message": "Cancelled.", "data": {"kind": "cancelled"}}}


def ask_on_a_terminal(
    folder: Path, *steps: dict[str, Any], end: list[dict[str, Any]] = END
) -> tuple[Scenario, Terminal]:
    """Ask a question with tools on a terminal."""
    scenario = Scenario.chat(folder, [START, *steps, *end], answers=ANSWERS)
    return scenario, Terminal(argv(scenario, "chat", "--tools", "shed", "Go"))


def test_the_user_is_asked_on_a_terminal_and_the_answer_continues(tmp_path: Path) -> None:
    text = {"delta": {"type": "text_delta", "block": 0, "text": "I will *dig*."}}
    scenario, terminal = ask_on_a_terminal(
        tmp_path,
        text,
        *call("shed__dig"),
        question(),
        wait_for_decisions(),
        status("completed"),
        result("A hole."),
    )
    terminal.read_until(lambda output: b"Allow it? [y/n/a/A/e] " in output)
    # The spinner hides the cursor until it is paused.
    assert terminal.output.rindex(b"\x1b[?25h") > terminal.output.rindex(b"\x1b[?25l")
    terminal.type(b"y\r")
    code, output = terminal.finish()

    assert code == 0
    assert [line for line in list_visible_lines(output) if line] == [
        "I will dig.",
        "? Dig a hole · shed/dig",
        "  depth: 2",
        "y: yes · n: no · a: allow this tool in this conversation · A: always allow this",
        "tool · e: no, and explain why",
        "Allow it? [y/n/a/A/e] y",
        "✓ shed/dig · A hole.",
        "Done.",
    ]
    assert list_decisions(scenario) == [{"turnId": "t", "toolUseId": "c1", "decision": "allow"}]


def test_keys_typed_before_the_question_do_not_answer_it(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    text = {"delta": {"type": "text_delta", "block": 0, "text": "I will dig.\n\n"}}
    scenario, terminal = ask_on_a_terminal(
        tmp_path,
        text,
        {"wait": "file", "path": str(seen)},
        question(),
        wait_for_decisions(),
        result("Denied."),
    )
    terminal.read_until(lambda output: b"I will dig" in output)
    terminal.type(b"y\r")
    # The terminal echoes the keys once it has them.
    terminal.read_until(lambda output: b"y\r\n" in output)
    seen.touch()
    terminal.read_until(lambda output: b"Allow it? [y/n/a/A/e] " in output)
    terminal.type(b"n\r")
    terminal.finish()

    assert [each["decision"] for each in list_decisions(scenario)] == ["deny"]


def test_ctrl_c_at_a_question_cancels_the_turn(tmp_path: Path) -> None:
    scenario, terminal = ask_on_a_terminal(tmp_path, question(), {"wait": "cancel"}, end=[CANCELLED])
    terminal.read_until(lambda output: b"Allow it? " in output)
    terminal.type(b"\x03")
    code, _ = terminal.finish()

    assert code == 130
    assert len(scenario.read_messages("$/cancelRequest")) == 1
    assert list_decisions(scenario) == []


def test_the_end_of_the_input_denies_the_call(tmp_path: Path) -> None:
    scenario, terminal = ask_on_a_terminal(tmp_path, question(), wait_for_decisions(), result("Denied."))
    terminal.read_until(lambda output: b"Allow it? " in output)
    terminal.type(b"\x04")
    code, _ = terminal.finish()

    assert code == 0
    assert [each["decision"] for each in list_decisions(scenario)] == ["deny"]


def test_a_remembered_answer_covers_the_other_calls_of_the_tool(tmp_path: Path) -> None:
    scenario, terminal = ask_on_a_terminal(
        tmp_path,
        question("c1"),
        question("c2"),
        question("c3", tool="rake"),
        wait_for_decisions(1),
        status("running", "c1"),
        status("running", "c2"),
        wait_for_decisions(2),
        result("One.", "c1"),
        result("Two.", "c2"),
        result("Three.", "c3", tool="shed/rake"),
    )
    terminal.read_until(lambda output: b"Allow it? " in output)
    terminal.type(b"a\r")
    terminal.read_until(lambda output: output.count(b"Allow it? ") == 2)
    terminal.type(b"y\r")
    _, output = terminal.finish()

    assert output.count("Allow it? ") == 2
    assert output.index("Two.") > output.rindex("Allow it? ")
    assert list_decisions(scenario) == [
        {
            "turnId": "t",
            "toolUseId": "c1",
            "decision": "allow",
            "remember": "conversation",
            "scope": "tool",
        },
        {"turnId": "t", "toolUseId": "c3", "decision": "allow"},
    ]


def test_other_calls_are_not_shown_while_a_question_is_on_the_screen(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    _, terminal = ask_on_a_terminal(
        tmp_path,
        question("c1"),
        {"wait": "file", "path": str(asked)},
        status("running", "c2"),
        status("completed", "c2"),
        result("ok", "c2", tool="shed/rake"),
        wait_for_decisions(),
        result("ok"),
    )
    # An answer that is not understood leaves the question open while the other call runs.
    for number, keys in enumerate((b"?\r", b"?\r", b"?\r", b"y\r"), 1):
        terminal.read_until(lambda output, number=number: output.count(b"Allow it? ") == number)
        asked.touch()
        terminal.type(keys)
    _, output = terminal.finish()

    assert output.index("✓ shed/rake") > output.rindex("Allow it? ")


def test_a_call_whose_tool_has_changed_is_asked_about_although_it_was_covered(tmp_path: Path) -> None:
    scenario, terminal = ask_on_a_terminal(
        tmp_path, question("c1"), question("c2", reason="changed"), wait_for_decisions(2), result("ok", "c1")
    )
    for keys in (b"A\r", b"n\r"):
        asked = terminal.output.count(b"Allow it? ")
        terminal.read_until(lambda output, asked=asked: output.count(b"Allow it? ") > asked)
        terminal.type(keys)
    _, output = terminal.finish()

    assert "The tool has changed since you allowed it." in output
    assert [each["decision"] for each in list_decisions(scenario)] == ["allow", "deny"]


def test_the_spinner_shows_the_call_that_runs(tmp_path: Path) -> None:
    _, terminal = ask_on_a_terminal(
        tmp_path,
        *call("shed__dig", depth=2),
        status("running", message="Digging", progress=1, total=4),
        {"wait": "cancel"},
        end=[CANCELLED],
    )
    terminal.read_until(lambda output: b"Running shed/dig depth=2: Digging: 25%" in output)
    terminal.type(b"\x03")

    assert terminal.finish()[0] == 130
