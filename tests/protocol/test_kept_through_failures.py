"""Conversations are kept even if the daemon, its client or the disk fails."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.conversations import ConversationStore, conversations_directory
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import SERVE, Daemon, provider, running_daemon
from tests.hub import Hub
from tests.processes import wait_until_gone
from tests.unit.conversations.support import texts


def answer(text: str) -> Reply:
    """Return a whole answer."""
    return Reply.events(completion_stream([text]))


def make_params(*contents: str) -> dict[str, Any]:
    """Return the params of a kept turn of the conversation `a`, whose messages alternate; the user begins."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": each} for number, each in enumerate(contents)]
    return {"messages": messages, "keep": True, "conversationId": "a"}


def read_kept(home: Path, name: str = "a") -> list[str]:
    """Return the kept texts that another process reads."""
    return texts(ConversationStore(conversations_directory(home)), name)


async def stall_turn(client: Daemon, upstream: FakeUpstream) -> None:
    """Initialize the client, run a whole turn, and start one whose answer stays incomplete."""
    await client.initialize(provider(upstream.base_url))
    upstream.script(answer("Hello"), Reply.events([*completion_stream(["Hel"])[:2], Gate()]))
    assert (await client.request("chat/start", make_params("Hi"))).result["text"] == "Hello"
    client.start("chat/start", make_params("Hi", "Hello", "More"))
    await client.read_delta("text_delta")


@pytest.mark.requirement("10:torn", "10:before-response")
async def test_the_users_messages_survive_a_killed_daemon(home: Path, upstream: FakeUpstream) -> None:
    async with running_daemon(home) as daemon:
        await stall_turn(daemon, upstream)
        daemon.process.kill()
        await daemon.exit_code()
    assert read_kept(home) == ["Hi", "Hello", "More"]
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        upstream.script(answer("Yes"))
        # The client has a partial that the daemon could not keep.
        result = (
            await daemon.request("chat/start", make_params("Hi", "Hello", "More", "Hel", "Again"))
        ).result
        assert result["conversationId"] == "a"
    assert read_kept(home) == ["Hi", "Hello", "More", "Hel", "Again", "Yes"]


@pytest.mark.slow
@pytest.mark.requirement("10:killed-daemon")
async def test_a_killed_daemon_loses_at_most_the_last_seconds_of_an_answer(
    home: Path, upstream: FakeUpstream
) -> None:
    later = Gate()
    events = completion_stream(["One ", "two ", "three"])
    upstream.script(Reply.events([*events[:2], later, *events[2:4], Gate()]))
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        daemon.start("chat/start", make_params("Count."))
        for expected in (["Count.", "One "], ["Count.", "One two three"]):
            await daemon.read_delta("text_delta")
            received = time.monotonic()
            while read_kept(home) != expected:
                assert time.monotonic() < received + 5
                await asyncio.sleep(0.05)
            later.open()
        daemon.process.kill()
        await daemon.exit_code()
    assert read_kept(home) == ["Count.", "One two three"]
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        upstream.script(answer("four"))
        result = (await daemon.request("chat/start", make_params("Count.", "One two thr", "More"))).result
        assert result["conversationId"] == "a"
        found = await daemon.request("conversations/list", {"query": "four"})
        assert [row["id"] for row in found.result["conversations"]] == ["a"]
    assert read_kept(home) == ["Count.", "One two thr", "More", "four"]


@pytest.mark.requirement("10:client-dies")
@pytest.mark.parametrize("way", ["pipes", "signal"])
async def test_the_partial_of_a_killed_attached_client_is_kept(
    hub: Hub, upstream: FakeUpstream, way: str
) -> None:
    async with hub.client() as client, hub.client() as other:
        await other.initialize(provider(upstream.base_url))
        await stall_turn(client, upstream)
        if way == "signal":
            client.process.kill()
        else:
            for descriptor in (0, 1):  # The kernel closes them when an editor dies.
                client.process._transport.get_pipe_transport(descriptor).close()
        assert await wait_until_gone(client.process.pid)
        await upstream.wait_for_disconnect(2)
        async with asyncio.timeout(20):
            # Poll, because another client is not notified of the end of a session.
            while len(read_kept(hub.home)) < 4:
                await other.request("providers/list")
        assert read_kept(hub.home) == ["Hi", "Hello", "More", "Hel"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")
@pytest.mark.requirement("10:not-written")
async def test_chats_continue_while_the_disk_is_full(home: Path, upstream: FakeUpstream) -> None:
    import resource

    path = conversations_directory(home) / "a.jsonl"
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        upstream.script(answer("Hello"))
        await daemon.request("chat/start", make_params("Hi"))
        _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
        outcomes = set()
        question = ["Hi", "Hello"]
        # Depending on the room, the write of the turn's beginning or of its end is cut off.
        for room in (0, 10, 150, 400, 600, 800):
            size = path.stat().st_size
            resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (size + room, hard))
            upstream.script(answer("x" * 300))
            name = f"More {room}"
            result = (await daemon.request("chat/start", make_params(*question, name))).result
            resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            assert result["text"] == "x" * 300
            codes = [each["code"] for each in result.get("warnings", ())]
            assert set(codes) <= {"conversation_not_kept"}
            is_whole = read_kept(home)[-1] == "x" * 300
            outcomes.add((result.get("conversationId"), is_whole))
            question = [*question, name, "x" * 300]
            # When there is room again, the client's next turn contains the messages that were not kept.
            upstream.script(answer("Yes"))
            result = (await daemon.request("chat/start", make_params(*question, "And?"))).result
            question = [*question, "And?", "Yes"]
            assert read_kept(home, result["conversationId"])[-5:] == [*question[-5:]]
        assert "Traceback" not in await daemon.whole_log()
    # Both kinds of failure have occurred: a turn was not kept at all, or was kept without its answer.
    assert (None, False) in outcomes
    assert ("a", False) in outcomes


SLOW = """
import os, pathlib, sys, time
real = os.fdatasync

def slow(descriptor):
    while pathlib.Path(os.environ["SLOW_DISK"]).exists():
        time.sleep(0.05)
    real(descriptor)

os.fdatasync = slow
sys.argv = ["jumpseat", *sys.argv[1:]]
from jumpseat_cli.__main__ import main
main()
"""
"""A program that runs jumpseat. `os.fdatasync` does not return while the file that SLOW_DISK names exists."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="fdatasync is POSIX")
@pytest.mark.requirement("10:client-dies")
@pytest.mark.parametrize("when", ["begin", "end"])
async def test_a_session_ends_in_time_although_the_disk_hangs(
    home: Path, upstream: FakeUpstream, tmp_path: Path, when: str
) -> None:
    flag = tmp_path / "slow"
    variables: Mapping[str, str] = {"SLOW_DISK": str(flag)}
    command = (SERVE[0], "-c", SLOW, "serve")
    async with running_daemon(home, command=command, env=variables) as daemon:
        if when == "end":
            await stall_turn(daemon, upstream)
            flag.touch()
        else:
            await daemon.initialize(provider(upstream.base_url))
            flag.touch()
            daemon.start("chat/start", make_params("Hi"))
            await upstream.wait_for_request()  # The turn did not wait for the disk.
        start = time.monotonic()
        daemon.close_stdin()
        await daemon.exit_code()
        assert time.monotonic() - start < 8
    expected = ["Hi", "Hello", "More", "Hel"] if when == "end" else ["Hi"]
    assert read_kept(home)[: len(expected)] == expected
