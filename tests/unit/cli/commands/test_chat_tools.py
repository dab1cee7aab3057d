"""`jumpseat chat --tools`: the options, the lines about calls, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.tool_steps import START, call, question, result, status, wait_for_decisions
from tests.unit.cli.commands.test_chat_inputs import CommandLine, jumpseat
from tests.unit.cli.commands.tool_chats import ANSWERS, END, list_decisions

pytestmark = pytest.mark.timeout(60)
__all__ = ["jumpseat"]  # Pytest finds this fixture by its name.


def script(jumpseat: CommandLine, *steps: dict[str, Any], end: list[dict[str, Any]] = END) -> None:
    """Script one chat."""
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, [START, *steps, *end], answers=ANSWERS))


def test_the_options_select_tools_and_restrict_them(
    jumpseat: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    script(jumpseat)
    code, _, _ = jumpseat(
        "chat", "--tools", "files, github/search_*", "--tools", "db", "--deny", "db/drop_*",
        "--max-rounds", "3", "--workspace", "a", "--workspace", ".", "Go",
    )  # fmt: skip

    assert code == 0
    assert jumpseat.asked["daemonTools"] == ["files/*", "github/search_*", "db/*"]
    assert jumpseat.asked["workspaceFolders"] == [str(tmp_path / "a"), str(tmp_path)]
    assert jumpseat.asked["maxRounds"] == 3
    (initialize,) = jumpseat.scenario.read_messages("initialize")
    assert initialize["params"]["initializationOptions"]["config"] == {"tools": {"deny": ["db/drop_*"]}}
    assert initialize["params"]["capabilities"]["experimental"] == {"jumpseat": {"approveTools": True}}


def test_denials_are_added_to_those_of_the_overlay(jumpseat: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "project.toml"
    file.write_text('[tools]\nask = ["shed/dig"]\ndeny = ["db/*"]\n[mcp.x]\ncommand = ["x"]\n', "utf-8")
    script(jumpseat)
    jumpseat("chat", "--tools", "shed", "--overlay", str(file), "--deny", "shed/rake", "Go")

    (initialize,) = jumpseat.scenario.read_messages("initialize")
    assert initialize["params"]["initializationOptions"]["config"] == {
        "tools": {"ask": ["shed/dig"], "deny": ["db/*", "shed/rake"]},
        "mcp": {"x": {"command": ["x"]}},
    }


def test_the_workspace_is_the_working_directory_by_default(
    jumpseat: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script(jumpseat)
    jumpseat("chat", "--tools", "files", "Go")

    assert jumpseat.asked["workspaceFolders"] == [str(tmp_path)]
    assert "maxRounds" not in jumpseat.asked


def test_a_chat_without_tools_declares_and_sends_nothing_about_them(jumpseat: CommandLine) -> None:
    jumpseat("chat", "Go")

    assert jumpseat.asked.keys() == {"messages", "keep", "workDoneToken"}
    assert "experimental" not in jumpseat.scenario.read_messages("initialize")[0]["params"]["capabilities"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tools", "files,,db"), "'' is not a selector of tools"),
        (("--tools", "/read"), "'/read' is not a selector of tools"),
        (("--allow", "files/"), "'files/' is not a selector of tools"),
        (("--allow", "files"), "require --tools"),
        (("--max-rounds", "2"), "require --tools"),
        (("--tools", "files", "--no-stream"), "--no-stream and --tools cannot be combined"),
        (("--tools", "files", "--workspace", "no-such-directory"), "does not exist"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(jumpseat: CommandLine, options: tuple[str, ...], message: str) -> None:
    code, _, error = jumpseat("chat", *options, "Go")

    assert (code, message in error) == (2, True)


def test_each_call_is_one_line_on_stderr_between_the_texts(jumpseat: CommandLine) -> None:
    text = {"delta": {"type": "text_delta", "block": 0, "text": "I dig."}}
    script(
        jumpseat,
        text,
        *call("shed__dig", "c1", depth=2, where="here\x1b[2J\nand there"),
        *call("shed__rake", "c2"),
        *call("shed__plant_a_tree", "c3", kind="oak" * 100),
        *call("shed__rest", "c4"),
        status("running"),
        status("completed"),
        status("failed", "c2"),
        status("denied", "c3"),
        status("completed", "c4"),
        result("one\ntwo\nthree\n"),
        result("There is\x1b[2J no\trake.\nBuy one.", "c2", tool="shed/rake", isError=True),
        result("The user denied this call.", "c3", tool="shed/plant_a_tree", isError=True),
        result("", "c4", tool="shed/rest"),
    )
    code, out, error = jumpseat("chat", "--tools", "shed", "Go")

    assert (code, out) == (0, "I dig.\nDone.\n")
    first, second, third, fourth = error.splitlines()
    assert first == "✓ shed/dig depth=2 where=here and there · 3 lines"
    assert second == "✗ shed/rake · failed: There is no rake."
    assert third.startswith("✗ shed/plant_a_tree kind=oakoak")
    assert third.endswith("… · The user denied this call.")
    assert len(third) < 200
    assert fourth == "✓ shed/rest · no output"


def test_results_of_several_parts_and_calls_without_a_status_are_shown(jumpseat: CommandLine) -> None:
    parts = [{"type": "text", "text": "A chart:"}, {"type": "image", "source": "x", "mediaType": "image/png"}]
    block = {"type": "tool_result", "toolUseId": "c1", "content": parts}
    image = {"type": "tool_result", "toolUseId": "c3", "content": parts[1:]}
    script(
        jumpseat,
        *call("shed__draw"),
        {"delta": {"type": "block_done", "block": 1, "content": block}},
        result("The limit of calls is reached.", "c2", isError=True),
        {"delta": {"type": "block_done", "block": 1, "content": image}},
    )
    code, _, error = jumpseat("chat", "--tools", "shed", "Go")

    assert code == 0
    assert error.splitlines() == [
        "✓ shed/draw · 2 lines",
        "✗ shed/dig · failed: The limit of calls is reached.",
        "✓ a tool · [image]",
    ]


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ({}, "Add --allow shed/dig, or use a terminal."),
        ({"reason": "changed"}, "Add --allow shed/dig, or use a terminal."),
        ({"reason": "rule", "remember": []}, "Remove the rule that matches it from 'ask'"),
        ({"reason": "outside", "remember": []}, "Add its directory with --workspace"),
    ],
    ids=["ask", "changed", "rule", "outside"],
)
def test_a_question_without_a_terminal_is_a_denial_and_exit_code_3(
    jumpseat: CommandLine, more: dict[str, Any], hint: str
) -> None:
    script(
        jumpseat,
        *call("shed__dig"),
        question(**more),
        wait_for_decisions(),
        status("denied"),
        result("Denied."),
    )
    code, out, error = jumpseat("chat", "--tools", "shed", "--allow", "shed/rake", "Go")

    assert (code, out) == (3, "Done.\n")
    line, message, advice = error.splitlines()
    assert line == "✗ shed/dig · Denied."
    assert message == (
        "jumpseat: A call of shed/dig was denied: without a terminal, jumpseat cannot ask for your approval."
    )
    assert advice.startswith(f"hint: {hint}")
    (decision,) = list_decisions(jumpseat.scenario)
    assert decision == {
        "turnId": "t",
        "toolUseId": "c1",
        "decision": "deny",
        "message": "The command has no terminal, so nobody could be asked.",
    }


@pytest.mark.parametrize("selector", ["shed/dig", "shed/d*", "shed", "db,shed/dig"])
def test_allowed_calls_are_not_asked_about(jumpseat: CommandLine, selector: str) -> None:
    script(
        jumpseat, *call("shed__dig"), question(), wait_for_decisions(), status("completed"), result("A hole.")
    )
    code, _, error = jumpseat("chat", "--tools", "shed", "--allow", selector, "Go")

    assert (code, error) == (0, "✓ shed/dig · A hole.\n")
    assert list_decisions(jumpseat.scenario) == [{"turnId": "t", "toolUseId": "c1", "decision": "allow"}]


@pytest.mark.parametrize("reason", ["rule", "outside"])
def test_rules_that_ask_and_other_directories_are_not_covered_by_allow(
    jumpseat: CommandLine, reason: str
) -> None:
    script(
        jumpseat,
        question(reason=reason, remember=[]),
        wait_for_decisions(),
        status("denied"),
        result("Denied."),
    )
    code, _, _ = jumpseat("chat", "--tools", "shed", "--allow", "shed", "Go")

    assert code == 3
    assert list_decisions(jumpseat.scenario)[0]["decision"] == "deny"


def test_json_has_the_calls_and_the_error_of_a_denial(jumpseat: CommandLine) -> None:
    steps = [
        *call("shed__dig"),
        *call("shed__rake", "c2"),
        *call("mine", "c3"),
        question(),
        wait_for_decisions(),
        status("denied"),
        status("completed", "c2"),
        result("Denied."),
        result("ok", "c2", tool="shed/rake"),
    ]
    script(jumpseat, *steps)
    code, out, error = jumpseat("chat", "--tools", "shed", "--json", "Go")
    document = json.loads(out)

    assert (code, error, document["text"]) == (3, "", "Done.")
    assert document["calls"] == [
        {"toolUseId": "c1", "tool": "shed/dig", "status": "denied"},
        {"toolUseId": "c2", "tool": "shed/rake", "status": "completed"},
    ]
    assert document["error"]["data"] == {"kind": "client", "hint": "Add --allow shed/dig, or use a terminal."}


def test_json_without_a_denial_has_no_error(jumpseat: CommandLine) -> None:
    script(jumpseat, *call("shed__dig"), status("completed"), result("ok"))
    code, out, _ = jumpseat("chat", "--tools", "shed", "--json", "Go")

    assert (code, "error" in json.loads(out)) == (0, False)


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--tools", "shad"], "There is no tool server shad. Did you mean shed?", "shed, files, github, db"),
        (["--tools", "shed/dog"], "There is no tool shed/dog. Did you mean shed/dig?", "shed/dig, shed/rake"),
        (["--tools", "shed", "--allow", "x"], "There is no tool server x.", "shed, files, github, db"),
        (["--tools", "shed", "--deny", "shed/b*"], "There is no tool shed/b*.", "shed/dig, shed/rake"),
    ],
    ids=["server", "tool", "allowed", "denied"],
)
def test_selectors_that_match_nothing_are_an_error_before_the_chat(
    jumpseat: CommandLine, options: list[str], message: str, hint: str
) -> None:
    script(jumpseat)
    code, out, error = jumpseat("chat", *options, "Go")

    first, second = error.splitlines()
    assert (code, out, first) == (1, "", f"jumpseat: {message}")
    assert second.endswith(f"s are: {hint}")
    assert not jumpseat.scenario.read_messages("chat/start")


def test_a_server_that_is_not_running_may_have_other_tools(jumpseat: CommandLine) -> None:
    script(jumpseat)

    assert jumpseat("chat", "--tools", "db/new", "Go")[0] == 0


@pytest.mark.parametrize(
    ("ids", "hint"),
    [
        ({"conversationId": "c"}, "to continue it, add -c to the command and ask `Go on.`"),
        ({}, "it cannot be continued, because it is not kept."),
    ],
    ids=["kept", "not kept"],
)
def test_a_limit_of_rounds_is_a_warning(jumpseat: CommandLine, ids: dict[str, str], hint: str) -> None:
    start = {"delta": {**START["delta"], **ids}}
    end = answer_steps("", stop_reason="max_rounds")[1:]
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, [start, *end], answers=ANSWERS))
    code, _, error = jumpseat("chat", "--tools", "shed", "Go")

    assert code == 0
    assert error == f"warning: the answer reached the limit of tool calls; {hint}\n"
