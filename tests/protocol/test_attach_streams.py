"""Standard streams of any kind: `attach` uses them like `serve`, and leaves them as they were."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import socket
import subprocess
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.daemon import SERVE, environment_of, frame
from tests.hub import ATTACH, Hub
from tests.processes import block_until_gone

pytestmark = pytest.mark.requirement("9:streams")

WAIT_SECONDS = 20.0

CONVERSATION = b"".join(
    frame({"jsonrpc": "2.0", **message})
    for message in (
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "nonsense"},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    )
)
LAST = b'"id":3'
"""A part of the response to the last request."""

FLAGS = os.O_NONBLOCK | os.O_APPEND | os.O_ASYNC
"""The flags of an open file that a process can change for all processes that share the file."""


@dataclass
class Streams:
    """The standard streams of a program, and the test's own ends of them."""

    stdin: int
    stdout: int
    stderr: int
    screen: int | None = None
    """The descriptor from which the test reads the output; None if the output goes elsewhere.

    If stdin and stdout are the same, the test also writes the input to this descriptor.
    """

    output: Path | None = None
    """The file to which stdout leads."""

    @property
    def descriptors(self) -> tuple[int, int, int]:
        return self.stdin, self.stdout, self.stderr

    def flags(self) -> list[int]:
        return [fcntl.fcntl(each, fcntl.F_GETFL) & FLAGS for each in self.descriptors]


Opener = Callable[[contextlib.ExitStack, Path], Streams]


def open_null(stack: contextlib.ExitStack) -> int:
    descriptor = os.open("/dev/null", os.O_RDWR)
    stack.callback(os.close, descriptor)
    return descriptor


def open_file(stack: contextlib.ExitStack, path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CREAT, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


def one_socket(stack: contextlib.ExitStack, directory: Path) -> Streams:
    """One socket for input and output, as Node and VS Code have it."""
    ours, theirs = socket.socketpair()
    stack.enter_context(ours)
    stack.enter_context(theirs)
    return Streams(theirs.fileno(), theirs.fileno(), open_null(stack), ours.fileno())


def one_socket_for_all(stack: contextlib.ExitStack, directory: Path) -> Streams:
    streams = one_socket(stack, directory)
    streams.stderr = streams.stdin
    return streams


def files(stack: contextlib.ExitStack, directory: Path) -> Streams:
    """Input from a file, output into another one, as in `jumpseat attach < in > out 2> log`."""
    (directory / "in").write_bytes(CONVERSATION)
    output = directory / "out"
    return Streams(
        open_file(stack, directory / "in", os.O_RDONLY),
        open_file(stack, output, os.O_WRONLY | os.O_TRUNC),
        open_file(stack, directory / "log", os.O_WRONLY | os.O_APPEND),
        output=output,
    )


def terminal(stack: contextlib.ExitStack, directory: Path) -> Streams:
    """One terminal for all three streams."""
    ours, theirs = pty.openpty()
    stack.callback(os.close, ours)
    stack.callback(os.close, theirs)
    tty.setraw(theirs)
    return Streams(theirs, theirs, theirs, ours)


def file_to_terminal(stack: contextlib.ExitStack, directory: Path) -> Streams:
    streams = terminal(stack, directory)
    (directory / "in").write_bytes(CONVERSATION)
    streams.stdin = open_file(stack, directory / "in", os.O_RDONLY)
    return streams


def file_to_null(stack: contextlib.ExitStack, directory: Path) -> Streams:
    streams = files(stack, directory)
    streams.stdout = open_null(stack)
    return streams


def null_for_all(stack: contextlib.ExitStack, directory: Path) -> Streams:
    """`/dev/null` for all streams, as if the client had already left."""
    return Streams(open_null(stack), open_null(stack), open_null(stack))


def fifos(stack: contextlib.ExitStack, directory: Path) -> Streams:
    """Named pipes that the client keeps open for reading and writing."""
    for name in ("in.fifo", "out.fifo"):
        if not (directory / name).exists():
            os.mkfifo(directory / name)
    source, target = (open_file(stack, directory / name, os.O_RDWR) for name in ("in.fifo", "out.fifo"))
    os.write(source, CONVERSATION)
    return Streams(source, target, open_null(stack), target)


def full_pipe(stack: contextlib.ExitStack, directory: Path) -> Streams:
    """Stderr is a pipe that is full and that nobody reads."""
    streams = files(stack, directory)
    reader, writer = os.pipe()
    stack.callback(os.close, reader)
    stack.callback(os.close, writer)
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, b"x" * 4096):
            pass
    os.set_blocking(writer, True)
    streams.stderr = writer
    return streams


KINDS: Sequence[Opener] = (
    one_socket,
    one_socket_for_all,
    files,
    terminal,
    file_to_terminal,
    file_to_null,
    null_for_all,
    fifos,
    full_pipe,
)

QUICK = (one_socket, terminal, fifos)
"""The kinds in the quick suite. It does not have all of them, because each test runs two programs."""


