"""Forks daemons from a process that has already imported jumpseat: `python -m tests.fork_server`.

The quick tests start hundreds of daemons, and imports take most of the time of a start. A forked daemon is a
process of its own, with its own descriptors, environment and directory.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

MAX_REQUEST_BYTES = 1 << 17
"""The limit for a request, which consists mostly of environment variables."""

NOT_IMPORTED = ("jumpseat.__main__", "jumpseat.testing", "jumpseat.tools.mcp")
"""The modules that a daemon does not import at its start. It imports the last one only for MCP servers."""

REPOSITORY = Path(__file__).parents[1]

START_SECONDS = 60.0
"""The time limit for the imports and the first fork on a busy machine."""


class ForkedProcess:
    """A forked daemon, with those parts of `asyncio.subprocess.Process` that tests use."""

    def __init__(
        self,
        pid: int,
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
        end: asyncio.Task[int],
    ) -> None:
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, stderr
        self._end = end

    @property
    def returncode(self) -> int | None:
        """The exit code, or the negative number of the signal that ended the process; None while it runs."""
        return self._end.result() if self._end.done() else None

    async def wait(self) -> int:
        """Wait for the end of the process and return its code."""
        return await asyncio.shield(self._end)

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


async def fork_daemon(
    arguments: list[str], environment: Mapping[str, str], directory: Path | None, limit: int
) -> ForkedProcess:
    """Run `jumpseat ARGUMENTS` with pipes for its streams.

    Args:
        arguments: the arguments, such as `serve`.
        environment: all environment variables of the process.
        directory: the working directory; None for the working directory of the test process.
        limit: the size in bytes of the readers' buffers, as in `asyncio.StreamReader`.
    """
    server = _start_server()
    stdin, stdin_writer = os.pipe()
    stdout_reader, stdout = os.pipe()
    stderr_reader, stderr = os.pipe()
    report_reader, report = os.pipe()
    request = {
        "arguments": arguments,
        "environment": {**environment},
        "directory": str(directory or Path.cwd()),
    }
    passed = [stdin, stdout, stderr, report]
    socket.send_fds(server, [json.dumps(request).encode()], passed)
    for descriptor in passed:
        os.close(descriptor)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(stdin_writer, "wb")
    )
    reports = await _open_reader(report_reader, limit)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    async with asyncio.timeout(START_SECONDS):
        pid = await reports.readline()
    assert pid, "the fork server has ended; its output has the reason"
    return ForkedProcess(
        int(pid),
        writer,
        await _open_reader(stdout_reader, limit),
        await _open_reader(stderr_reader, limit),
        asyncio.ensure_future(_wait_for_end(reports, writer)),
    )


async def _open_reader(descriptor: int, limit: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb")
    )
    return reader


async def _wait_for_end(reports: asyncio.StreamReader, stdin: asyncio.StreamWriter) -> int:
    code = int(await reports.read())
    stdin.close()
    with contextlib.suppress(OSError):  # The daemon may have ended without reading all of its input.
        await stdin.wait_closed()
    return code


@functools.cache
def _start_server() -> socket.socket:
    """Start the fork server of this test process, and return the socket for requests.

    The server ends with the test process.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen([sys.executable, "-m", "tests.fork_server"], stdin=its, cwd=REPOSITORY)

    def stop() -> None:
        ours.close()
        process.wait(10)

    atexit.register(stop)
    return ours


def main() -> None:
    """Import jumpseat, and fork a daemon for each request on stdin until the tests end."""
    _import_package("jumpseat")
    # Without this, the collector would write to each object, and each daemon would need its own copy of it.
    gc.collect()
    gc.freeze()
    # With this setting, children that have ended do not become zombies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=os.dup(0)) as requests:
        while True:
            request, descriptors, flags, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
            if not request:
                return
            assert not flags & socket.MSG_TRUNC, "the environment is too large"
            if os.fork() == 0:
                break
            for descriptor in descriptors:
                os.close(descriptor)
    # This child forks the daemon and waits for its end, which only the daemon's parent can do.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    report = descriptors.pop()
    pid = os.fork()
    if pid == 0:
        os.close(report)
        _run(descriptors, **json.loads(request))
    else:
        _report(pid, report, descriptors)


def _import_package(name: str) -> None:
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(package.__path__, f"{name}."):
        if module.name in NOT_IMPORTED:
            continue
        if module.ispkg:
            _import_package(module.name)
        else:
            importlib.import_module(module.name)


def _report(pid: int, report: int, descriptors: list[int]) -> None:
    """Write the id of the daemon's process, and its exit code as soon as it has ended."""
    for descriptor in descriptors:
        os.close(descriptor)
    os.write(report, b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    os.write(report, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _run(
    descriptors: list[int], arguments: list[str], environment: Mapping[str, str], directory: str
) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.argv[1:] = arguments
    runpy.run_module("jumpseat", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
