"""Turns with `keep`: the contents of the files when the client receives its response."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from jumpseat.chat.json_form import to_json_form
from jumpseat.conversations import ConversationStore, KeptConversation, conversations_directory
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Create the directory of the daemon's configuration and state."""
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


@pytest_asyncio.fixture
async def keeping(home: Path, upstream: FakeUpstream) -> AsyncIterator[Daemon]:
    """Start and initialize a daemon."""
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        yield daemon


def read_kept(home: Path, conversation: str) -> KeptConversation:
    """Read a kept conversation as another process does."""
    return ConversationStore(conversations_directory(home)).get(conversation)


def messages_of(kept: KeptConversation) -> list[dict[str, Any]]:
    """Return the messages in the form that they have on the wire."""
    found: list[dict[str, Any]] = to_json_form(kept.messages)
    return found


def text(words: str) -> dict[str, Any]:
    """Return a user's message in the form in which it is kept."""
    return {"role": "user", "content": [{"type": "text", "text": words}]}


def codes(result: dict[str, Any]) -> list[str]:
    """Return the codes of the warnings."""
    return [each["code"] for each in result.get("warnings", [])]


@pytest.mark.requirement("10:before-response", "10:start-names-it")
@pytest.mark.parametrize("stream", [True, False])
async def test_a_turn_is_in_its_file_before_its_response(
    keeping: Daemon, upstream: FakeUpstream, home: Path, stream: bool
) -> None:
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])), Reply.events(completion_stream(["Yes"])))
    asked = {"messages": [user("Hi")], "keep": True, "system": "Be brief.", "stream": stream}
    first = await keeping.request("chat/start", asked)
    name = first.result["conversationId"]
    found = read_kept(home, name)
    answer = {"role": "assistant", "content": first.result["content"]}
    assert messages_of(found) == [text("Hi"), answer]
    assert (found.system, found.row.title, found.row.model) == ("Be brief.", "Hi", "fake:m")
    assert (found.row.client, found.row.cwd) == ("tests", str(Path.cwd()))
    if stream:
        assert first.deltas[0] == {"type": "start", "provider": "fake", "model": "m", "conversationId": name}

    # This client keeps only texts, and names the conversation.
    thin = {"role": "assistant", "content": "Hello"}
    asked |= {"messages": [user("Hi"), thin, user("Sure?")], "conversationId": name}
    second = await keeping.request("chat/start", asked)
    assert (second.result["conversationId"], codes(second.result)) == (name, [])
    last = {"role": "assistant", "content": second.result["content"]}
    assert messages_of(read_kept(home, name)) == [text("Hi"), answer, text("Sure?"), last]


