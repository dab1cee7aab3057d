"""Runs attached clients and their shared daemon, and checks that nothing remains of the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.daemon import WAIT_SECONDS, Daemon, environment_of, running_daemon
from tests.processes import block_until_gone, is_running, wait_until_gone

ATTACH = (sys.executable, "-m", "jumpseat", "attach")

_LISTENS = re.compile(r"listens at (/\S+\.sock)$", re.MULTILINE)
"""Matches the line in a daemon's log that names its socket."""


@dataclass
class Hub:
    """The shared daemon of a state directory, whether or not it is running."""

    home: Path
    seen: set[tuple[int, Path]] = field(default_factory=set)
    """The process id and the socket from each pointer (see `pointers`) that the test has read."""

    def client(
        self, *flags: str, env: Mapping[str, str] | None = None, **more: Any
    ) -> AbstractAsyncContextManager[Daemon]:
        """Run an attached client (`jumpseat attach`); `more` has other arguments of `running_daemon`."""
        return running_daemon(self.home, *flags, command=ATTACH, env=self._variables(env), **more)

    def _variables(self, more: Mapping[str, str] | None) -> dict[str, str]:
        # HOME is one of the few variables that the daemon inherits from its first client.
        return {"HOME": str(self.home), **(more or {})}

    async def command(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run `jumpseat WORDS` and return its exit code and output."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "jumpseat", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **environment_of(self.home), **self._variables(env)},
        )
        async with asyncio.timeout(WAIT_SECONDS):
            output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode("utf-8", "replace")

    async def status(self) -> dict[str, Any]:
        """Return the output of `jumpseat daemon status --json`."""
        self.pointers()  # Update `seen`, because the daemon may remove its pointer later.
        code, output = await self.command("daemon", "status", "--json")
        status: dict[str, Any] = json.loads(output)
        assert code == (0 if status["running"] else 1)
        return status

    def pointers(self) -> list[dict[str, Any]]:
        """Return the contents of the pointers, the files that name a daemon's process and socket.

        Add them to `seen`.
        """
        pointers = [
            json.loads(path.read_bytes()) for path in self.home.glob("daemon/*.json") if path.is_file()
        ]
        self.seen |= {(pointer["pid"], Path(pointer["socket"])) for pointer in pointers}
        return pointers

    @property
    def pid(self) -> int:
        """The process id of the daemon. Fails if the state directory does not have exactly one pointer."""
        (pointer,) = self.pointers()
        return int(pointer["pid"])

    @property
    def socket(self) -> Path:
        (pointer,) = self.pointers()
        return Path(pointer["socket"])

    @property
    def log(self) -> str:
        """The text of the log files of this state directory's daemons."""
        logs = sorted(self.home.glob("daemon/*.log*"))
        return "".join(path.read_text("utf-8", "replace") for path in logs)

    def processes(self) -> set[int]:
        """Return the ids of this state directory's daemons. Without /proc, only those in `seen` are found."""
        self.pointers()
        processes = {pid for pid, _ in self.seen if is_running(pid)}
        return processes | {pid for pid, home in running_daemons().items() if home == self.home}

    async def kill(self) -> None:
        """Kill the daemon, as the kernel does when memory is short, and wait for its end."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        assert await wait_until_gone(pid)

    async def wait_until_ended(self) -> None:
        """Wait until no daemon runs. Fail if a daemon, a pointer or a socket remains."""
        for pid in self.processes():
            assert await wait_until_gone(pid), f"the daemon {pid} still runs"
        assert self.pointers() == []
        assert self.sockets() == []

    def sockets(self) -> list[Path]:
        """Return the sockets in `seen` that still exist."""
        return [path for _, path in self.seen if path.exists()]

    def clean_up(self) -> None:
        """Kill all remaining processes and remove the sockets, which are outside the test's directories."""
        # Kill the clients first: a client that is about to attach would start another daemon.
        for pid in [*attach_processes(self.home), *self.processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            assert block_until_gone(pid, WAIT_SECONDS)
        for path in self.sockets():
            path.unlink()


def attach_processes(home: Path) -> list[int]:
    """Return the ids of this state directory's `attach` and `acp` processes; none without /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            is_attach = not {b"attach", b"acp"}.isdisjoint(path.read_bytes().split(b"\0"))
            if (
                is_attach
                and b"JUMPSEAT_HOME=%b\0" % os.fsencode(home) in path.with_name("environ").read_bytes()
            ):
                found.append(int(path.parent.name))
    return found


def running_daemons() -> dict[int, Path]:
    """Return the state directory of each shared daemon by process id; none without /proc."""
    running = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"jumpseat.hub.daemon" in words and is_running(int(path.parent.name)):
                home = words[words.index(b"jumpseat.hub.daemon") + 1]
                running[int(path.parent.name)] = Path(os.fsdecode(home))
    return running


@contextlib.contextmanager
def directory_for_sockets() -> Iterator[Path]:
    """Create an empty directory with a short path.

    A path below pytest's directory or TMPDIR may be too long for a socket.
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


@contextlib.contextmanager
def no_daemon_afterwards(home: Path) -> Iterator[None]:
    """On exit, kill the daemon of this state directory if a client has started one."""
    try:
        yield
    finally:
        if (home / "daemon").exists():
            Hub(home).clean_up()


@contextlib.asynccontextmanager
async def running_hub(home: Path) -> AsyncIterator[Hub]:
    """Yield the shared daemon of this directory, which the first client starts, and kill it at the end."""
    hub = Hub(home)
    try:
        yield hub
    finally:
        hub.clean_up()


def clean_up(directory: Path) -> list[str]:
    """Kill the daemons and delete the sockets of all state directories below this directory.

    Return a description of each process and socket.
    """
    left = []
    for pid, home in running_daemons().items():
        if directory in home.parents:
            left.append(f"process {pid} of {home}")
            os.kill(pid, signal.SIGKILL)
    for log in directory.glob("**/daemon/*.log*"):
        for socket in _LISTENS.findall(log.read_text("utf-8", "replace")):
            if Path(socket).exists():
                left.append(f"socket {socket} of {log}")
                Path(socket).unlink()
    return left
