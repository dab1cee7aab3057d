"""Several logs in one process, and sinks that never block it."""

from __future__ import annotations

import asyncio
import logging
import os
import pty
import socket
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumpseat.system.log_files import open_log as open_log_file
from jumpseat.system.log_sink import LogSink
from jumpseat.system.logs import MAX_LINES, Log, log_to, open_log
from jumpseat.system.secrets import register_secret
from jumpseat.system.threads import run_blocking

pytestmark = pytest.mark.slow

logger = logging.getLogger("tests.logs")

WAIT_SECONDS = 30


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until another thread fulfils the condition, with a time limit."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Output:
    """Both ends of a pipe, socket or terminal. A sink writes to `near`, and the test reads from `far`."""

    def __init__(self, kind: str) -> None:
        if kind == "pipe":
            self.far, near = os.pipe()
        elif kind == "socket":
            one, other = socket.socketpair()
            self.far, near = one.detach(), other.detach()
        else:
            self.far, near = pty.openpty()
            tty.setraw(near)
        self.near = near
        # Another process, such as a shell, may have the same open file.
        self.other_holder = os.dup(near)
        self.text = ""

    def read_until(self, words: str) -> str:
        deadline = time.monotonic() + WAIT_SECONDS
        while words not in self.text:
            assert time.monotonic() < deadline
            self.text += os.read(self.far, 65_536).decode()
        return self.text

    def close(self) -> None:
        for descriptor in (self.far, self.other_holder):
            os.close(descriptor)


@pytest.fixture(params=["pipe", "socket", "terminal"])
def output(request: pytest.FixtureRequest) -> Iterator[Output]:
    made = Output(request.param)
    yield made
    made.close()


def file_log(path: Path, level: str = "info", *, is_fallback: bool = False) -> Log:
    return open_log(level, LogSink(open_log_file(path)), is_fallback=is_fallback)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """Open the log of the process, and return its file."""
    path = tmp_path / "own"
    log = file_log(path, "warning", is_fallback=True)
    yield path
    log.close()


def test_each_log_has_its_own_level_and_sink(own: Path, tmp_path: Path) -> None:
    loud, quiet = file_log(tmp_path / "loud", "debug"), file_log(tmp_path / "quiet", "ERROR")
    for log in (loud, quiet):
        with log_to(log):
            logger.debug("a detail")
            logger.error("a failure")
    logger.error("of no session")
    logger.info("a detail of no session")
    loud.close()
    quiet.close()
    wait_until(lambda: "of no session" in own.read_text())

    assert "a detail\n" in (tmp_path / "loud").read_text()
    assert "ERROR tests.logs: a failure\n" in (tmp_path / "loud").read_text()
    assert (tmp_path / "quiet").read_text().count("\n") == 1
    assert own.read_text().count("\n") == 1


def test_libraries_that_log_bodies_are_quiet_or_silent(tmp_path: Path) -> None:
    log = file_log(tmp_path / "log", "debug")
    with log_to(log):
        logging.getLogger("httpx2").info("a body")
        logging.getLogger("httpx2").warning("a failure")
        logging.getLogger("mcp.client.auth.oauth2").error("a token")
        logging.getLogger("client").critical("a token")
    log.close()

    assert (tmp_path / "log").read_text().count("\n") == 1
    assert "a failure" in (tmp_path / "log").read_text()


