"""Sessions of the Agent Client Protocol that are loaded, resumed and deleted with all their branches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.conversations import ConversationStore
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.acp import AcpAgent, option, running_agent, script_answers, sent_messages
from tests.hub import Hub

pytestmark = pytest.mark.slow

CONFIG = """
default_provider = "fake"

[providers.fake]
kind = "openai"
base_url = "{base_url}"
default_model = "m"
models = [{{ id = "m", max_context_tokens = 1000, supports_thinking = true }}, "n"]

[providers.fake.settings.tone]
type = "enum"
choices = ["dry", "warm"]
optional = true

[providers.other]
kind = "openai"
base_url = "{base_url}"
models = ["o"]

[providers.other.settings.polite]
type = "boolean"
optional = true

[prompts.shout]
text = "SHOUT {{{{input}}}}"
model = "other:o"
system = "Be loud."
"""


@pytest.fixture
async def agent(hub: Hub, upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[AcpAgent]:
    async with running_agent(hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url)) as running:
        await running.initialize()
        yield running


async def keep_turn(client: Any, session: str, *texts: str) -> None:
    """Run and keep a turn with a client of jumpseat's own protocol.

    The first text is the user's, the second one is the model's, and so on.
    """
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)
    ]
    params = {"messages": messages, "keep": True, "conversationId": session, "stream": False}
    assert (await client.request("chat/start", params)).result


async def list_titles(agent: AcpAgent) -> dict[str, str]:
    """Return the titles in the list of sessions, by session."""
    rows = (await agent.request("session/list", {})).result["sessions"]
    assert len({row["sessionId"] for row in rows}) == len(rows)
    return {row["sessionId"]: row["title"] for row in rows}


@pytest.mark.requirement("11:branches", "11:sessions")
async def test_a_loaded_session_continues_its_branch_after_a_restart_of_the_daemon(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "one", "two", "theirs", "a fork", "three")
    session = await agent.new_session()
    await agent.prompt(session, "first")
    await agent.prompt(session, "/clear")
    await agent.prompt(session, "second")
    async with hub.client() as editor:
        await editor.initialize()
        await keep_turn(editor, session, "first", "one", "more")
        await keep_turn(editor, session, "something else")
    await hub.kill()

    async with running_agent(hub, tmp_path) as other:
        await other.initialize()
        titles = await list_titles(other)
        loaded = await other.reopen("session/load", session)
        await other.prompt(session, "third")

    assert titles[session] == "second"
    assert sorted(titles.values()) == ["second", "something else"]
    assert loaded.text("user_message_chunk") == "second"
    assert loaded.text() == "two"
    assert loaded.updates("session_info_update")[0]["title"] == "second"
    assert [message["content"] for message in sent_messages(upstream)] == ["second", "two", "third"]


@pytest.mark.requirement("11:sessions")
async def test_a_resumed_session_continues_without_showing_its_messages(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "one", "two")
    session = await agent.new_session()
    await agent.prompt(session, "first")

    async with running_agent(hub, tmp_path) as other:
        await other.initialize()
        resumed = await other.reopen("session/resume", session)
        await other.prompt(session, "second")

    assert resumed.messages == []
    assert [message["content"] for message in sent_messages(upstream)] == ["first", "one", "second"]


@pytest.mark.requirement("11:restored")
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_choices_usage_and_cost_are_restored(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream, tmp_path: Path, method: str
) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.25}
    for _ in range(3):
        upstream.script(Reply.events(completion_stream(["ok"], usage=usage)), path="/v1/chat/completions")
    session = await agent.new_session()
    await agent.prompt(session, "/system Be brief.")
    await agent.set_option(session, "model", "other:o")
    await agent.set_option(session, "settings.polite", "true")
    await agent.set_option(session, "model", "fake:m")
    await agent.set_option(session, "thought_level", "high")
    await agent.set_option(session, "settings.tone", "dry")
    await agent.prompt(session, "hi")
    await agent.prompt(session, "/clear")
    await agent.prompt(session, "hello")

    async with running_agent(hub, tmp_path) as other:
        await other.initialize()
        params = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        options = (await other.request(method, params)).result["configOptions"]
        reported = await other.read_update("usage_update")
        there = (await other.set_option(session, "model", "other:o")).result["configOptions"]
        await other.set_option(session, "model", "fake:m")
        more = await other.prompt(session, "more")

    assert option(options, "model")["currentValue"] == "fake:m"
    assert option(options, "thought_level")["currentValue"] == "high"
    assert option(options, "settings.tone")["currentValue"] == "dry"
    assert option(there, "settings.polite")["currentValue"] == "true"
    expected = {"used": 10, "size": 1000, "cost": {"amount": 0.5, "currency": "USD"}}
    assert reported == {"sessionUpdate": "usage_update", **expected}
    assert more.updates("usage_update")[0]["cost"]["amount"] == 0.75
    assert sent_messages(upstream)[0]["content"] == "Be brief."


@pytest.mark.requirement("11:restored")
async def test_what_a_configured_prompt_sets_for_one_turn_is_not_restored(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "ok", "LOUD", "quiet")
    session = await agent.new_session()
    await agent.prompt(session, "/system Be brief.")
    await agent.prompt(session, "hi")
    await agent.prompt(session, "/shout now")

    async with running_agent(hub, tmp_path) as other:
        await other.initialize()
        options = (await other.reopen("session/load", session)).result["configOptions"]
        await other.prompt(session, "again")

    assert option(options, "model")["currentValue"] == "fake:m"
    assert sent_messages(upstream)[0]["content"] == "Be brief."


@pytest.mark.requirement("11:restored")
async def test_a_session_of_another_client_has_the_model_and_system_of_its_last_turn(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "one", "two")
    async with hub.client() as editor:
        await editor.initialize()
        params = {
            "messages": [{"role": "user", "content": "hi"}],
            "keep": True,
            "conversationId": "theirs",
            "model": "other:o",
            "system": "Be kind.",
            "settings": {"polite": True},
        }
        assert (await editor.request("chat/start", params)).result

    options = (await agent.reopen("session/load", "theirs")).result["configOptions"]
    await agent.prompt("theirs", "more")

    assert option(options, "model")["currentValue"] == "other:o"
    assert option(options, "settings.polite")["currentValue"] == "true"
    assert [message["content"] for message in sent_messages(upstream)] == ["Be kind.", "hi", "one", "more"]


@pytest.mark.requirement("11:restored")
async def test_a_removed_provider_and_setting_do_not_break_a_loaded_session(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream, tmp_path: Path
) -> None:
    script_answers(upstream, "ok", "still ok")
    session = await agent.new_session()
    await agent.set_option(session, "settings.tone", "dry")
    await agent.set_option(session, "model", "other:o")
    await agent.prompt(session, "hi")
    await agent.exit_code()
    config = "\n".join(
        [
            'default_provider = "fake"',
            "[providers.fake]",
            'kind = "openai"',
            f'base_url = "{upstream.base_url}"',
            'models = ["m"]',
        ]
    )

    async with running_agent(hub, tmp_path, config=config + '\ndefault_model = "m"\n') as other:
        await other.initialize()
        options = (await other.reopen("session/load", session)).result["configOptions"]

        assert (await other.prompt(session, "again")).text() == "still ok"
    assert option(options, "model")["currentValue"] == "fake:m"


@pytest.mark.requirement("11:branches")
async def test_a_deleted_session_leaves_no_branch_and_no_text(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "secret one", "secret two", "kept")
    session, other = await agent.new_session(), await agent.new_session()
    await agent.prompt(session, "secret question")
    await agent.prompt(session, "/clear")
    await agent.prompt(session, "secret again")
    await agent.prompt(other, "hi")

    assert await list_titles(agent) == {session: "secret again", other: "hi"}
    assert (await agent.request("session/delete", {"sessionId": session})).result == {}
    assert await list_titles(agent) == {other: "hi"}

    params = {"sessionId": session, "cwd": str(agent.directory), "mcpServers": []}
    assert (await agent.request("session/load", params)).error["code"] == -32002
    assert await agent.exit_code() == 0
    assert (await hub.command("daemon", "stop"))[0] == 0
    kept = [path for path in hub.home.rglob("*") if path.is_file() and path.name != "config.toml"]
    assert not [path for path in kept if b"secret" in path.read_bytes()]


@pytest.mark.requirement("11:sessions")
async def test_loading_a_session_ends_its_prompt_and_shows_the_answer_so_far(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]), path="/v1/chat/completions")
    session = await agent.new_session()
    prompt = agent.start_prompt(session, "a long story")
    await agent.read_update("agent_message_chunk")
    params = {"sessionId": session, "cwd": str(agent.directory), "mcpServers": []}
    load = agent.start("session/load", params)

    assert (await agent.read_until(prompt)).result == {"stopReason": "cancelled"}
    assert (await agent.read_until(load)).text() == "partial"


@pytest.mark.requirement("11:branches")
async def test_deleting_a_session_ends_its_prompt_and_leaves_nothing_of_it(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "ok")
    session = await agent.new_session()
    await agent.prompt(session, "hi")
    store = ConversationStore(hub.home / "conversations")
    with store.hold_lock():
        # The prompt may need the lock to write its question. The deletion must then wait for the prompt.
        prompt = agent.start_prompt(session, "a long story")
        delete = agent.start("session/delete", {"sessionId": session})

    assert (await agent.read_until(prompt)).result == {"stopReason": "cancelled"}
    assert (await agent.read_until(delete)).result == {}
    assert await list_titles(agent) == {}
    assert list(store.files()) == []


@pytest.mark.requirement("11:sessions")
async def test_a_cancelled_first_prompt_gives_its_session_a_title(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]), path="/v1/chat/completions")
    session = await agent.new_session()
    prompt = agent.start_prompt(session, "a long story")
    await agent.read_update("agent_message_chunk")
    agent.notify("session/cancel", {"sessionId": session})

    cancelled = await agent.read_until(prompt)

    assert cancelled.result == {"stopReason": "cancelled"}
    assert [update["title"] for update in cancelled.updates("session_info_update")] == ["a long story"]
