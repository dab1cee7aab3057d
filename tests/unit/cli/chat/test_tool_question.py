"""The question about a call: the details that it shows, and the answers that it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jumpseat_cli.chat.tool_question import MAX_LINE, MAX_LINES, ToolQuestion
from jumpseat_client import Delta, ToolApproval, ToolDecision
from tests.fakes.tool_steps import question


def approval(**more: Any) -> ToolApproval:
    found = Delta(question(**more)["delta"], 1, "t1").tool_approval
    assert found is not None
    return found


async def ask(
    *answers: str | None, folders: Sequence[str] = ("/w",), **more: Any
) -> tuple[ToolDecision, list[str]]:
    """Ask a question that receives these answers; return the decision and the prompts."""
    prompts: list[str] = []
    left = [*answers]

    async def ask_line(prompt: str) -> str | None:
        prompts.append(prompt)
        return left.pop(0)

    decision = await ToolQuestion(approval(**more), folders).ask(ask_line)
    assert left == []
    return decision, prompts


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        (["y"], ToolDecision(True)),
        ([" YES "], ToolDecision(True)),
        (["n"], ToolDecision(False)),
        (["No"], ToolDecision(False)),
        (["a"], ToolDecision(True, "conversation")),
        (["A"], ToolDecision(True, "always")),
        (["always"], ToolDecision(True, "always")),
        (["e", "It is a quote. "], ToolDecision(False, message="It is a quote.")),
        (["e", ""], ToolDecision(False)),
        (["e", None], ToolDecision(False)),
        ([None], ToolDecision(False)),
        (["", "yeah", "d", "y "], ToolDecision(True)),
    ],
    ids=str,
)
async def test_each_answer_becomes_a_decision(answers: list[str | None], decision: ToolDecision) -> None:
    assert (await ask(*answers))[0] == decision


@pytest.mark.parametrize(
    ("remember", "prompt", "answers"),
    [
        ([], "Allow it? [y/n/e] ", ["a", "A", "n"]),
        (["turn", "always"], "Allow it? [y/n/a/A/e] ", ["n"]),
        (["turn"], "Allow it? [y/n/a/e] ", ["A", "n"]),
    ],
)
async def test_only_what_the_daemon_remembers_is_offered(
    capsys: pytest.CaptureFixture[str], remember: list[str], prompt: str, answers: list[str]
) -> None:
    decision, prompts = await ask(*answers, remember=remember)

    assert (decision, prompts) == (ToolDecision(False), [prompt] * len(answers))
    assert ("a: allow this tool in this answer" in capsys.readouterr().err) == ("turn" in remember)


async def test_allowing_a_tool_for_this_answer_is_remembered_for_the_turn() -> None:
    assert (await ask("a", remember=["turn", "always"]))[0] == ToolDecision(True, "turn")


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({}, ["? Dig a hole · shed/dig", "  depth: 2"]),
        ({"title": 'shed/dig {"depth":2}'}, ['? shed/dig {"depth":2}']),
        ({"title": "shed/dig …"}, ["? shed/dig …", "  depth: 2"]),
        ({"arguments": {}}, ["? Dig a hole · shed/dig"]),
        (
            {"arguments": {"text": "one\n\ttwo", "deep": {"x": [1, "ü"]}}},
            ["? Dig a hole · shed/dig", "  text:", "    one", "    \ttwo", '  deep: {"x": [1, "ü"]}'],
        ),
        (
            {"reason": "rule"},
            ["? Dig a hole · shed/dig", "  A rule of your configuration asks about each call.", "  depth: 2"],
        ),
        (
            {"diff": [{"uri": "file:///w/a%20b.py", "oldText": "x\n", "newText": "y\u202e\n"}]},
            ["? Dig a hole · shed/dig", "--- a b.py", "+++ a b.py", "@@ -1 +1 @@", "-x", "+y\\u202e"],
        ),
        (
            {
                "diff": [
                    {"uri": "file:///v/new", "newText": "y\n"},
                    {"uri": "untitled:1", "oldText": "", "newText": "z"},
                ]
            },
            [
                "? Dig a hole · shed/dig",
                "--- /dev/null", "+++ /v/new", "@@ -0,0 +1 @@", "+y",
                "--- untitled:1", "+++ untitled:1", "@@ -0,0 +1 @@", "+z", "\\ No newline at end of file",
            ],
        ),
    ],
)  # fmt: skip
async def test_a_question_shows_what_would_run(
    capsys: pytest.CaptureFixture[str], more: dict[str, Any], lines: list[str]
) -> None:
    await ask("n", **more)

    assert capsys.readouterr().err.splitlines()[:-1] == lines


async def test_a_long_diff_is_cut_and_can_be_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    new = "".join(f"line {number}\n" for number in range(400)) + "x" * 5000 + "\n"
    diff = [{"uri": "file:///w/a", "newText": new}]
    _, prompts = await ask("d", "n", diff=diff)
    shown, whole = capsys.readouterr().err.split("d: show all of it\n", 1)

    assert prompts == ["Allow it? [y/n/a/A/e/d] ", "Allow it? [y/n/a/A/e] "]
    # The 404 lines of the diff begin with three lines of headers, and the numbers begin with 0.
    assert f"+line {MAX_LINES - 4}\n… 344 more lines\n" in shown
    assert "+line 399\n" in whole
    assert "x" * 5000 in whole


async def test_a_long_line_is_cut_with_its_length(capsys: pytest.CaptureFixture[str]) -> None:
    diff = [{"uri": "file:///w/a", "newText": "x" * 5000 + "\n"}]
    _, prompts = await ask("n", diff=diff)

    assert prompts == ["Allow it? [y/n/a/A/e/d] "]
    # The `+` before the text counts as well.
    assert "x" * (MAX_LINE - 1) + "… (5001 characters)\n" in capsys.readouterr().err
