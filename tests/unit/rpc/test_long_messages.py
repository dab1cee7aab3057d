"""Long messages do not change the order of messages, and do not delay other sessions."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jumpseat.chat import Message, TextBlock
from jumpseat.chat.transcript import render
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat.wire import encode_frame, write_json
from tests.daemon import provider, user
from tests.unit.connections.session_client import SessionClient
from tests.unit.rpc.test_connection import Client, codes, request

pytestmark = pytest.mark.usefixtures("home")

LONG = {"text": "x" * 200_000}
CANCEL = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}


@pytest.fixture
async def client() -> Client:
    connected = Client()
    connected.send(request(0, "initialize"))
    connected.writer.bodies.clear()
    return connected


def send_most(client: Client, message: Any) -> bytes:
    """Send a message without its last bytes, and return these bytes."""
    frame = encode_frame(write_json(message))
    client.connection.receive(frame[:-10])
    return frame[-10:]


@pytest.mark.requirement("1:order")
@pytest.mark.parametrize("together", [True, False], ids=["in one piece", "in two pieces"])
async def test_a_cancel_directly_after_a_long_request_cancels_it(client: Client, together: bool) -> None:
    end = send_most(client, request(1, "for_ever", LONG))
    cancel = encode_frame(write_json(CANCEL))
    for piece in [end + cancel] if together else [end, cancel]:
        client.connection.receive(piece)
    assert client.writer.messages == []
    assert client.writer.held

    assert codes(await client.wait_for_answers(1)) == [(1, -32800)]
    assert not client.writer.held


async def test_several_long_messages_are_answered_in_order(client: Client) -> None:
    ends = send_most(client, request(1, "echo", LONG))
    for number in (2, 3):
        ends += encode_frame(write_json(request(number, "echo", LONG)))
    client.connection.receive(ends[:50])
    for start in range(50, len(ends), 50_000):
        client.connection.receive(ends[start : start + 50_000])

    assert [answer["id"] for answer in await client.wait_for_answers(3)] == [1, 2, 3]
    assert not client.writer.held


async def test_a_long_message_with_wrong_params_is_refused(client: Client) -> None:
    params = {"messages": [user("x" * 200_000), {"role": "nobody"}]}
    client.connection.receive(send_most(client, request(1, "chat/start", params)))

    [answer] = await client.wait_for_answers(1)
    assert [each["path"] for each in answer["error"]["data"]["errors"]] == [
        "messages.1.role",
        "messages.1.content",
    ]


async def test_a_long_message_has_no_effect_after_its_connection_closes(client: Client) -> None:
    client.connection.receive(send_most(client, request(1, "echo", LONG)))
    await client.connection.close()
    await asyncio.sleep(0)
    assert client.writer.messages == []


def plain(count: int) -> Any:
    return [{"role": ("user", "assistant")[at % 2], "content": "hello there"} for at in range(count)]


def agentic(count: int) -> Any:
    messages: list[Any] = []
    for at in range(0, count, 2):
        call = {"type": "tool_use", "id": f"call_{at}", "name": "read", "arguments": {}}
        result = {"type": "tool_result", "toolUseId": f"call_{at}", "content": "data"}
        messages += ({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})
    return messages


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Switch off garbage collection, which takes far longer in the test process than in a daemon."""
    gc.disable()
    yield
    gc.enable()


async def measure(client: SessionClient) -> tuple[float, float]:
    """Wait for response 2; return the CPU seconds of the longest event loop step, and of all threads."""
    answer = asyncio.create_task(client.response(2))
    all_before = time.process_time()
    longest, before = 0.0, time.thread_time()
    while not answer.done():
        await asyncio.sleep(0.001)
        # CPU time of this thread alone, so that a busy machine does not matter.
        now = time.thread_time()
        longest, before = max(longest, now - before), now
    return longest, time.process_time() - all_before


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize(
    "messages",
    [plain(20_000), [user("hello")] * 20_000, agentic(8_000), [{"role": "nobody", "content": "x"}] * 8_000],
    ids=["plain", "one role", "agentic", "wrong"],
)
async def test_a_long_conversation_leaves_the_event_loop_to_others(messages: Any) -> None:
    with ThreadedUpstream() as upstream:
        for _ in range(2):
            upstream.script(Reply.events(completion_stream(["ok"])), path="/v1/chat/completions")
        client = SessionClient()
        await client.initialize(provider(upstream.base_url))
        client.start(3, "chat/start", {"messages": [user("hello")]})  # The first chat imports modules.
        await client.response(3)
        client.start(2, "chat/start", {"messages": messages})
        longest, total = await measure(client)
        assert ("result" in await client.response(2)) == (messages[0]["role"] != "nobody")
        await client.close()
    assert longest < total / 8


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("method", ["transcript/parse", "transcript/render"])
async def test_a_long_transcript_leaves_the_event_loop_to_others(method: str) -> None:
    client = SessionClient()
    await client.initialize()
    params: Any = {"messages": plain(20_000)}
    if method == "transcript/parse":
        params = {"text": render([Message(each["role"], (TextBlock("Hi."),)) for each in params["messages"]])}
    client.start(2, method, params)
    longest, total = await measure(client)
    assert "result" in await client.response(2)
    await client.close()

    assert longest < total / 6, (longest, total)
