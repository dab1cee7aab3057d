"""The client passes each question about a tool call to the program's function.

The daemon is a real process that follows a script.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from jumpseat_client import ChatFailed, Client, SyncClient, ToolApproval, ToolDecision
from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.tool_steps import DECIDED, START, question, status, wait_for_decisions

pytestmark = pytest.mark.timeout(60)

CANCELLED = {"error": {"code": -32800, "message": "Cancelled.", "data": {"kind": "cancelled"}}}
END = answer_steps("Done.")[1:]


def write_question(folder: Path, *steps: dict[str, Any]) -> Scenario:
    """Write a scenario of one chat that asks a question first."""
    return Scenario.chat(folder, [START, question(), *steps], answers=DECIDED)


def client(scenario: Scenario, on_approval: Any) -> Client:
    return Client.spawn(scenario.command, on_approval=on_approval)


def read_decisions(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the decisions that the daemon received."""
    return [message["params"] for message in scenario.read_messages("tools/decide")]


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, {"decision": "allow"}),
        (False, {"decision": "deny"}),
        (None, {"decision": "deny"}),
        ("yes", {"decision": "deny"}),
        (ToolDecision(True, "always"), {"decision": "allow", "remember": "always", "scope": "tool"}),
        (ToolDecision(True, "turn", "server"), {"decision": "allow", "remember": "turn", "scope": "server"}),
        (ToolDecision(False, message="Why?"), {"decision": "deny", "message": "Why?"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["function", "async function"])
async def test_the_functions_answer_becomes_a_decision(
    tmp_path: Path, kind: str, answer: Any, decision: dict[str, Any]
) -> None:
    scenario = write_question(tmp_path, wait_for_decisions(), status("running"), *END)
    asked: list[ToolApproval] = []

    def approve(approval: ToolApproval) -> Any:
        asked.append(approval)
        return answer

    async def approve_later(approval: ToolApproval) -> Any:
        await asyncio.sleep(0)
        return approve(approval)

    async with client(scenario, approve if kind == "function" else approve_later) as daemon:
        stream = daemon.chat("Hi", daemon_tools=["shed/*"])
        approvals = [delta.tool_approval async for delta in stream if delta.tool_approval]

    assert asked == approvals
    assert (asked[0].turn_id, asked[0].tool_use_id, asked[0].server, asked[0].tool) == (
        "t",
        "c1",
        "shed",
        "dig",
    )
    assert read_decisions(scenario) == [{"turnId": "t", "toolUseId": "c1", **decision}]


async def test_a_question_is_asked_without_a_loop_over_the_deltas(tmp_path: Path) -> None:
    scenario = write_question(tmp_path, wait_for_decisions(), *END)
    async with client(scenario, lambda approval: True) as daemon:
        assert (await daemon.chat("Hi").response()).text == "Done."

    assert [each["decision"] for each in read_decisions(scenario)] == ["allow"]


async def test_a_call_is_denied_if_the_decision_is_invalid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = {"error": {"code": -32602, "message": "remember: no such value.", "data": {"kind": "request"}}}
    answers = {"tools/decide": [refusal, DECIDED["tools/decide"]]}
    scenario = Scenario.chat(tmp_path, [START, question(), wait_for_decisions(2), *END], answers=answers)
    decision = ToolDecision(True, "forever")  # type: ignore[arg-type]
    async with client(scenario, lambda approval: decision) as daemon:
        assert (await daemon.chat("Hi").response()).text == "Done."

    assert [each["decision"] for each in read_decisions(scenario)] == ["allow", "deny"]
    assert "the decision is invalid" in caplog.text


async def test_a_question_waits_until_the_deltas_before_it_are_handled(tmp_path: Path) -> None:
    text = {"delta": {"type": "text_delta", "block": 0, "text": "Let me dig."}}
    scenario = Scenario.chat(tmp_path, [START, text, question(), wait_for_decisions(), *END], answers=DECIDED)
    events: list[str] = []

    async def approve(approval: ToolApproval) -> bool:
        events.append("question")
        return True

    async with client(scenario, approve) as daemon:
        async for delta in daemon.chat("Hi"):
            await asyncio.sleep(0.05)  # The question arrives meanwhile, but must wait.
            events.append(delta.type)

    assert events.index("text_delta") < events.index("question")


async def test_a_plain_function_is_called_for_one_tool_call_at_a_time(tmp_path: Path) -> None:
    scenario = write_question(tmp_path, question("c2"), wait_for_decisions(2), *END)
    calls: list[str] = []
    overlaps: list[bool] = []
    busy = threading.Lock()

    def approve(approval: ToolApproval) -> bool:
        overlaps.append(not busy.acquire(blocking=False))
        calls.append(approval.tool_use_id)
        time.sleep(0.1)  # The other call would begin meanwhile.
        busy.release()
        return True

    async with client(scenario, approve) as daemon:
        await daemon.chat("Hi").response()

    assert (calls, overlaps) == (["c1", "c2"], [False, False])


async def test_an_async_function_is_called_for_several_tool_calls_at_once(tmp_path: Path) -> None:
    scenario = write_question(tmp_path, question("c2"), wait_for_decisions(2), *END)
    both = asyncio.Barrier(2)

    async def approve(approval: ToolApproval) -> bool:
        async with asyncio.timeout(10):
            await both.wait()
        return approval.tool_use_id == "c2"

    async with client(scenario, approve) as daemon:
        await daemon.chat("Hi").response()

    assert {each["toolUseId"]: each["decision"] for each in read_decisions(scenario)} == {
        "c1": "deny",
        "c2": "allow",
    }


async def test_a_function_does_not_block_the_deltas(tmp_path: Path) -> None:
    scenario = write_question(tmp_path, status("running", "c2"), wait_for_decisions(), *END)
    other_call_runs = threading.Event()

    def approve(approval: ToolApproval) -> bool:
        return other_call_runs.wait(10)

    async with client(scenario, approve) as daemon:
        async for delta in daemon.chat("Hi"):
            if (changed := delta.tool_status) is not None and changed.tool_use_id == "c2":
                other_call_runs.set()

    assert [each["decision"] for each in read_decisions(scenario)] == ["allow"]


async def test_a_question_is_withdrawn_when_the_call_is_decided_elsewhere(tmp_path: Path) -> None:
    asked, may_end = tmp_path / "asked", tmp_path / "may_end"
    scenario = write_question(
        tmp_path,
        {"wait": "file", "path": str(asked)},
        status("running"),
        {"wait": "file", "path": str(may_end)},
        *END,
    )
    withdrawn = asyncio.Event()

    async def approve(approval: ToolApproval) -> bool:
        asked.touch()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return True

    async with client(scenario, approve) as daemon:
        ending = asyncio.create_task(daemon.chat("Hi").response())
        async with asyncio.timeout(10):
            await withdrawn.wait()
        may_end.touch()
        assert (await ending).text == "Done."

    assert read_decisions(scenario) == []


async def test_a_question_is_withdrawn_when_the_turn_ends(tmp_path: Path) -> None:
    scenario = write_question(tmp_path, {"wait": "cancel"}, CANCELLED)
    withdrawn = asyncio.Event()

    async def approve(approval: ToolApproval) -> bool:
        stream.cancel()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return True

    async with client(scenario, approve) as daemon:
        stream = daemon.chat("Hi")
        with pytest.raises(ChatFailed):
            await stream.response()
        async with asyncio.timeout(10):
            await withdrawn.wait()

    assert read_decisions(scenario) == []


async def test_the_function_is_not_called_for_a_call_that_is_already_decided(tmp_path: Path) -> None:
    report = {"progress": {"kind": "report", "message": "It runs"}}
    scenario = write_question(tmp_path, status("running"), report, *END)
    asked: list[ToolApproval] = []
    call_runs = asyncio.Event()
    async with client(scenario, asked.append) as daemon:
        stream = daemon.chat("Hi", on_progress=lambda message, percentage: call_runs.set())
        async for delta in stream:
            if delta.type == "start":
                async with asyncio.timeout(10):
                    await call_runs.wait()

    assert asked == []
    assert read_decisions(scenario) == []


async def test_a_call_is_denied_if_the_function_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def approve(approval: ToolApproval) -> bool:
        raise KeyError("lost")

    scenario = write_question(tmp_path, wait_for_decisions(), *END)
    with caplog.at_level(logging.ERROR, "jumpseat_client"):
        async with client(scenario, approve) as daemon:
            await daemon.chat("Hi").response()

    assert [each["decision"] for each in read_decisions(scenario)] == ["deny"]
    assert "the call of shed/dig is denied" in caplog.text
    assert "KeyError" in caplog.text


def test_the_function_of_a_sync_client_may_use_the_client(tmp_path: Path) -> None:
    answers = {**DECIDED, "models/list": {"models": [], "errors": []}}
    scenario = Scenario.chat(tmp_path, [START, question(), wait_for_decisions(), *END], answers=answers)

    def approve(approval: ToolApproval) -> bool:
        return daemon.list_models()["models"] == []

    with SyncClient.spawn(scenario.command, on_approval=approve) as daemon:
        assert [delta.type for delta in daemon.chat("Hi")][-1] == "done"

    assert [each["decision"] for each in read_decisions(scenario)] == ["allow"]


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ({}, {"window": {"workDoneProgress": True}}),
        (
            {"on_approval": bool},
            {"window": {"workDoneProgress": True}, "experimental": {"jumpseat": {"approveTools": True}}},
        ),
        (
            {
                "on_approval": bool,
                "capabilities": {
                    "workspace": {"applyEdit": True},
                    "experimental": {"jumpseat": {"unsaved": True}},
                },
            },
            {
                "window": {"workDoneProgress": True},
                "workspace": {"applyEdit": True},
                "experimental": {"jumpseat": {"approveTools": True, "unsaved": True}},
            },
        ),
    ],
    ids=["nothing", "approvals", "editor"],
)
async def test_the_declared_capabilities_follow_from_the_options(
    tmp_path: Path, options: dict[str, Any], declared: dict[str, Any]
) -> None:
    scenario = Scenario(tmp_path)
    async with Client.spawn(scenario.command, **options):
        pass

    assert scenario.read_messages("initialize")[0]["params"]["capabilities"] == declared


def test_capabilities_must_be_a_mapping() -> None:
    with pytest.raises(TypeError, match="capabilities must be a mapping"):
        Client.spawn(capabilities=["unsaved"])
