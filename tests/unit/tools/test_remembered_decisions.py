"""Decisions that are remembered for a turn, a conversation or always."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jumpseat.system.environment import environment_of_process
from jumpseat.tools.approvals import Decision
from jumpseat.tools.server import Preview, Tool, ToolCall
from tests.unit.tools.recorder import ALLOW, Recorder, open_turn, run
from tests.unit.tools.scripted_server import ScriptedServer, make_call, make_host

pytestmark = [pytest.mark.requirement("12:rules"), pytest.mark.usefixtures("home")]


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


async def test_without_a_conversation_a_decision_cannot_be_remembered_for_one() -> None:
    host = make_host(ScriptedServer())
    recorder = Recorder(host, Decision(True, "conversation"))
    await run(await open_turn(host, has_conversation_id=False), recorder)

    assert list(recorder.questions[0].remember) == ["turn", "always"]


@pytest.mark.requirement("12:remember-always")
@pytest.mark.requirement("12:remember-conversation")
@pytest.mark.parametrize(("is_named", "counts"), [(True, [0, 1]), (False, [0, 0])])
async def test_the_memory_of_a_server_outlives_a_turn_only_in_a_conversation(
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
        await run(await open_turn(host, has_conversation_id=is_named), Recorder(host))

    assert found == counts


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
        await recorder.wait_for_question()
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


async def test_a_broken_file_of_decisions_is_set_aside_and_the_user_is_asked_again(home: Path) -> None:
    host = make_host(ScriptedServer())
    await run(await open_turn(host), Recorder(host, Decision(True, "always")))
    (file,) = write_to_all(home, "tools.json", "{broken")
    later = make_host(ScriptedServer())
    recorder = Recorder(later, ALLOW)
    await run(await open_turn(later), recorder)

    assert len(recorder.questions) == 1
    assert read_all(file.parent, "tools.json.broken-*") == ["{broken"]
