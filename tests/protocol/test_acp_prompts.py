"""Prompts of the Agent Client Protocol: their content, their answers, cancels and commands."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.acp import AcpAgent, provider_table, running_agent, script_answers, sent_messages
from tests.hub import Hub


@pytest.mark.requirement("11:prompt")
async def test_an_answer_is_streamed_and_the_next_prompt_continues_the_conversation(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events(completion_stream(["hel", "lo"])), path="/v1/chat/completions")
    script_answers(upstream, "again")
    session = await agent.new_session()

    first = await agent.prompt(session, "hi")
    second = await agent.prompt(session, "and?")

    assert first.result == {"stopReason": "end_turn"}
    assert first.text() == "hello"
    assert len({update["messageId"] for update in first.updates("agent_message_chunk")}) == 1
    assert [update.get("title") for update in first.updates("session_info_update")] == ["hi"]
    assert second.text() == "again"
    assert [message["content"] for message in sent_messages(upstream)] == ["hi", "hello", "and?"]


@pytest.mark.requirement("11:prompt")
async def test_resources_and_linked_files_of_the_directory_reach_the_model(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    script_answers(upstream, "ok")
    inside, outside = root / "inside.txt", root.parent / "outside.txt"
    inside.write_text("in the directory")
    outside.write_text("a secret")
    (root / "link.txt").symlink_to(outside)
    session = await agent.new_session()

    await agent.prompt(
        session,
        {"type": "resource", "resource": {"uri": "file:///x/code.py", "text": "print(1)"}},
        *(
            {"type": "resource_link", "name": path.name, "uri": path.as_uri()}
            for path in (inside, outside, root / "link.txt", root / "missing.txt")
        ),
        "What is this?",
    )

    sent = json.dumps(sent_messages(upstream))
    assert "print(1)" in sent
    assert "in the directory" in sent
    assert "a secret" not in sent
    assert all(name in sent for name in ("outside.txt", "link.txt", "missing.txt", "What is this?"))


@pytest.mark.requirement("11:prompt")
async def test_a_resource_that_cannot_be_decoded_is_sent_as_its_uri(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "ok")
    text, not_text = (base64.b64encode(content).decode() for content in (b"plain text", b"\xff"))
    blobs = {"x:text": text, "x:bytes": not_text, "x:length": "A", "x:letters": "Größe"}

    await agent.prompt(
        await agent.new_session(),
        *({"type": "resource", "resource": {"uri": uri, "blob": blob}} for uri, blob in blobs.items()),
    )

    sent = json.dumps(sent_messages(upstream))
    assert "plain text" in sent
    assert all(uri in sent for uri in blobs)
    assert text not in sent


@pytest.mark.requirement("11:prompt")
async def test_a_client_that_can_read_files_is_asked_for_a_linked_file(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "ok")
    (tmp_path / "open.txt").write_text("saved")
    async with running_agent(hub, tmp_path, config=provider_table(upstream.base_url)) as agent:
        await agent.initialize(fs={"readTextFile": True})
        session = await agent.new_session()
        uri = (tmp_path / "open.txt").as_uri()
        prompt = agent.start_prompt(session, {"type": "resource_link", "name": "open.txt", "uri": uri}, "?")
        request = await agent.read_request("fs/read_text_file")
        agent.send({"jsonrpc": "2.0", "id": request["id"], "result": {"content": "unsaved"}})

        await agent.read_until(prompt)
    assert request["params"] == {"sessionId": session, "path": str(tmp_path / "open.txt")}
    assert "unsaved" in json.dumps(sent_messages(upstream))


@pytest.mark.requirement("11:prompt")
async def test_an_image_reaches_a_model_that_accepts_images(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "a dot")
    config = provider_table(upstream.base_url) + "capabilities = { vision = true }\n"
    async with running_agent(hub, tmp_path, config=config) as agent:
        assert (await agent.initialize())["agentCapabilities"]["promptCapabilities"]["image"] is True
        session = await agent.new_session()
        data = base64.b64encode(b"pixels").decode()
        await agent.prompt(session, {"type": "image", "data": data, "mimeType": "image/png"}, "?")

    assert f"data:image/png;base64,{data}" in json.dumps(sent_messages(upstream))


@pytest.mark.requirement("11:cancel")
@pytest.mark.parametrize("method", ["session/cancel", "$/cancel_request"])
async def test_a_cancelled_prompt_ends_as_cancelled_and_keeps_the_partial_answer(
    agent: AcpAgent, upstream: FakeUpstream, method: str
) -> None:
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]), path="/v1/chat/completions")
    script_answers(upstream, "more")
    session = await agent.new_session()
    prompt = agent.start_prompt(session, "hi")
    await agent.read_update("agent_message_chunk")
    agent.notify(method, {"sessionId": session} if method == "session/cancel" else {"requestId": prompt})

    assert (await agent.read_until(prompt)).result == {"stopReason": "cancelled"}
    assert (await agent.prompt(session, "go on")).text() == "more"
    assert [message["content"] for message in sent_messages(upstream)] == ["hi", "partial", "go on"]


@pytest.mark.requirement("11:cancel")
async def test_a_cancel_in_the_same_write_as_its_prompt_takes_effect(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    session = await agent.new_session()
    agent.methods[50] = "session/prompt"  # `agent.read_until` checks the result of this method.
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
    agent.send(
        {"jsonrpc": "2.0", "id": 50, "method": "session/prompt", "params": params},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}},
    )

    assert (await agent.read_until(50)).result == {"stopReason": "cancelled"}


@pytest.mark.requirement("11:cancel")
async def test_a_second_prompt_of_a_running_session_is_refused(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    gate = Gate()
    upstream.script(Reply.events([gate, *completion_stream(["done"])]), path="/v1/chat/completions")
    session = await agent.new_session()
    first = agent.start_prompt(session, "one")
    second = agent.start_prompt(session, "two")

    assert (await agent.read_until(second)).error["code"] == -32600
    gate.open()
    assert (await agent.read_until(first)).text() == "done"


@pytest.mark.requirement("11:errors")
async def test_a_failure_of_the_provider_is_an_error_with_its_hint_in_the_message(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.json({"error": {"message": "no such model"}}, 404), path="/v1/chat/completions")
    session = await agent.new_session()

    error = (await agent.prompt(session, "hi")).error

    assert error["code"] == 1004
    assert error["data"]["kind"] == "request"
    assert error["data"]["hint"] in error["message"]


@pytest.mark.requirement("11:errors")
async def test_a_rejected_key_requires_a_sign_in(agent: AcpAgent, upstream: FakeUpstream) -> None:
    upstream.script(Reply.json({"error": {"message": "bad key"}}, 401), path="/v1/chat/completions")
    session = await agent.new_session()

    error = (await agent.prompt(session, "hi")).error

    assert (error["code"], error["data"]["kind"]) == (-32000, "authentication")


@pytest.mark.requirement("11:options")
async def test_a_chosen_model_is_used_from_the_next_prompt_on(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "one", "two")
    session = await agent.new_session()
    await agent.prompt(session, "hi")
    chosen = await agent.set_option(session, "model", "fake:n")
    unknown = await agent.set_option(session, "model", "fake:z")
    await agent.prompt(session, "again")

    (option,) = [each for each in chosen.result["configOptions"] if each["id"] == "model"]
    assert option["currentValue"] == "fake:n"
    assert [row["value"] for row in option["options"]] == ["fake:m", "fake:n"]
    assert unknown.error["code"] == -32602
    assert json.loads(upstream.requests[-1].body)["model"] == "n"


@pytest.mark.requirement("11:commands")
async def test_commands_change_the_conversation_without_asking_the_model(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "ok", "better", "loud")
    session = await agent.new_session()
    changed = await agent.prompt(session, "/model fake:n")
    await agent.prompt(session, "/system Be brief.")
    status = await agent.prompt(session, "/status")
    await agent.prompt(session, "hi")
    retried = await agent.prompt(session, "/retry")
    shouted = await agent.prompt(session, "/shout now")

    assert changed.updates("config_option_update")[0]["configOptions"][0]["currentValue"] == "fake:n"
    assert "fake" in status.text()
    assert retried.text() == "better"
    assert shouted.text() == "loud"
    assert [message["content"] for message in sent_messages(upstream)] == [
        "Be brief.",
        "hi",
        "better",
        "SHOUT now",
    ]


@pytest.mark.requirement("11:commands", "13:prompts")
async def test_the_built_in_prompts_are_commands_too(agent: AcpAgent, upstream: FakeUpstream) -> None:
    script_answers(upstream, "fixed")
    new = await agent.request("session/new", {"cwd": str(agent.directory), "mcpServers": []})
    listed = await agent.read_update("available_commands_update")
    answer = await agent.prompt(new.result["sessionId"], "/fix x = 1")

    names = [command["name"] for command in listed["availableCommands"]]
    assert {"commit", "docs", "explain", "fix", "review", "tests"} <= set(names)
    assert answer.text() == "fixed"
    (message,) = sent_messages(upstream)
    assert message["content"].startswith("Find the bug")
    assert message["content"].endswith("\n\nx = 1")


@pytest.mark.requirement("11:commands", "13:diffs")
async def test_a_diff_in_a_command_is_shortened_with_a_notice(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "Add a.py")
    short, long = (f"diff --git a/{name} b/{name}\n+{'x' * size}\n" for name, size in (("a", 9), ("b", 9999)))
    models = '[{ id = "m", max_prompt_tokens = 2000 }]'
    config = provider_table(upstream.base_url).replace('["m", "n"]', models)
    async with running_agent(hub, tmp_path, config=config) as agent:
        await agent.initialize(session={"notices": {}})
        answer = await agent.prompt(await agent.new_session(), f"/commit {short}{long}")

    (notice,) = answer.updates("notice")
    assert notice["title"] == "The diff is too long for the model. These files are left out: b"
    (message,) = sent_messages(upstream)
    assert message["content"].endswith(
        f"\n\n{short}\nThese files have changed too, but their diffs are too long: b\n"
    )


@pytest.mark.requirement("11:commands")
async def test_an_unknown_command_is_sent_to_the_model(agent: AcpAgent, upstream: FakeUpstream) -> None:
    script_answers(upstream, "a path")
    session = await agent.new_session()

    assert (await agent.prompt(session, "/etc/hosts is what?")).text() == "a path"


async def test_prompts_of_several_sessions_run_at_the_same_time(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    gate = Gate()
    upstream.script(Reply.events([gate, *completion_stream(["slow"])]), path="/v1/chat/completions")
    script_answers(upstream, "quick")
    one, two = await agent.new_session(), await agent.new_session()
    slow = agent.start_prompt(one, "hi")
    await upstream.wait_for_request(len(upstream.requests) + 1)

    assert (await agent.prompt(two, "hi")).text() == "quick"
    gate.open()
    assert (await agent.read_until(slow)).text() == "slow"
