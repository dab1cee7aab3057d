"""The Python clients' methods for services of the daemon, such as keys, pages, titles and prompts."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat_client import Client, RequestFailed, SyncClient

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]


@pytest.fixture
def upstream(home: Path) -> Iterator[ThreadedUpstream]:
    """Start a provider, and write a configuration file that names it `mine`."""
    with ThreadedUpstream() as running:
        table = f'[providers.mine]\nkind = "openai"\nbase_url = "{running.base_url}"\ndefault_model = "m"\n'
        (home / "config.toml").write_text(table, "utf-8")
        yield running


@pytest.mark.requirement("13:client")
def test_a_key_is_set_and_removed(upstream: ThreadedUpstream) -> None:
    upstream.default(Reply.json({"data": [{"id": "m"}]}), path="/v1/models")
    with SyncClient.spawn() as client:
        stored = client.set_key("mine", "a-key-of-a-test")
        assert stored == {"stored": "file", "test": {"ok": True}}
        assert [client.remove_key("mine"), client.remove_key("mine")] == [True, False]


@pytest.mark.requirement("13:client")
async def test_a_key_is_set_and_removed_with_asyncio(upstream: ThreadedUpstream) -> None:
    async with Client.spawn() as client:
        assert await client.set_key("mine", "a-key-of-a-test", test=False) == {"stored": "file"}
        assert await client.remove_key("mine")
    assert upstream.requests == []


@pytest.mark.requirement("13:client", "13:rules")
def test_the_rules_of_the_working_directory_are_sent_on_request(
    upstream: ThreadedUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.default(Reply.events(completion_stream("Arr.")), path="/v1/chat/completions")
    (tmp_path / "AGENTS.md").write_text("Answer like a pirate.", "utf-8")
    monkeypatch.chdir(tmp_path)
    with SyncClient.spawn() as client:
        start, *_ = client.chat("Hi", workspace_rules=True)
        assert start.rules == ["AGENTS.md"]
        client.edit("x", "Rename it.", workspace_rules=True).response()
        plain, ruled = (client.count_tokens("Hi", workspace_rules=rules)["tokens"] for rules in (False, True))
        assert ruled > plain
    command = [sys.executable, "-m", "jumpseat", "chat", "--own", "--no-keep", "--rules", "Hi"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=True, stdin=subprocess.DEVNULL
    )

    assert (done.stdout, done.stderr) == ("Arr.\n", "note: sent the rules in AGENTS.md.\n")
    systems = [request.json["messages"][0]["content"] for request in upstream.requests]
    assert len(systems) == 3
    assert all("Answer like a pirate." in system for system in systems)


@pytest.mark.requirement("13:client", "13:cli")
def test_a_page_is_fetched_and_sent_with_a_question(upstream: ThreadedUpstream, home: Path) -> None:
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write("[fetch]\nprivate = true\n")
    upstream.default(Reply.raw(b"<title>T</title><p>Hello.", 200, "text/html"), path="/page")
    upstream.default(Reply.events(completion_stream("Yes.")), path="/v1/chat/completions")
    with SyncClient.spawn() as client:
        block = client.fetch_context(f"{upstream.origin}/page")
        assert block == {"type": "context", "text": "Hello.", "uri": f"{upstream.origin}/page", "label": "T"}
        content = [block, {"type": "text", "text": "Why?"}]
        assert client.chat([{"role": "user", "content": content}]).response().text == "Yes."
    command = [sys.executable, "-m", "jumpseat", "chat", "--own", "--no-keep", "-f", block["uri"], "Why?"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=True, stdin=subprocess.DEVNULL
    )

    assert (done.stdout, done.stderr) == ("Yes.\n", "")
    first, second = (
        request.json["messages"] for request in upstream.requests if request.path.endswith("completions")
    )
    assert first == second
    assert f"`{upstream.origin}/page`, `T`:\n```\nHello.\n```" in str(first[0]["content"][0]["text"])


@pytest.mark.requirement("13:client")
async def test_a_page_on_a_private_address_is_refused_with_asyncio(upstream: ThreadedUpstream) -> None:
    async with Client.spawn() as client:
        with pytest.raises(RequestFailed) as caught:
            await client.fetch_context(upstream.origin)
    assert caught.value.code == 1004
    assert upstream.requests == []


@pytest.mark.requirement("13:client", "13:cli", "13:suggest-title")
def test_a_title_is_suggested_and_applied_on_request(upstream: ThreadedUpstream) -> None:
    title = Reply.events(completion_stream("Title: The Colour of the Sky"))
    upstream.script(Reply.events(completion_stream("Rayleigh.")), title, title, title)

    def run_title(*arguments: str) -> str:
        command = [sys.executable, "-m", "jumpseat", "conversations", "title", "--own", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        assert done.stderr == ""
        return done.stdout

    with SyncClient.spawn() as client:
        name = client.chat("Why is the sky blue?", keep=True).response().conversation_id or ""
        assert client.suggest_title(name, model="mine:other") == "The Colour of the Sky"
        assert run_title(name[-8:]) == "The Colour of the Sky\n"
        assert client.get_conversation(name)["title"] == "Why is the sky blue?"
        applied = {"id": name, "title": "The Colour of the Sky", "applied": True}
        assert json.loads(run_title("--json", "--apply", name)) == applied
        assert client.get_conversation(name)["title"] == "The Colour of the Sky"
    assert [request.json["model"] for request in upstream.requests] == ["m", "other", "m", "m"]


@pytest.mark.requirement("13:client")
async def test_a_title_is_suggested_with_asyncio(upstream: ThreadedUpstream) -> None:
    upstream.script(*(Reply.events(completion_stream(text)) for text in ("Fine.", "Greeting")))
    async with Client.spawn() as client:
        kept = await client.chat("Hi", keep=True).response()
        assert await client.suggest_title(kept.conversation_id or "") == "Greeting"


@pytest.mark.requirement("13:client")
async def test_the_built_in_prompts_are_listed_and_filled(upstream: ThreadedUpstream) -> None:
    async with Client.spawn() as client:
        rows = await client.list_prompts()
        prompt = await client.get_prompt("explain", "x = 1")
    assert {row["name"] for row in rows if row["builtin"]} == {
        "explain", "review", "fix", "tests", "docs", "commit",
    }  # fmt: skip
    assert prompt["builtin"] is True
    assert prompt["text"].endswith("\n\nx = 1")


PLACE = ("def add(a, b):\n    return ", "\n\nprint(add(1, 2))\n")
COMPLETION = {"model": "m", "choices": [{"text": "a + b", "finish_reason": "stop"}]}


@pytest.mark.requirement("14:client")
def test_a_text_between_two_texts_is_completed(upstream: ThreadedUpstream) -> None:
    upstream.default(Reply.json(COMPLETION), path="/v1/completions")
    with SyncClient.spawn() as client:
        done = client.complete(*PLACE, extent="line", max_tokens=9, stop_sequences=["#"], model="mine:m")
        assert (done["text"], done["stopReason"]) == ("a + b", "end_turn")
    sent = upstream.requests[0].json
    assert (sent["prompt"], sent["suffix"]) == PLACE
    assert (sent["max_tokens"], sent["stop"]) == (9, ["#", "\n"])


@pytest.mark.requirement("14:client", "14:cancel")
async def test_a_cancelled_task_cancels_its_completion(upstream: ThreadedUpstream) -> None:
    upstream.script(Reply.json(COMPLETION).stall_after(0), Reply.json(COMPLETION), path="/v1/completions")
    async with Client.spawn() as client:
        task = asyncio.ensure_future(client.complete(*PLACE))
        await asyncio.to_thread(upstream.wait_for_request)
        task.cancel()
        await asyncio.to_thread(upstream.wait_for_disconnect)
        assert (await client.complete(*PLACE))["text"] == "a + b"