@contextlib.contextmanager
def open_streams(kind: Opener, directory: Path, *, blocking: bool) -> Iterator[Streams]:
    with contextlib.ExitStack() as stack:
        directory.mkdir(exist_ok=True)
        streams = kind(stack, directory)
        for descriptor in streams.descriptors:
            os.set_blocking(descriptor, blocking)
        yield streams


def start(command: Sequence[str], home: Path, streams: Streams) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*command, "--log-level", "error"],
        stdin=streams.stdin,
        stdout=streams.stdout,
        stderr=streams.stderr,
        env={**os.environ, **environment_of(home), "HOME": str(home)},
    )


def run(command: Sequence[str], home: Path, streams: Streams) -> tuple[int, bytes]:
    """Run the command with the input `CONVERSATION`, and return its exit code and its output on stdout."""
    process = start(command, home, streams)
    try:
        output = (
            b""
            if streams.screen is None
            else converse(streams.screen, only_read=streams.stdin != streams.stdout)
        )
        code = process.wait(WAIT_SECONDS)
    finally:
        process.kill()
        process.wait()
    return code, output if streams.output is None else streams.output.read_bytes()


def read_answer(screen: int) -> bytes:
    """Return the output up to the end of the last response."""
    return converse(screen, only_read=True)


def converse(screen: int, *, only_read: bool) -> bytes:
    """Write `CONVERSATION`, unless `only_read`, and return the output up to the end of the last response."""
    deadline = time.monotonic() + WAIT_SECONDS
    unsent, output = b"" if only_read else CONVERSATION, b""
    while LAST not in output or not output.endswith(b"}"):
        readable, writable, _ = select.select(
            [screen], [screen] if unsent else [], [], deadline - time.monotonic()
        )
        assert readable or writable, output
        if writable:
            unsent = unsent[os.write(screen, unsent[:512]) :]
        if readable:
            output += os.read(screen, 65536)
    return output


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The shared daemon of all tests of this module."""
    hub = Hub(tmp_path_factory.mktemp("home"))
    yield hub
    hub.clean_up()


@pytest.mark.parametrize("blocking", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in KINDS]
)
def test_attach_uses_streams_like_serve_and_leaves_them_as_they_were(
    shared: Hub, tmp_path: Path, kind: Opener, blocking: bool
) -> None:
    results = []
    for command in (SERVE, ATTACH):
        with open_streams(kind, tmp_path / "streams", blocking=blocking) as streams:
            before = streams.flags()
            result = run(command, shared.home, streams)
            # With `attach`, the session in the daemon uses these streams, and restores the flags before the
            # attach process ends.
            assert streams.flags() == before, command
        results.append(result)
    assert results[0] == results[1]
    assert len(shared.processes()) == 1


@pytest.mark.parametrize("victim", [pytest.param("attach", marks=pytest.mark.slow), "daemon"])
@pytest.mark.parametrize("kind", [pytest.param(one_socket, marks=pytest.mark.slow), terminal])
def test_streams_are_left_as_they_were_when_a_process_is_killed(
    shared: Hub, tmp_path: Path, kind: Opener, victim: str
) -> None:
    with open_streams(kind, tmp_path / "streams", blocking=True) as streams:
        assert streams.screen is not None
        before = streams.flags()
        process = start(ATTACH, shared.home, streams)
        try:
            os.write(streams.screen, frame({"jsonrpc": "2.0", "id": 3, "method": "nonsense"}))
            assert LAST in read_answer(streams.screen)
            daemon = shared.pid
            os.kill(process.pid if victim == "attach" else daemon, signal.SIGKILL)
            assert process.wait(1.0) == (-signal.SIGKILL if victim == "attach" else 1)
            if victim == "daemon":
                assert block_until_gone(daemon, WAIT_SECONDS)
        finally:
            process.kill()
            process.wait()
        deadline = time.monotonic() + WAIT_SECONDS
        # The daemon learns of the end of the attach process a moment later.
        while streams.flags() != before or (victim == "attach" and has_open(daemon, streams.stdin)):
            assert time.monotonic() < deadline, (streams.flags(), before)
            time.sleep(0.01)
        # The next bytes that are typed are not lost; the next program reads them.
        os.write(streams.screen, b"typed")
        assert select.select([streams.stdin], [], [], WAIT_SECONDS)[0]
        assert os.read(streams.stdin, 100) == b"typed"


def has_open(pid: int, descriptor: int) -> bool:
    """Whether the process has this open file."""
    name = Path(f"/proc/self/fd/{descriptor}").readlink()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if path.readlink() == name:
                return True
    return False


@pytest.mark.parametrize(
    "closed",
    ["<&-", *(pytest.param(each, marks=pytest.mark.slow) for each in (">&-", "2>&-", "<&- >&- 2>&-"))],
)
def test_attach_treats_a_closed_stream_like_serve(shared: Hub, tmp_path: Path, closed: str) -> None:
    results = []
    for command in (SERVE, ATTACH):
        with open_streams(files, tmp_path / "streams", blocking=True) as streams:
            results.append(
                run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command], shared.home, streams)
            )
    assert results[0] == results[1]
