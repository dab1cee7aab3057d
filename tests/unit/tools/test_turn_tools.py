"""A call of a turn, from the decision to its result: rules, approvals, denials, failures and limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jumpseat.chat import (
    FileDiff,
    ImageBlock,
    TextBlock,
    ToolApprovalEvent,
    ToolStatusEvent,
)
from jumpseat.tools.approvals import Decision
from jumpseat.tools.server import Preview, ToolCall, ToolError, ToolOutput
from tests.unit.tools.recorder import ALLOW, DENY, Recorder, open_turn, run
from tests.unit.tools.scripted_server import ScriptedServer, make_host

pytestmark = [pytest.mark.requirement("12:rules"), pytest.mark.usefixtures("home")]


async def test_a_call_that_no_rule_allows_waits_for_a_decision() -> None:
    server = ScriptedServer()
    host = make_host(server)
    tools = await open_turn(host)
    recorder = Recorder(host)
    running = asyncio.create_task(run(tools, recorder, depth=2))
    await recorder.wait_for_question()

    assert server.calls == []
    assert recorder.questions == [
        ToolApprovalEvent(
            "1",
            "shed",
            "dig",
            'shed/dig {"depth":2}',
            "other",
            {"depth": 2},
            "ask",
            ("turn", "conversation", "always"),
        )
    ]
    assert host.approvals.decide("t", "1", ALLOW)
    assert (await running).text == "ok"
    assert server.calls == [("dig", {"depth": 2})]
    assert recorder.statuses == ["running", "completed"]


@pytest.mark.requirement("12:first-decision")
async def test_only_the_first_decision_of_the_turns_own_client_counts() -> None:
    host, other = make_host(ScriptedServer()), make_host(ScriptedServer())
    tools = await open_turn(host)
    recorder = Recorder(host)
    running = asyncio.create_task(run(tools, recorder))
    await recorder.wait_for_question()

    assert not other.approvals.decide("t", "1", ALLOW)
    assert not host.approvals.decide("another turn", "1", ALLOW)
    assert not host.approvals.decide("t", "another call", ALLOW)
    assert host.approvals.decide("t", "1", DENY)
    assert not host.approvals.decide("t", "1", ALLOW)
    assert (await running).is_error
    assert not host.approvals.decide("t", "1", ALLOW)


@pytest.mark.parametrize(
    ("message", "text"),
    [(None, "The user denied this call."), ("use rake", "The user denied this call: use rake")],
)
async def test_a_denial_is_an_error_result_with_the_users_words(message: str | None, text: str) -> None:
    server = ScriptedServer()
    host = make_host(server)
    recorder = Recorder(host, Decision(False, message=message))
    result = await run(await open_turn(host), recorder)

    assert (result.text, result.is_error, server.calls) == (text, True, [])
    assert recorder.statuses == ["denied"]


@pytest.mark.requirement("12:cannot-ask")
async def test_a_call_is_denied_if_the_client_cannot_ask() -> None:
    server = ScriptedServer()
    host = make_host(server)
    recorder = Recorder(host)
    result = await run(await open_turn(host, can_ask=False), recorder)

    assert result.is_error
    assert (recorder.questions, server.calls, recorder.statuses) == ([], [], ["denied"])


@pytest.mark.parametrize(
    ("options", "reason", "remember"),
    [
        ({"ask": ["shed/d*"], "allow": ["shed/*"]}, "rule", ()),
        ({"allow": ["shed/r*"]}, "ask", ("turn", "conversation", "always")),
    ],
)
async def test_the_first_matching_rule_decides(
    options: dict[str, Any], reason: str, remember: tuple[str, ...]
) -> None:
    host = make_host(ScriptedServer(), **options)
    recorder = Recorder(host, ALLOW)
    await run(await open_turn(host), recorder)

    assert [(each.reason, tuple(each.remember)) for each in recorder.questions] == [(reason, remember)]


@pytest.mark.requirement("12:outside")
async def test_a_path_outside_the_workspace_asks_whatever_was_allowed() -> None:
    server = ScriptedServer()
    server.on_preview = lambda call: Preview("Dig elsewhere", is_outside=True)
    host = make_host(server, allow=["shed/*"])
    tools = await open_turn(host)
    recorder = Recorder(host, Decision(True, "turn"), Decision(True, "always"))
    for _ in range(2):
        await run(tools, recorder)

    assert [(each.reason, tuple(each.remember)) for each in recorder.questions] == [("outside", ())] * 2


async def test_a_call_has_the_preview_that_was_approved() -> None:
    server = ScriptedServer()
    preview = Preview("Dig", subject=object())
    server.on_preview = lambda call: preview
    host = make_host(server)
    await run(await open_turn(host), Recorder(host, ALLOW))

    assert server.approved == [preview]


async def test_a_call_that_cannot_succeed_is_an_error_without_a_question() -> None:
    def fail(call: ToolCall) -> Preview:
        raise ToolError("There is no ground.")

    server = ScriptedServer()
    server.on_preview = fail
    host = make_host(server)
    recorder = Recorder(host)
    result = await run(await open_turn(host), recorder)

    assert (result.text, result.is_error) == ("There is no ground.", True)
    assert (recorder.questions, recorder.statuses) == ([], ["failed"])


@pytest.mark.requirement("12:approval-shows")
async def test_the_message_of_a_status_is_one_escaped_line() -> None:
    server = ScriptedServer()
    server.script["dig"] = [ToolError("No\x1b[31m\nground " + "x" * 1000)]
    host = make_host(server)
    recorder = Recorder(host, ALLOW, Decision(False, message="\u202eno"))
    tools = await open_turn(host)
    await run(tools, recorder)
    await run(tools, recorder)
    failed, denied = (
        event.message for event in recorder.events if isinstance(event, ToolStatusEvent) and event.message
    )

    assert failed is not None
    assert failed.startswith("No\\x1b[31m\\nground x")
    assert len(failed) <= 200
    assert denied == "The user denied this call: \\u202eno"


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (ToolError("It broke."), "It broke."),
        (ValueError("secret"), "The tool failed; the daemon's log has the details."),
        (ToolOutput("No luck.", is_error=True), "No luck."),
    ],
)
async def test_a_failing_tool_is_an_error_result(step: Any, text: str) -> None:
    server = ScriptedServer()
    server.script["dig"] = [step]
    host = make_host(server, allow=["shed/*"])
    recorder = Recorder(host)
    result = await run(await open_turn(host), recorder)

    assert (result.text, result.is_error, recorder.statuses) == (text, True, ["running", "failed"])


@pytest.mark.requirement("12:call-seconds")
async def test_a_call_ends_after_its_time_limit_and_the_question_does_not_count() -> None:
    server = ScriptedServer()
    server.script["dig"] = [asyncio.Event()]
    host = make_host(server, call_seconds=0.02)
    tools = await open_turn(host)
    recorder = Recorder(host)
    running = asyncio.create_task(run(tools, recorder))
    await recorder.wait_for_question()
    await asyncio.sleep(0.05)  # This is longer than the limit.
    assert not running.done()
    host.approvals.decide("t", "1", ALLOW)

    assert (await running).text == "The tool did not answer within 0.02 s."
    assert server.cancelled == ["dig"]


@pytest.mark.requirement("12:result-size")
async def test_a_long_result_is_cut_in_the_middle() -> None:
    server = ScriptedServer()
    server.script["dig"] = ["a" * 3000 + "b" * 3000]
    host = make_host(server, allow=["shed/*"], max_result_kilobytes=1)
    text = (await run(await open_turn(host), Recorder(host))).text

    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert "4976 bytes were left out" in text
    assert len(text) < 1100


async def test_images_of_a_result_stay_beside_its_text() -> None:
    image = ImageBlock("AAAA", "image/png")
    server = ScriptedServer()
    server.script["dig"] = [ToolOutput((TextBlock("Look:"), image))]
    host = make_host(server, allow=["shed/*"])
    result = await run(await open_turn(host), Recorder(host))

    assert result.content == (TextBlock("Look:"), image)


@pytest.mark.requirement("12:progress")
async def test_progress_of_a_call_is_reported_but_not_too_often() -> None:
    class Busy(ScriptedServer):
        async def call(self, call: ToolCall) -> ToolOutput:
            for number in range(1000):
                call.report_progress(number, 1000, "half\u202edone")
            return ToolOutput("ok")

    host = make_host(Busy(), allow=["shed/*"])
    recorder = Recorder(host)
    await run(await open_turn(host), recorder)

    reports = [
        each for each in recorder.events if isinstance(each, ToolStatusEvent) and each.total is not None
    ]
    assert reports[0] == ToolStatusEvent("1", "running", "half\\u202edone", 0, 1000)
    assert len(reports) < 10


async def test_a_diff_reaches_the_question_with_its_path_escaped() -> None:
    server = ScriptedServer()
    server.on_preview = lambda call: Preview("Edit", [FileDiff("file:///a\u202e.py", "old", "new")])
    host = make_host(server)
    recorder = Recorder(host, ALLOW)
    await run(await open_turn(host), recorder)

    assert recorder.questions[0].diff == [FileDiff("file:///a\\u202e.py", "old", "new")]
