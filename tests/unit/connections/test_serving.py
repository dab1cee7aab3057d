"""`connections/serving.py`: sessions over real descriptors, several in one process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from jumpseat.connections.serving import Descriptors, SessionOptions, serve_connection
from jumpseat.rpc.contract import CONTRACT
from jumpseat.system.environment import environment_of_process
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import frame, provider, user
from tests.unit.connections.session_client import STREAMS, SessionClient

pytestmark = pytest.mark.usefixtures("home", "nothing_is_left")

BAD_FRAME = b"Content-Length: 1\r\n\r\n{"


def _descriptors() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir() if sys.platform == "linux" else ():
        with suppress(OSError):  # The descriptor that lists the directory is closed by now.
            found[entry.name] = str(entry.readlink())
    return found


@pytest.fixture
async def nothing_is_left() -> AsyncIterator[None]:
    """Check that the test leaves no tasks, threads, descriptors or readers behind."""
    loop = asyncio.get_running_loop()
    await asyncio.to_thread(int)  # This creates the thread pool before the test.
    tasks, descriptors = asyncio.all_tasks(), _descriptors()
    yield
    async with asyncio.timeout(10):
        # Threads end right after they have closed their descriptors.
        while any(each.name.startswith("jumpseat-") for each in threading.enumerate()):  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)
    assert {task for task in asyncio.all_tasks() - tasks if task is not asyncio.current_task()} == set()
    assert _descriptors() == descriptors
    # The only reader is the one of the event loop's self-pipe.
    assert len(loop._selector.get_map()) == 1


@pytest.mark.parametrize("streams", STREAMS)
async def test_a_session_over_any_descriptors_ends_with_shutdown_and_exit(streams: str) -> None:
    client = SessionClient(streams=streams)
    assert (await client.initialize())["result"]["serverInfo"]["name"] == "jumpseat"
    client.start(2, "shutdown")
    await client.response(2)
    client.send({"jsonrpc": "2.0", "method": "exit"})
    assert await client.exit_code() == 0
    assert await client.close() == ""


async def test_the_standard_streams_may_be_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(
        frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        + frame({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})
    )
    descriptors = Descriptors(
        os.open(tmp_path / "in", os.O_RDONLY),
        os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT),
        os.open(os.devnull, os.O_WRONLY),
    )
    code = await asyncio.wait_for(
        serve_connection(
            CONTRACT, descriptors, environment_of_process(), SessionOptions(), stop=asyncio.Event()
        ),
        20,
    )
    assert code == 0
    assert (tmp_path / "out").read_bytes().count(b"Content-Length") == 2


async def test_the_null_device_is_treated_as_a_client_that_left() -> None:
    descriptors = Descriptors(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY), None)
    serving = serve_connection(
        CONTRACT, descriptors, environment_of_process(), SessionOptions(), stop=asyncio.Event()
    )
    assert await asyncio.wait_for(serving, 20) == 1


@pytest.mark.parametrize("how", ["stdin", "exit", "stop", "process", "option"])
async def test_one_session_ends_and_the_other_continues(how: str, upstream: FakeUpstream) -> None:
    upstream.script(Reply.events(completion_stream(["Hel"])[:2]).stall_after())
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=subprocess.PIPE, env={}
    )
    options = SessionOptions(client_process_id=parent.pid if how == "option" else None)
    leaves, stays = SessionClient(options), SessionClient()
    await stays.initialize()
    initialize = {"processId": parent.pid if how == "process" else None}
    overlay = {"config": provider(upstream.base_url)}
    leaves.start(1, "initialize", {**initialize, "initializationOptions": overlay})
    await leaves.response(1)
    leaves.start(2, "chat/start", {"messages": [user("hi")]})
    await upstream.wait_for_request()

    match how:
        case "exit":
            leaves.send({"jsonrpc": "2.0", "method": "exit"})
        case "stop":
            leaves.stop.set()
        case "stdin":
            pass
        case _:
            parent.kill()
    if how == "stdin":
        await leaves.close()
    else:
        # The client is still there: it gets the answer of its turn.
        assert (await leaves.response(2))["error"]["code"] == -32800
        assert await leaves.exit_code() == 1
        await leaves.close()
    await upstream.wait_for_disconnect()
    stays.start(3, "settings/get")
    assert "result" in await stays.response(3)
    await stays.close()
    if parent.returncode is None:
        parent.kill()
    await parent.wait()
    parent._transport.close()


async def test_each_session_logs_with_its_own_level_to_its_own_place(tmp_path: Path) -> None:
    path = tmp_path / "debug.log"
    loud = SessionClient(SessionOptions(log_level="debug", log_file=path))
    usual = SessionClient(SessionOptions(log_level="warning"))
    quiet = SessionClient(SessionOptions(log_level="error"))
    for client in (loud, usual, quiet):
        await client.initialize()
        client.transport.write(BAD_FRAME)
        client.start(2, "settings/get")
        await client.response(2)
    logs = [await client.close() for client in (loud, usual, quiet)]
    in_file = path.read_text("utf-8")

    assert "malformed frame" in in_file
    assert "DEBUG jumpseat.connections.connection: settings/get 2: answered" in in_file
    assert logs[0] == logs[2] == ""
    assert logs[1].count("\n") == logs[1].count("malformed frame") == 1


async def test_paths_of_the_command_line_are_relative_to_the_clients_directory(tmp_path: Path) -> None:
    environment = environment_of_process()
    object.__setattr__(environment, "directory", tmp_path)
    options = SessionOptions(config_file=Path("own.toml"), log_file=Path("own.log"), log_level="debug")
    client = SessionClient(options, environment=environment)
    error = (await client.initialize())["error"]
    await client.close()

    assert str(tmp_path / "own.toml") in error["message"]
    assert "initialize" in (tmp_path / "own.log").read_text()


async def test_a_log_file_that_cannot_be_opened_is_reported_before_reading_input(tmp_path: Path) -> None:
    client = SessionClient(SessionOptions(log_file=tmp_path / "none" / "log"))
    assert await client.exit_code() == 1
    assert "the log file" in await client.close()


async def test_a_cancelled_session_leaves_no_tasks_or_descriptors() -> None:
    client = SessionClient()
    await client.initialize()
    client.task.cancel()
    with suppress(asyncio.CancelledError):
        await client.task
    await client.transport.aclose(5)
    os.close(client.log_fd)


async def test_a_descriptor_that_is_not_open_is_an_error_and_the_others_are_closed() -> None:
    read_fd, other_end = os.pipe()
    log_fd, stderr = os.pipe()
    serving = serve_connection(
        CONTRACT,
        Descriptors(read_fd, 1 << 20, stderr),  # No descriptor has such a high number.
        environment_of_process(),
        SessionOptions(),
        stop=asyncio.Event(),
    )
    with pytest.raises(OSError, match="Bad file descriptor"):
        await serving
    os.close(log_fd)
    os.close(other_end)


async def test_a_further_session_costs_less_than_a_megabyte() -> None:
    async def session() -> SessionClient:
        client = SessionClient()
        await client.initialize(provider("http://127.0.0.1:9"))
        client.start(2, "settings/get")
        await client.response(2)
        return client

    clients = [await session()]
    tracemalloc.start()
    try:
        clients += [await session() for _ in range(3)]
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for client in clients:
        await client.close()
    # We measured that a session adds 80 kB to the resident set on Linux.
    assert allocated < 3 << 20