async def test_tasks_threads_and_callbacks_use_the_log_of_their_creator(own: Path, tmp_path: Path) -> None:
    logs = {name: file_log(tmp_path / name) for name in ("one", "two")}
    loop = asyncio.get_running_loop()

    async def session(name: str) -> None:
        called = asyncio.Event()
        read_fd, write_fd = os.pipe()

        def on_readable() -> None:
            logger.info("reader")
            loop.remove_reader(read_fd)
            called.set()

        async def task() -> None:
            logger.info("task")

        with log_to(logs[name]):
            await asyncio.create_task(task())
            await asyncio.to_thread(logger.info, "pool")
            await run_blocking(logger.info, "thread", within=5)
            loop.call_soon(logger.info, "soon")
            loop.add_reader(read_fd, on_readable)
        os.write(write_fd, b"x")
        await called.wait()
        os.close(read_fd)
        os.close(write_fd)
        await logs[name].aclose()

    await asyncio.gather(session("one"), session("two"))
    for name in logs:
        lines = [line.rpartition(": ")[2] for line in (tmp_path / name).read_text().splitlines()]
        assert lines == ["task", "pool", "thread", "soon", "reader"]
    assert own.stat().st_size == 0  # noqa: ASYNC240 - a local file


def test_a_record_after_its_log_was_closed_goes_to_the_log_of_the_process(own: Path, tmp_path: Path) -> None:
    log = file_log(tmp_path / "session")
    with log_to(log):
        log.close()
        logger.warning("late")
    wait_until(lambda: "late" in own.read_text())
    assert (tmp_path / "session").read_text() == ""


def test_a_sink_that_is_not_read_loses_lines_and_logs_their_number(own: Path, output: Output) -> None:
    log = open_log("info", LogSink(output.near))
    count = 5 * MAX_LINES
    began = time.monotonic()
    with log_to(log):
        for number in range(count):
            logger.info("line %06d %s", number, "x" * 100)
    # This allows 8 ms per line, far more than a busy machine needs. A retry of a blocked sink takes 20 ms.
    assert time.monotonic() - began < 0.008 * count
    logger.warning("of the process")
    wait_until(lambda: "of the process" in own.read_text())
    assert os.get_blocking(output.other_holder)

    output.read_until("line 000000")
    output.read_until("dropped")
    with log_to(log):
        logger.info("the end")
    text = output.read_until("the end")
    written = text.count(" line ")
    dropped = sum(
        int(line.split("log lines")[0].split()[-1]) for line in text.splitlines() if "dropped" in line
    )
    assert written + dropped == count
    assert all(len(line) > 100 or "dropped" in line or "the end" in line for line in text.splitlines())
    log.close()


def test_closing_does_not_wait_for_a_sink_that_is_not_read(output: Output) -> None:
    log = open_log("info", LogSink(output.near))
    with log_to(log):
        for _ in range(MAX_LINES):
            logger.info("x" * 900)
    began = time.monotonic()
    log.close()
    assert time.monotonic() - began < 5


def test_a_reader_that_is_gone_loses_only_its_own_lines(own: Path, tmp_path: Path) -> None:
    read_fd, write_fd = os.pipe()
    gone = open_log("info", LogSink(write_fd))
    os.close(read_fd)
    kept = file_log(tmp_path / "kept")
    for log in (gone, kept):
        with log_to(log):
            logger.info("first")
            logger.info("second")
    kept.close()
    gone.close()
    assert (tmp_path / "kept").read_text().count("\n") == 2


def test_a_file_is_appended_to_and_secrets_are_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    log = file_log(path)
    with log_to(log):
        logger.info("the key is %s", register_secret("swordfish-swordfish").reveal())
    log.close()
    before, line = path.read_text().splitlines()
    assert before == "before"
    assert line.endswith("the key is ***")


def test_a_named_pipe_without_a_reader_is_refused_immediately(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="No such device"):
        open_log_file(tmp_path / "fifo")


def test_without_a_sink_lines_are_dropped() -> None:
    log = open_log("info", None)
    with log_to(log):
        logger.info("unheard")
    log.close()
    assert log.is_empty()


def test_the_root_logger_is_left_as_it_was(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    logs = [file_log(tmp_path / level, level) for level in ("info", "debug", "error")]
    assert root.level == logging.DEBUG
    logs[1].close()
    wait_until(lambda: root.level == logging.INFO)
    for log in (logs[0], logs[2]):
        log.close()
    wait_until(lambda: all(thread.name != "jumpseat-log" for thread in threading.enumerate()))
    assert (root.level, list(root.handlers)) == before
