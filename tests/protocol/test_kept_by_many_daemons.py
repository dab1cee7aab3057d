"""Eight daemons that keep turns simultaneously."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from jumpseat.conversations import ConversationStore, conversations_directory
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.unit.conversations.support import texts

DAEMONS, TURNS, NAMES = 8, 50, 50


def echo(request: RecordedRequest) -> Reply:
    """Return an answer that quotes its question."""
    return Reply.events(completion_stream([f"answer to {request.json['messages'][-1]['content']}"]))


async def write_shared_conversation(daemon: Daemon, writer: int) -> None:
    """Write a growing conversation. All daemons use the same name for it."""
    messages: list[dict[str, Any]] = []
    for number in range(TURNS):
        messages.append(user(f"{writer}-{number}"))
        asked = {"messages": messages, "keep": True, "conversationId": "all"}
        result = (await daemon.request("chat/start", asked)).result
        assert "conversationId" in result, result
        messages.append({"role": "assistant", "content": result["text"]})


async def write_many_conversations(daemon: Daemon, writer: int) -> None:
    """Write one turn of each of many conversations. All daemons use the same names for them."""
    for number in range(TURNS):
        name = f"c{number % NAMES}"
        asked = {"messages": [user(f"{writer}-{number}")], "keep": True, "conversationId": name}
        assert "conversationId" in (await daemon.request("chat/start", asked)).result


@pytest.mark.slow
@pytest.mark.requirement("10:several-writers")
@pytest.mark.parametrize("work", [write_shared_conversation, write_many_conversations])
async def test_turns_written_by_eight_daemons_are_all_kept(
    home: Path, upstream: FakeUpstream, work: Any
) -> None:
    upstream.default(echo)
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(300):
        daemons = [await stack.enter_async_context(running_daemon(home)) for _ in range(DAEMONS)]
        for each in daemons:
            await each.initialize(provider(upstream.base_url))
        await asyncio.gather(*(work(each, writer) for writer, each in enumerate(daemons)))
    store = ConversationStore(conversations_directory(home))
    found = Counter(text for name, _ in store.files() for text in texts(store, name))
    questions = [f"{writer}-{number}" for writer in range(DAEMONS) for number in range(TURNS)]
    assert set(found) == {*questions, *(f"answer to {each}" for each in questions)}
    # Each text is in only one conversation, so no conversation begins with messages of another one.
    assert set(found.values()) == {1}
    # For each name, one daemon writes the conversation of that name, and the other daemons write forks.
    assert len(list(store.files())) == (DAEMONS if work is write_shared_conversation else DAEMONS * NAMES)
    assert not list(store.directory.glob("*.damaged-*"))
