"""The methods for kept conversations, and their notification, with one daemon and with several."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from jumpseat.conversations import ConversationStore, conversations_directory
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.attempts import assert_quick
from tests.daemon import WAIT_SECONDS, Daemon, provider, running_daemon, user
from tests.hub import Hub
from tests.unit.conversations.kept import copy_many

pytestmark = pytest.mark.slow

COPIES = 900
"""The number of conversations for `copy_many`, which is more than the daemon indexes for a first list."""

UNKNOWN = 1004
INVALID_PARAMS = -32602


@pytest_asyncio.fixture
async def keeping(tmp_path: Path, upstream: FakeUpstream) -> AsyncIterator[Daemon]:
    """Start and initialize a daemon whose provider always answers "Hello"."""
    upstream.default(Reply.events(completion_stream(["Hel", "lo"])))
    async with running_daemon(tmp_path) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        yield daemon


async def keep(daemon: Daemon, conversation: str, *texts: str) -> dict[str, Any]:
    """Keep a turn with these user messages. Each of them except the last has the answer "Hello"."""
    messages = [user(texts[0])]
    for text in texts[1:]:
        messages += [{"role": "assistant", "content": "Hello"}, user(text)]
    params = {"messages": messages, "keep": True, "conversationId": conversation, "settings": {}}
    result: dict[str, Any] = (await daemon.request("chat/start", params)).result
    return result


async def list_ids(daemon: Daemon, **params: Any) -> list[str]:
    result = (await daemon.request("conversations/list", params)).result
    return [row["id"] for row in result["conversations"]]


@pytest.mark.requirement("10:list", "10:get", "10:rename", "10:delete")
async def test_kept_conversations_are_listed_returned_renamed_and_deleted(keeping: Daemon) -> None:
    assert (await keeping.request("conversations/list")).result == {"conversations": []}
    answer = await keep(keeping, "one", "Why is the sky blue?")
    await keep(keeping, "two", "Who are you?")

    rows = (await keeping.request("conversations/list", {})).result["conversations"]
    assert [row["id"] for row in rows] == ["two", "one"]
    row = rows[1]
    assert row == {
        "id": "one",
        "title": "Why is the sky blue?",
        "createdAt": row["createdAt"],
        "updatedAt": row["updatedAt"],
        "model": "fake:m",
        "cwd": str(Path.cwd().resolve()),
        "client": "tests",
        "turns": 1,
    }
    assert row["createdAt"] <= row["updatedAt"]
    assert row["updatedAt"].endswith("Z")

    whole = (await keeping.request("conversations/get", {"id": "one"})).result
    assert whole == {
        **row,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Why is the sky blue?"}]},
            {"role": "assistant", "content": answer["content"]},
        ],
    }

    renamed = (await keeping.request("conversations/rename", {"id": "one", "title": "Physics"})).result
    assert renamed == {**row, "title": "Physics", "updatedAt": renamed["updatedAt"]}
    assert await list_ids(keeping) == ["one", "two"]

    assert (await keeping.request("conversations/delete", {"id": "one"})).result == {"deleted": True}
    assert (await keeping.request("conversations/delete", {"id": "one"})).result == {"deleted": False}
    assert await list_ids(keeping) == ["two"]


@pytest.mark.requirement("10:get")
async def test_the_messages_of_a_kept_conversation_can_be_sent_to_continue_it(keeping: Daemon) -> None:
    params = {"messages": [user("Hi")], "keep": True, "system": "Be brief.", "maxTokens": 50}
    name = (await keeping.request("chat/start", params)).result["conversationId"]
    kept = (await keeping.request("conversations/get", {"id": name})).result

    more = {
        **{key: kept[key] for key in ("messages", "system", "model")},
        "keep": True,
        "conversationId": kept["id"],
    }
    more["messages"].append(user("More"))
    result = (await keeping.request("chat/start", more)).result

    assert result["conversationId"] == name
    assert "warnings" not in result
    kept = (await keeping.request("conversations/get", {"id": name})).result
    assert (len(kept["messages"]), kept["turns"], kept["system"]) == (4, 2, "Be brief.")


@pytest.mark.requirement("10:list", "10:bad-cursor")
async def test_a_list_has_pages_and_filters(keeping: Daemon, tmp_path: Path) -> None:
    for number in range(5):
        await keep(keeping, f"c{number}", f"Frage {number} zur STRASSE")

    seen, params = [], {"limit": 2, "cursor": None}
    while True:
        page = (await keeping.request("conversations/list", params)).result
        seen.append([row["id"] for row in page["conversations"]])
        if "nextCursor" not in page:
            break
        params["cursor"] = page["nextCursor"]
    assert seen == [["c4", "c3"], ["c2", "c1"], ["c0"]]

    assert await list_ids(keeping, query="straße 3") == ["c3"]
    assert await list_ids(keeping, query="hello frage") == ["c4", "c3", "c2", "c1", "c0"]
    assert await list_ids(keeping, query="no such words") == []
    assert len(await list_ids(keeping, cwd=str(Path.cwd().parent))) == 5
    assert len(await list_ids(keeping, cwd=".")) == 5
    assert await list_ids(keeping, cwd=str(tmp_path)) == []

    for bad in ({"cursor": "nonsense"}, {"limit": 0}, {"limit": 201}, {"cwd": 1}):
        error = (await keeping.request("conversations/list", bad)).error
        assert error["code"] == INVALID_PARAMS
        assert [each["path"] for each in error["data"]["errors"]] == list(bad)


@pytest.mark.requirement("10:fork-method")
async def test_a_fork_contains_the_first_messages_with_complete_calls(
    keeping: Daemon, upstream: FakeUpstream
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "arguments": {}, "raw": "{}"}
    messages = [
        user("Look"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "toolUseId": "t1", "content": "A cat"}]},
    ]
    tools = [{"name": "look", "description": "", "parameters": {"type": "object"}}]
    await keeping.request(
        "chat/start", {"messages": messages, "tools": tools, "keep": True, "conversationId": "one"}
    )

    whole = (await keeping.request("conversations/fork", {"id": "one"})).result
    cut = (await keeping.request("conversations/fork", {"id": "one", "messages": 2})).result

    assert whole["forkOf"] == cut["forkOf"] == "one"
    assert len((await keeping.request("conversations/get", {"id": whole["id"]})).result["messages"]) == 4
    left = (await keeping.request("conversations/get", {"id": cut["id"]})).result["messages"]
    assert [message["role"] for message in left] == ["user"]
    await keeping.request("conversations/delete", {"id": "one"})
    assert set(await list_ids(keeping)) == {whole["id"], cut["id"]}

    error = (await keeping.request("conversations/fork", {"id": cut["id"], "messages": 0})).error
    assert error["code"] == INVALID_PARAMS


@pytest.mark.requirement("10:unknown-id")
@pytest.mark.parametrize("name", ["none", "../../secret", "", "x" * 200])
async def test_an_unknown_id_is_refused_with_a_hint(keeping: Daemon, name: str) -> None:
    for method, more in (("get", {}), ("fork", {}), ("rename", {"title": "A title"})):
        error = (await keeping.request(f"conversations/{method}", {"id": name, **more})).error
        assert (error["code"], error["data"]["kind"]) == (UNKNOWN, "request")
        assert "pruned" in error["data"]["hint"]
    assert (await keeping.request("conversations/delete", {"id": name})).result == {"deleted": False}


async def wait_until_listed(daemon: Daemon, ids: list[str]) -> None:
    """Wait until the daemon, which prunes in the background, lists exactly these conversations."""
    async with asyncio.timeout(WAIT_SECONDS):
        while await list_ids(daemon) != ids:
            pass


async def wait_for_notification(daemon: Daemon, conversation: str) -> float:
    """Wait for the notification that this conversation has changed, and return the time of its arrival."""
    while True:
        message = await daemon.read()
        if message["method"] == "conversations/didChange" and message["params"] == {"id": conversation}:
            return time.monotonic()


@pytest.mark.requirement("10:first-list")
async def test_a_client_is_notified_while_many_conversations_are_indexed(
    tmp_path: Path, upstream: FakeUpstream
) -> None:
    copy_many(ConversationStore(conversations_directory(tmp_path)), COPIES)
    async with running_daemon(tmp_path) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        page = (await daemon.request("conversations/list", {})).result
        assert page["conversations"][0]["id"] == f"c{COPIES - 1}"
        assert "nextCursor" in page
        async with asyncio.timeout(WAIT_SECONDS):
            while "nextCursor" in (await daemon.request("conversations/list", {"query": "needle000"})).result:
                # Without an id, `conversations/didChange` announces that more conversations are indexed.
                while (await daemon.read())["params"] != {}:
                    pass
        assert await list_ids(daemon, query="needle000") == ["c000"]


@pytest.mark.requirement("10:did-change")
async def test_a_change_reaches_every_initialized_client_within_two_seconds(
    keeping: Daemon, upstream: FakeUpstream, tmp_path: Path
) -> None:
    async with running_daemon(tmp_path) as other, running_daemon(tmp_path) as silent:
        await other.initialize(provider(upstream.base_url))

        async def longest_seconds_until_both_know() -> float:
            took = []
            for change in (
                keep(keeping, "one", "Hi"),
                keeping.request("conversations/rename", {"id": "one", "title": "Renamed"}),
                keeping.request("conversations/delete", {"id": "one"}),
            ):
                await change
                begun = time.monotonic()
                took += [await wait_for_notification(each, "one") - begun for each in (other, keeping)]
            return max(took)

        await assert_quick(longest_seconds_until_both_know, within=2)

        handshake = await silent.request("initialize", {"capabilities": {}})
        assert handshake.notifications == []
        assert await list_ids(silent) == []


@pytest.mark.requirement("10:did-change", "10:list")
async def test_two_daemons_list_the_same_conversations(
    keeping: Daemon, upstream: FakeUpstream, tmp_path: Path
) -> None:
    async with running_daemon(tmp_path) as other:
        await other.initialize(provider(upstream.base_url))
        for turn in range(3):
            await asyncio.gather(keep(keeping, f"a{turn}", "Hi"), keep(other, f"b{turn}", "Hi"))

        await wait_for_notification(other, "a2")
        await wait_for_notification(keeping, "b2")
        assert await list_ids(keeping) == await list_ids(other)
        assert len(await list_ids(other, query="hello")) == 6


@pytest.mark.requirement("10:did-change")
async def test_attached_clients_are_notified_of_each_others_changes(hub: Hub, upstream: FakeUpstream) -> None:
    upstream.default(Reply.events(completion_stream(["Hello"])))
    async with hub.client() as one, hub.client() as other:
        for client in (one, other):
            await client.initialize(provider(upstream.base_url))
        await keep(one, "one", "Hi")

        await wait_for_notification(other, "one")
        assert await list_ids(other) == ["one"]
    async with hub.client() as later:
        await later.initialize(provider(upstream.base_url))
        assert await list_ids(later, query="hello") == ["one"]


@pytest.mark.requirement("10:keep-false")
async def test_old_conversations_can_be_read_and_deleted_while_keeping_is_off(
    keeping: Daemon, tmp_path: Path
) -> None:
    await keep(keeping, "one", "Hi")
    (tmp_path / "config.toml").write_text("[conversations]\nkeep = false\n", "utf-8")
    async with running_daemon(tmp_path) as off:
        await off.initialize()
        for method, more in (("fork", {}), ("rename", {"title": "A title"})):
            error = (await off.request(f"conversations/{method}", {"id": "one", **more})).error
            assert error["code"] == 1010
            assert "keep = false" in error["data"]["hint"]
        assert await list_ids(off) == ["one"]
        assert (await off.request("conversations/get", {"id": "one"})).result["title"] == "Hi"
        assert (await off.request("conversations/delete", {"id": "one"})).result == {"deleted": True}


@pytest.mark.requirement("10:pruned")
async def test_the_oldest_conversations_are_deleted_after_a_turn(
    tmp_path: Path, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hello"])))
    (tmp_path / "config.toml").write_text("[conversations]\nmax_megabytes = 0.25\n", "utf-8")
    async with running_daemon(tmp_path) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        for number in range(4):
            await keep(daemon, f"c{number}", "x" * 100_000)

        await wait_until_listed(daemon, ["c3", "c2"])
        await keep(daemon, "large", "x" * 500_000)
        await wait_until_listed(daemon, ["large"])


@pytest.mark.requirement("10:pruned")
async def test_a_starting_daemon_deletes_conversations_that_are_too_old(
    keeping: Daemon, upstream: FakeUpstream, tmp_path: Path
) -> None:
    await keep(keeping, "old", "Hi")
    (tmp_path / "config.toml").write_text("[conversations]\nmax_days = 1e-7\n", "utf-8")
    async with running_daemon(tmp_path) as other:
        await other.initialize(provider(upstream.base_url))
        await wait_until_listed(other, [])
