"""The shared daemon in tests: attached clients, their daemon, and the check that nothing of it remains."""

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
from tests.processes import ends, is_gone, runs

ATTACH = (sys.executable, "-m", "jumpseat", "attach")

_LISTENS = re.compile(r"listens at (/\S+\.sock)$", re.MULTILINE)
"""The line of a daemon's log that names its socket."""


@dataclass
class Hub:
    """The daemon of one state directory, which need not run."""

    home: Path
    seen: set[tuple[int, Path]] = field(default_factory=set)
    """Each daemon that the test saw: its process and its socket."""

    def client(
        self, *flags: str, env: Mapping[str, str] | None = None, **more: Any
    ) -> AbstractAsyncContextManager[Daemon]:
        """An attached client: a process of `jumpseat attach`, as `running_daemon` runs `serve`."""
        return running_daemon(self.home, *flags, command=ATTACH, env=self._variables(env), **more)

    def _variables(self, more: Mapping[str, str] | None) -> dict[str, str]:
        # The daemon itself gets few variables of its first client, among them HOME.
        return {"HOME": str(self.home), **(more or {})}

    async def command(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run `jumpseat WORDS`; returns its exit code and its output."""
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
        """What `jumpseat daemon status --json` prints."""
        self.pointers()
        code, output = await self.command("daemon", "status", "--json")
        status: dict[str, Any] = json.loads(output)
        assert code == (0 if status["running"] else 1)
        return status

    def pointers(self) -> list[dict[str, Any]]:
        """The pointers in the state directory; usually one."""
        pointers = [
            json.loads(path.read_bytes()) for path in self.home.glob("daemon/*.json") if path.is_file()
        ]
        self.seen |= {(pointer["pid"], Path(pointer["socket"])) for pointer in pointers}
        return pointers

    @property
    def pid(self) -> int:
        """The process of the daemon; fails if the state directory has no pointer, or several."""
        (pointer,) = self.pointers()
        return int(pointer["pid"])

    @property
    def socket(self) -> Path:
        """The control socket of the daemon."""
        (pointer,) = self.pointers()
        return Path(pointer["socket"])

    @property
    def log(self) -> str:
        """The daemon's own log."""
        logs = sorted(self.home.glob("daemon/*.log*"))
        return "".join(path.read_text("utf-8", "replace") for path in logs)

    def processes(self) -> set[int]:
        """Every daemon of this state directory, also one without a pointer. Without a /proc, those seen."""
        self.pointers()
        processes = {pid for pid, _ in self.seen if runs(pid)}
        return processes | {pid for pid, home in running_daemons().items() if home == self.home}

    async def kill(self) -> None:
        """Kill the daemon as the kernel does when memory is short, and wait for its end."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        assert await is_gone(pid)

    async def ends(self) -> None:
        """Wait until no daemon runs; fails if one remains, or a pointer or a socket does."""
        for pid in self.processes():
            assert await is_gone(pid), f"the daemon {pid} still runs"
        assert self.pointers() == []
        assert self.sockets() == []

    def sockets(self) -> list[Path]:
        """The sockets of daemons that the test saw and that still have a file."""
        return [path for _, path in self.seen if path.exists()]

    def clean_up(self) -> None:
        """Kill what still runs, and remove the sockets, which are outside of the test's directories."""
        # A client that is about to attach would start another daemon.
        for pid in [*attach_processes(self.home), *self.processes()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            assert ends(pid, WAIT_SECONDS)
        for path in self.sockets():
            path.unlink()


def attach_processes(home: Path) -> list[int]:
    """The `attach` processes of this state directory. Empty without a /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            is_attach = b"attach" in path.read_bytes().split(b"\0")
            if (
                is_attach
                and b"JUMPSEAT_HOME=%b\0" % os.fsencode(home) in path.with_name("environ").read_bytes()
            ):
                found.append(int(path.parent.name))
    return found


def running_daemons() -> dict[int, Path]:
    """The shared daemons of this machine: process and state directory. Empty without a /proc."""
    running = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"jumpseat.hub.daemon" in words and runs(int(path.parent.name)):
                home = words[words.index(b"jumpseat.hub.daemon") + 1]
                running[int(path.parent.name)] = Path(os.fsdecode(home))
    return running


@contextlib.contextmanager
def directory_for_sockets() -> Iterator[Path]:
    """An empty directory with a short path: those of pytest and of TMPDIR may be too long for a socket."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


@contextlib.contextmanager
def no_daemon_afterwards(home: Path) -> Iterator[None]:
    """End the daemon of this state directory at the end, if a client has started one."""
    try:
        yield
    finally:
        if (home / "daemon").exists():
            Hub(home).clean_up()


@contextlib.asynccontextmanager
async def running_hub(home: Path) -> AsyncIterator[Hub]:
    """The shared daemon of this state directory; the first client starts it. It is killed at the end."""
    hub = Hub(home)
    try:
        yield hub
    finally:
        hub.clean_up()


def left_behind(directory: Path) -> list[str]:
    """The daemons and sockets of state directories below this one; ends and removes them."""
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
