"""Who may run a call: rules, remembered decisions, approvals, and denials."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import (
    FileDiff,
    ImageBlock,
    InvalidRequestError,
    RequestError,
    StreamEvent,
    TextBlock,
    ToolApprovalEvent,
    ToolResultBlock,
    ToolStatusEvent,
)
from jumpseat.system.environment import environment_of_process
from jumpseat.tools.approvals import Decision
from jumpseat.tools.host import ToolHost
from jumpseat.tools.server import Preview, ServerUnavailableError, Tool, ToolCall, ToolError, ToolOutput
from jumpseat.tools.turn_tools import TurnTools
from tests.unit.tools.scripted_server import ScriptedServer, begin_turn, make_call, make_host

ALLOW = Decision(True)
DENY = Decision(False)

pytestmark = [pytest.mark.requirement("12:rules"), pytest.mark.usefixtures("home")]


class Recorder:
    """Records the events of calls, and answers each question with the next decision, if there is one."""

    def __init__(self, host: ToolHost, *decisions: Decision, turn_id: str = "t") -> None:
        self.events: list[StreamEvent] = []
        self._asked = asyncio.Semaphore(0)
        self._host = host
        self._decisions = list(decisions)
        self._turn_id = turn_id

    def send(self, event: StreamEvent) -> None:
        self.events.append(event)
        if isinstance(event, ToolApprovalEvent):
            self._asked.release()
            if self._decisions:
                assert self._host.approvals.decide(self._turn_id, event.tool_use_id, self._decisions.pop(0))

    async def until_asked(self) -> None:
        """Wait for one more question."""
        async with asyncio.timeout(10):
            await self._asked.acquire()

    @property
    def questions(self) -> list[ToolApprovalEvent]:
        return [event for event in self.events if isinstance(event, ToolApprovalEvent)]

    @property
    def statuses(self) -> list[str]:
        return [event.status for event in self.events if isinstance(event, ToolStatusEvent)]


async def open_turn(host: ToolHost, *selectors: str, **more: Any) -> TurnTools:
    """Return the opened tools of a turn."""
    tools = begin_turn(host, *selectors, **more)
    assert list(await tools.open([], lambda event: None)) == []
    return tools


async def run(
    tools: TurnTools, recorder: Recorder, name: str = "shed__dig", **arguments: Any
) -> ToolResultBlock:
    """Run one call."""
    async with asyncio.timeout(10):
        return await tools.run(make_call(name, **arguments), recorder.send)


async def test_a_call_that_no_rule_allows_waits_for_a_decision() -> None:
    server = ScriptedServer()
    host = make_host(server)
    tools = await open_turn(host)
    recorder = Recorder(host)
    running = asyncio.create_task(run(tools, recorder, depth=2))
    await recorder.until_asked()

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
    await recorder.until_asked()

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
async def test_a_client_that_cannot_ask_is_denied() -> None:
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


async def test_a_denied_tool_is_never_offered() -> None:
    server = ScriptedServer()
    host = make_host(server, deny=["shed/dig"], allow=["shed/*"])
    tools = await open_turn(host)

    assert [tool.name for tool in tools.definitions] == ["shed__rake"]
    assert (await run(tools, Recorder(host))).text == "There is no tool named shed__dig."
    assert server.calls == []
    listed = {each.tool.name: each.decision for each in await host.list_tools()}
    assert listed == {"dig": "deny", "rake": "allow"}


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


async def test_a_decision_for_the_turn_ends_with_the_turn() -> None:
    host = make_host(ScriptedServer())
    recorder = Recorder(host, Decision(True, "turn"), ALLOW)
    tools = await open_turn(host)
    await run(tools, recorder)
    await run(tools, recorder)
    assert len(recorder.questions) == 1

    await run(await open_turn(host), recorder)
    assert len(recorder.questions) == 2


@pytest.mark.requirement("12:remember-conversation")
async def test_a_decision_for_the_conversation_holds_in_its_turns_for_all_clients() -> None:
    environment = environment_of_process()
    host, other = (make_host(ScriptedServer(), environment=environment) for _ in range(2))
    recorder = Recorder(host, Decision(True, "conversation"))
    await run(await open_turn(host), recorder)
    later = Recorder(other)
    await run(await open_turn(other), later)
    elsewhere = Recorder(other, ALLOW)
    await run(await open_turn(other, conversation="another"), elsewhere)

    assert [len(each.questions) for each in (recorder, later, elsewhere)] == [1, 0, 1]


async def test_a_turn_without_a_conversation_cannot_remember_one() -> None:
    host = make_host(ScriptedServer())
    recorder = Recorder(host, Decision(True, "conversation"))
    await run(await open_turn(host, is_named=False), recorder)

    assert list(recorder.questions[0].remember) == ["turn", "always"]


@pytest.mark.requirement("12:remember-always")
@pytest.mark.requirement("12:remember-conversation")
@pytest.mark.parametrize(("is_named", "counts"), [(True, [0, 1]), (False, [0, 0])])
async def test_a_server_remembers_a_conversation_but_not_a_turn_without_one(
    is_named: bool, counts: list[int]
) -> None:
    found: list[int] = []

    def count_turns(call: ToolCall) -> Preview:
        found.append(call.context.memory.setdefault("turns", 0))
        call.context.memory["turns"] += 1
        return Preview("Dig")

    server = ScriptedServer()
    server.on_preview = count_turns
    environment = environment_of_process()
    hosts = [make_host(server, environment=environment, allow=["shed/*"]) for _ in range(2)]
    for host in hosts:
        await run(await open_turn(host, is_named=is_named), Recorder(host))

    assert found == counts


async def test_a_call_has_the_preview_that_was_approved() -> None:
    server = ScriptedServer()
    preview = Preview("Dig", subject=object())
    server.on_preview = lambda call: preview
    host = make_host(server)
    await run(await open_turn(host), Recorder(host, ALLOW))

    assert server.approved == [preview]


async def test_a_decision_for_always_outlives_the_process_and_covers_one_tool() -> None:
    host = make_host(ScriptedServer())
    await run(await open_turn(host), Recorder(host, Decision(True, "always")))
    later = make_host(ScriptedServer())
    recorder = Recorder(later, ALLOW)
    tools = await open_turn(later)
    await run(tools, recorder)
    assert recorder.questions == []

    await run(tools, recorder, "shed__rake")
    assert [each.tool for each in recorder.questions] == ["rake"]
    assert {each.tool.name: each.decision for each in await later.list_tools()} == {
        "dig": "allow",
        "rake": "ask",
    }


async def test_a_decision_for_a_server_covers_only_the_tools_that_it_has_then() -> None:
    host = make_host(ScriptedServer())
    await run(await open_turn(host), Recorder(host, Decision(True, "always", "server")))
    later = make_host(ScriptedServer(tools=("dig", "rake", "burn")))
    recorder = Recorder(later, ALLOW)
    tools = await open_turn(later)
    for name in ("shed__dig", "shed__rake", "shed__burn"):
        await run(tools, recorder, name)

    assert [each.tool for each in recorder.questions] == ["burn"]


@pytest.mark.requirement("12:changed")
@pytest.mark.parametrize(
    "changed",
    [
        ScriptedServer(tools=[Tool(name="dig", description="digs, and sends the result to us")]),
        ScriptedServer(tools=[Tool(name="dig", description="digs", parameters={"type": "object"})]),
        type("Moved", (ScriptedServer,), {"identity": "another command"})(),
    ],
    ids=["description", "schema", "definition"],
)
async def test_a_tool_that_changed_since_it_was_always_allowed_asks_again(changed: ScriptedServer) -> None:
    host = make_host(ScriptedServer())
    await run(await open_turn(host), Recorder(host, Decision(True, "always")))
    later = make_host(changed)
    recorder = Recorder(later, ALLOW)
    await run(await open_turn(later), recorder)

    assert [each.reason for each in recorder.questions] == ["changed"]


@pytest.mark.parametrize("remember", ["turn", "conversation", "always"])
async def test_a_denial_is_remembered_for_the_turn_at_most(remember: Any) -> None:
    host = make_host(ScriptedServer())
    recorder = Recorder(host, Decision(False, remember), ALLOW)
    tools = await open_turn(host)
    assert (await run(tools, recorder)).is_error
    assert (await run(tools, recorder)).is_error
    assert len(recorder.questions) == 1

    assert not (await run(await open_turn(host), recorder)).is_error


async def test_a_remembered_denial_precedes_an_allow_rule() -> None:
    server = ScriptedServer()
    host = make_host(server, allow=["shed/rake"])
    recorder = Recorder(host, Decision(False, "turn", "server", "not now"))
    tools = await open_turn(host)
    await run(tools, recorder, "shed__dig")
    result = await run(tools, recorder, "shed__rake")

    assert (result.text, result.is_error) == ("The user denied this call: not now", True)
    assert server.calls == []


async def test_a_remembered_denial_precedes_what_was_allowed_in_earlier_turns() -> None:
    server = ScriptedServer()
    host = make_host(server)
    await run(await open_turn(host), Recorder(host, Decision(True, "always")), "shed__rake")
    recorder = Recorder(host, Decision(False, "turn", "server"))
    tools = await open_turn(host)
    await run(tools, recorder, "shed__dig")

    assert (await run(tools, recorder, "shed__rake")).is_error
    assert [name for name, _ in server.calls] == ["rake"]


async def test_a_remembered_decision_answers_the_other_questions_that_it_covers() -> None:
    server = ScriptedServer()
    host = make_host(server)
    tools = await open_turn(host)
    recorder = Recorder(host)
    calls = [make_call("shed__dig", str(number)) for number in range(3)] + [make_call("shed__rake", "rake")]
    running = [asyncio.create_task(tools.run(call, recorder.send)) for call in calls]
    for _ in calls:
        await recorder.until_asked()
    host.approvals.decide("t", "1", Decision(True, "turn"))
    async with asyncio.timeout(10):
        await asyncio.gather(*running[:3])

    assert [name for name, _ in server.calls] == ["dig"] * 3
    assert not running[3].done()
    running[3].cancel()


def write_to_all(directory: Path, name: str, text: str) -> list[Path]:
    """Write a text to all files of a name below a directory, and return them."""
    found = list(directory.rglob(name))
    for each in found:
        each.write_text(text, "utf-8")
    return found


def read_all(directory: Path, pattern: str) -> list[str]:
    """Return the texts of the matching files of a directory."""
    return [each.read_text("utf-8") for each in directory.glob(pattern)]


async def test_broken_decisions_are_set_aside_and_ask_again(home: Path) -> None:
    host = make_host(ScriptedServer())
    await run(await open_turn(host), Recorder(host, Decision(True, "always")))
    (file,) = write_to_all(home, "tools.json", "{broken")
    later = make_host(ScriptedServer())
    recorder = Recorder(later, ALLOW)
    await run(await open_turn(later), recorder)

    assert len(recorder.questions) == 1
    assert read_all(file.parent, "tools.json.broken-*") == ["{broken"]


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
    await recorder.until_asked()
    await asyncio.sleep(0.05)  # Longer than the limit.
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


@pytest.mark.requirement("12:selectors")
@pytest.mark.parametrize(
    ("selector", "path"),
    [("shed", "daemonTools.0"), ("/dig", "daemonTools.0"), ("shad/*", "daemonTools.0")],
)
async def test_a_selector_that_names_no_server_is_refused(selector: str, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        begin_turn(make_host(ScriptedServer()), selector)

    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.requirement("12:selectors")
async def test_selectors_choose_tools_of_several_servers_sorted_by_name() -> None:
    host = make_host(ScriptedServer("shed"), ScriptedServer("attic", ("dust", "sweep up")))
    tools = await open_turn(host, "shed/r*", "attic/*")

    assert [tool.name for tool in tools.definitions] == ["attic__dust", "attic__sweep_up", "shed__rake"]
    assert host.begin_turn  # The host can begin another turn at the same time.


@pytest.mark.requirement("12:max-tools")
async def test_too_many_tools_are_refused_with_the_largest_servers() -> None:
    host = make_host(ScriptedServer(tools=[f"t{n}" for n in range(5)]), ScriptedServer("attic"), max_tools=6)
    with pytest.raises(RequestError, match=r"7 tools, but at most 6 .* shed \(5\), attic \(2\)"):
        await begin_turn(host, "shed/*", "attic/*").open([], lambda event: None)


@pytest.mark.requirement("12:server-unavailable")
async def test_a_server_that_cannot_start_is_a_warning_with_its_reason() -> None:
    server = ScriptedServer()
    server.unavailable = ServerUnavailableError("shed cannot be started: no key.")
    tools = begin_turn(make_host(server, ScriptedServer("attic")), "shed/*", "attic/*")
    warnings = await tools.open([], lambda event: None)

    assert [(each.code, each.message) for each in warnings] == [
        ("tool_server_unavailable", "shed cannot be started: no key.")
    ]
    assert [tool.name for tool in tools.definitions] == ["attic__dig", "attic__rake"]


@pytest.mark.parametrize(("given", "most"), [(None, 25), (3, 3), (99, 25)])
async def test_a_client_can_only_lower_the_limit_of_rounds(given: int | None, most: int) -> None:
    assert begin_turn(make_host(ScriptedServer()), max_rounds=given).max_rounds == most


async def test_many_tools_are_refused_with_the_numbers_of_the_largest_servers() -> None:
    host = make_host(ScriptedServer(tools=[f"tool{number}" for number in range(10_000)]))
    tools = begin_turn(host)
    with pytest.raises(RequestError, match=r"10000 tools, but at most 128.*shed \(10000\)"):
        await tools.open([], lambda event: None)
    assert len(await host.list_tools()) == 10_000


async def test_a_server_knows_when_a_turn_begins_and_ends() -> None:
    server = ScriptedServer()
    tools = await open_turn(make_host(server), conversation="root")
    assert server.turns == ["begin root"]
    await tools.aclose()

    assert server.turns == ["begin root", "end"]