@pytest.mark.requirement("10:fork")
async def test_a_turn_that_does_not_continue_its_conversation_is_kept_in_a_fork(
    keeping: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    upstream.script(*[Reply.events(completion_stream(["Hello"])) for _ in range(3)])
    asked = {"keep": True, "conversationId": "a"}
    first = await keeping.request("chat/start", {**asked, "messages": [user("Hi")]})
    other = await keeping.request("chat/start", {**asked, "messages": [user("Bye")]})

    fork = other.result["conversationId"]
    assert fork != "a"
    assert codes(other.result) == ["conversation_forked"]
    assert other.deltas[0]["conversationId"] == fork
    assert messages_of(read_kept(home, "a"))[0] == text("Hi")
    assert read_kept(home, fork).row.fork_of == "a"

    answer = {"role": "assistant", "content": other.result["content"]}
    more = await keeping.request("chat/start", {**asked, "messages": [user("Bye"), answer, user("Why?")]})
    assert (more.result["conversationId"], codes(more.result)) == (fork, [])
    assert first.result["conversationId"] == "a"


@pytest.mark.requirement("10:partial")
async def test_a_cancelled_turn_is_kept_with_its_partial(
    keeping: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    request = keeping.start("chat/start", {"messages": [user("Hi")], "keep": True, "conversationId": "a"})
    await keeping.read_delta("text_delta")
    # The user's message is kept as soon as the turn starts.
    assert messages_of(read_kept(home, "a")) == [text("Hi")]
    keeping.notify("$/cancelRequest", {"id": request})
    partial = (await keeping.read_until(request)).error["data"]["partial"]
    assert partial["conversationId"] == "a"
    assert messages_of(read_kept(home, "a")) == [
        text("Hi"),
        {"role": "assistant", "content": partial["content"]},
    ]


@pytest.mark.requirement("10:client-dies")
async def test_the_partial_is_kept_when_the_client_dies(
    keeping: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    keeping.start("chat/start", {"messages": [user("Hi")], "keep": True, "conversationId": "a"})
    await keeping.read_delta("text_delta")
    keeping.close_stdin()
    await keeping.exit_code()
    assert [each["content"][0]["text"] for each in messages_of(read_kept(home, "a"))] == ["Hi", "Hel"]


@pytest.mark.requirement("10:partial", "10:replace")
async def test_a_failed_turn_without_output_leaves_its_user_message(
    keeping: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    upstream.script(
        Reply.json({"error": {"message": "No."}}, status=400), Reply.events(completion_stream(["Hello"]))
    )
    asked = {"messages": [user("Hi")], "keep": True, "conversationId": "a"}
    assert (await keeping.request("chat/start", asked)).error["code"] == 1004
    assert messages_of(read_kept(home, "a")) == [text("Hi")]

    edited = (await keeping.request("chat/start", {**asked, "messages": [user("Hey")]})).result
    assert (edited["conversationId"], codes(edited)) == ("a", [])
    assert messages_of(read_kept(home, "a"))[0] == text("Hey")

    refused = {**asked, "conversationId": "b", "settings": {"temperature": "hot"}}
    assert (await keeping.request("chat/start", refused)).error["code"] == -32602
    assert ConversationStore(conversations_directory(home)).row("b") is None


@pytest.mark.requirement("10:edit")
async def test_an_edit_is_kept_as_the_user_wrote_it(
    keeping: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["y = 1"])))
    target = {"type": "context", "text": "x = 1", "uri": "file:///a.py"}
    asked = {"target": target, "instruction": "Rename x.", "keep": True}
    result = (await keeping.request("edit/start", asked)).result
    found = read_kept(home, result["conversationId"])
    assert messages_of(found) == [
        {"role": "user", "content": [target, {"type": "text", "text": "Rename x."}]},
        {"role": "assistant", "content": result["content"]},
    ]
    assert (found.row.title, found.system) == ("Rename x.", None)


@pytest.mark.requirement("10:cwd")
async def test_a_conversation_has_the_real_directory_of_the_workspace(
    home: Path, upstream: FakeUpstream, tmp_path: Path
) -> None:
    real = tmp_path / "a b"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    upstream.script(*[Reply.events(completion_stream(["Hello"])) for _ in range(3)])
    named: list[dict[str, Any]] = [
        {"workspaceFolders": [{"uri": link.as_uri(), "name": "x"}], "rootUri": "file:///other"},
        {"workspaceFolders": None, "rootUri": real.as_uri()},
        {"workspaceFolders": 3, "rootUri": "untitled:x"},
    ]
    seen = []
    for params in named:
        async with running_daemon(home) as daemon:
            options = {"initializationOptions": {"config": provider(upstream.base_url)}}
            assert (await daemon.request("initialize", {**options, **params, "capabilities": {}})).result
            result = (await daemon.request("chat/start", {"messages": [user("Hi")], "keep": True})).result
            seen.append(read_kept(home, result["conversationId"]).row.cwd)
    assert seen == [str(real), str(real), str(Path.cwd())]


@pytest.mark.requirement("10:switched-off", "10:not-kept-once")
async def test_conversations_are_not_written_if_the_user_disables_keeping(
    home: Path, upstream: FakeUpstream
) -> None:
    (home / "config.toml").write_text("[conversations]\nkeep = false\n", "utf-8")
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))

        async def turn(conversation: str | None) -> list[str]:
            upstream.script(Reply.events(completion_stream(["Hi"])))
            named = {} if conversation is None else {"conversationId": conversation}
            asked = {"messages": [user("hi")], "keep": True, **named}
            result = (await daemon.request("chat/start", asked)).result
            assert (result["text"], "conversationId" in result) == ("Hi", False)
            return codes(result)

        # A refused turn never starts and sends no warning, so the first turn after it must send one.
        refused = {"messages": [user("hi")], "keep": True, "conversationId": "a"}
        assert (await daemon.request("chat/start", {**refused, "settings": {"temperature": "hot"}})).error
        warned = ["conversation_not_kept"]
        assert [await turn(each) for each in ("a", "a", "b", "a")] == [warned, [], warned, []]
        # Without a name, each turn is a separate conversation, so each sends a warning.
        assert [await turn(None) for _ in range(2)] == [warned, warned]
    assert not conversations_directory(home).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs file modes")
@pytest.mark.requirement("10:unsafe-directory")
async def test_conversations_are_not_kept_in_a_directory_writable_by_others(
    home: Path, upstream: FakeUpstream
) -> None:
    directory = conversations_directory(home)
    directory.mkdir()
    directory.chmod(0o777)
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        upstream.script(Reply.events(completion_stream(["Hi"])))
        result = (await daemon.request("chat/start", {"messages": [user("hi")], "keep": True})).result
        assert (result["text"], codes(result)) == ("Hi", ["conversation_not_kept"])
        assert "chmod 700" in result["warnings"][0]["message"]
        assert not list(directory.iterdir())
        for method, params in (("list", {}), ("get", {"id": "a"}), ("delete", {"id": "a"})):
            error = (await daemon.request(f"conversations/{method}", params)).error
            assert (error["code"], "chmod 700" in error["data"]["hint"]) == (1010, True)
        directory.chmod(0o700)
        assert (await daemon.request("conversations/list")).result == {"conversations": []}
        assert "Traceback" not in await daemon.whole_log()


@pytest.mark.requirement("10:not-written")
async def test_a_chat_continues_if_the_store_cannot_be_written(
    keeping: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    conversations_directory(home).write_text("A file stands in the way.", "utf-8")
    for expected in (["conversation_not_kept"], []):
        upstream.script(Reply.events(completion_stream(["Hi"])))
        asked = {"messages": [user("hi")], "keep": True, "conversationId": "a"}
        result = (await keeping.request("chat/start", asked)).result
        assert (result["text"], codes(result), "conversationId" in result) == ("Hi", expected, False)
