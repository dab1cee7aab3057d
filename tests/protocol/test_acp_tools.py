"""Tools in sessions of the Agent Client Protocol: calls, their results and limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.acp import AcpAgent, provider_table, running_agent, script_answers, sent_messages
from tests.acp_tools import ask, call, call_to_write, choose, results, script_calls, states
from tests.fakes import tool_plugin
from tests.hub import Hub

pytestmark = pytest.mark.slow


@pytest.mark.requirement("12:acp-calls", "12:acp-permission")
async def test_a_model_reads_and_edits_a_file_after_the_users_decision(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    file = root / "main.py"
    edit = {"path": "main.py", "oldText": "hello", "newText": "bye"}
    script_calls(upstream, call("files__read", "c1", path="main.py"), call("files__edit", "c2", **edit))
    session = await agent.new_session()
    exchange, (request,) = await ask(agent, session, choose("allow"))

    assert file.read_text() == "print('bye')\n"
    assert exchange.result == {"stopReason": "end_turn"}
    begun = [(each["toolCallId"], each["title"], each["kind"]) for each in exchange.updates("tool_call")]
    assert begun == [("c1", "Read a file", "read"), ("c2", "Edit a file", "edit")]
    assert states(exchange) == [
        *(("c1", status) for status in ("pending", "in_progress", "completed", "completed")),
        *(("c2", status) for status in ("pending", "in_progress", "completed", "completed")),
    ]
    diff = {
        "type": "diff",
        "path": str(file),
        "oldText": "print('hello')\n",
        "newText": "print('bye')\n",
    }
    updates = exchange.updates("tool_call_update")
    assert {"title": "Read main.py", "locations": [{"path": str(file)}]}.items() <= updates[1].items()
    assert updates[-1]["content"] == [
        diff,
        {"type": "content", "content": {"type": "text", "text": "Changed main.py."}},
    ]
    assert request["params"] == {
        "sessionId": session,
        "toolCall": {
            "toolCallId": "c2",
            "title": "Edit main.py",
            "kind": "edit",
            "status": "pending",
            "rawInput": edit,
            "content": [diff],
            "locations": [{"path": str(file)}],
        },
        "options": [
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {
                "optionId": "allow_conversation",
                "name": "Allow files/edit in this conversation",
                "kind": "allow_always",
            },
            {"optionId": "allow_always", "name": "Always allow files/edit", "kind": "allow_always"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ],
    }


@pytest.mark.requirement("12:acp-calls")
async def test_text_after_a_call_is_another_message(agent: AcpAgent, upstream: FakeUpstream) -> None:
    read = call("files__read", path="main.py")
    stream = completion_stream(["Let me see."], tool_calls=[read])
    upstream.script(Reply.events(stream), path="/v1/chat/completions")
    script_answers(upstream, "I see.")
    exchange = await agent.prompt(await agent.new_session(), "Go.")

    chunks = exchange.updates("agent_message_chunk")
    assert [each["content"]["text"] for each in chunks] == ["Let me see.", "I see."]
    assert len({each["messageId"] for each in chunks}) == 2


@pytest.mark.requirement("12:acp-cancel")
async def test_a_cancelled_call_is_shown_as_failed_and_the_session_goes_on(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_calls(upstream, call_to_write())
    session = await agent.new_session()
    prompt = agent.start_prompt(session, "Go.")
    await agent.read_request("session/request_permission")
    agent.notify("session/cancel", {"sessionId": session})
    cancelled = await agent.read_until(prompt)

    assert states(cancelled)[-1] == ("c1", "failed")
    await agent.prompt(session, "And now?")
    assert results(upstream) == ["Error: Cancelled."]


@pytest.mark.requirement("12:acp-max-rounds")
async def test_the_limit_of_rounds_ends_a_prompt_and_the_next_one_goes_on(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    config = provider_table(upstream.base_url) + "[tools]\nmax_rounds = 1\n"
    async with running_agent(hub, root, config=config) as agent:
        await agent.initialize()
        session = await agent.new_session()
        script_calls(upstream, call("files__list"))
        limited = await agent.prompt(session, "Go.")
        further = await agent.prompt(session, "Go on.")

    assert limited.result == {"stopReason": "max_turn_requests"}
    assert further.text() == "Done."
    assert [message["role"] for message in sent_messages(upstream)] == ["user", "assistant", "tool", "user"]


@pytest.mark.requirement("12:acp-tools")
async def test_a_session_offers_the_file_tools_and_those_of_the_configuration(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    config = provider_table(upstream.base_url) + '[acp]\ntools = ["shed/e*", "gone/*"]\n'
    environment = tool_plugin.install(hub.home / "site")
    (hub.home / "daemon").write_text("not a directory")  # The process serves its client itself.
    async with running_agent(hub, root, config=config, env=environment) as agent:
        await agent.initialize(session={"notices": {}})
        script_calls(upstream, call("shed__echo", text="x"))
        exchange, (request,) = await ask(agent, await agent.new_session(), choose("allow"))

    offered = [tool["function"]["name"] for tool in json.loads(upstream.requests[-1].body)["tools"]]
    names = ("edit", "list", "read", "search", "write")
    assert offered == [*(f"files__{name}" for name in names), "shed__echo"]
    assert request["params"]["toolCall"]["title"] == 'shed/echo {"text":"x"}'
    assert results(upstream) == [f"x in ['{root}']"]
    (notice,) = exchange.updates("notice")
    assert "gone/*" in notice["title"]


@pytest.mark.requirement("12:acp-tools")
async def test_a_model_that_does_not_accept_tools_gets_none(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    config = provider_table(upstream.base_url) + "capabilities = { tool_calls = false }\n"
    async with running_agent(hub, root, config=config) as agent:
        await agent.initialize()
        script_answers(upstream, "Hello.")

        assert (await agent.prompt(await agent.new_session(), "Hi.")).text() == "Hello."
    assert "tools" not in json.loads(upstream.requests[-1].body)


@pytest.mark.requirement("12:acp-calls")
async def test_ids_of_calls_are_unique_in_a_session_and_inputs_are_bounded(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    session = await agent.new_session()
    script_calls(upstream, call_to_write(text="x" * 10_000), call_to_write(path="b\u202e"))
    first, _ = await ask(agent, session, choose("reject"))
    script_calls(upstream, call("files__list"))
    second = await agent.prompt(session, "Go.")

    assert [each["toolCallId"] for each in first.updates("tool_call")] == ["c1", "c1_r2"]
    assert [each["toolCallId"] for each in second.updates("tool_call")] == ["c1_2"]
    inputs = [each["rawInput"] for each in first.updates("tool_call_update") if "rawInput" in each]
    assert len(inputs[0]["text"]) == 2000
    assert inputs[1]["path"] == r"b\u202e"


@pytest.mark.requirement("12:acp-calls")
async def test_a_call_that_fails_without_a_question_is_shown_to_the_user(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_calls(
        upstream, call("files__edit", path="main.py", oldText="a", newText="b"), call("files__gone", "c2")
    )
    exchange = await agent.prompt(await agent.new_session(), "Go.")

    assert [status for _, status in states(exchange)] == ["pending", "failed", "failed"] * 2
    assert [each["title"] for each in exchange.updates("tool_call")] == ["Edit a file", "files__gone"]
    texts = [each["content"][0]["content"]["text"] for each in exchange.updates("tool_call_update")[2::3]]
    assert [f"Error: {text}" for text in texts] == results(upstream)
    assert "Read the file first." in texts[0]


@pytest.mark.requirement("12:acp-replay")
async def test_a_loaded_session_shows_its_calls(agent: AcpAgent, upstream: FakeUpstream, root: Path) -> None:
    session = await agent.new_session()
    script_calls(upstream, call("files__read", path="main.py"), call_to_write(call_id="c2"))
    await ask(agent, session, choose("reject"))
    script_calls(upstream, call("files__list"))
    await agent.prompt(session, "And?")
    loaded = await agent.reopen("session/load", session)

    shown = [(each["toolCallId"], each["title"], each["kind"]) for each in loaded.updates("tool_call")]
    assert shown == [
        ("c1", 'files/read {"path":"main.py"}', "read"),
        ("c2", 'files/write {"path":"new.txt","text":"1\\n"}', "edit"),
        ("c1_2", "files/list", "read"),
    ]
    ends = loaded.updates("tool_call_update")
    assert [(each["toolCallId"], each["status"]) for each in ends] == [
        ("c1", "completed"),
        ("c2", "failed"),
        ("c1_2", "completed"),
    ]
    assert ends[0]["content"][0]["content"]["text"] == "print('hello')\n"
    assert loaded.text() == "Done.Done."
