"""Runs the real daemon as a process and exchanges raw frames, for protocol and end-to-end tests.

This module has its own parser for frames, because the daemon's parser would hide mistakes in its framing.
Every wait is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fork_server import ForkedProcess, fork_daemon

WAIT_SECONDS = 20.0
"""A time limit for busy machines, much longer than any test needs."""

SERVE = (sys.executable, "-m", "jumpseat", "serve")

SIGN_IN_VARIABLES = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "CODESPACES", "GH_HOST")
"""The variables of the test machine that could sign a daemon in or change its GitHub host."""

DEVELOPER_ENVIRONMENT = dict(os.environ)
"""The environment of the developer who runs the tests, before `tests.conftest` changes it."""


@dataclass
class Exchange:
    """The response to a request, and the notifications before it."""

    response: dict[str, Any]
    notifications: list[dict[str, Any]]

    @property
    def result(self) -> Any:
        """The result. Fails the test with the error if there is none."""
        assert "result" in self.response, self.response
        return self.response["result"]

    @property
    def error(self) -> dict[str, Any]:
        """The error. Fails the test with the result if there is none."""
        assert "error" in self.response, self.response
        error: dict[str, Any] = self.response["error"]
        return error

    @property
    def deltas(self) -> list[dict[str, Any]]:
        """The deltas of the turn, without their envelopes."""
        return [each["params"]["delta"] for each in self.notifications if each["method"] == "chat/delta"]

    @property
    def delta_types(self) -> list[str]:
        return [delta["type"] for delta in self.deltas]


@dataclass
class Daemon:
    """A daemon process."""

    process: asyncio.subprocess.Process | ForkedProcess
    stderr: list[bytes] = field(default_factory=list)
    wait_seconds: float = WAIT_SECONDS
    drain: asyncio.Future[None] | None = None
    """The task that reads stderr; None if stderr is read only at the end."""

    _next_id: int = 100

    def send_bytes(self, data: bytes) -> None:
        """Write raw bytes to the daemon's stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, *messages: Any) -> None:
        """Write messages, each in its own frame, with a single write."""
        self.send_bytes(b"".join(frame(message) for message in messages))

    async def read(self) -> Any:
        """Read the next message."""
        async with asyncio.timeout(self.wait_seconds):
            assert self.process.stdout is not None
            head = await self.process.stdout.readuntil(b"\r\n\r\n")
            name, _, length = head.decode("ascii").strip().partition(": ")
            assert name == "Content-Length", head
            return json.loads(await self.process.stdout.readexactly(int(length)))

    async def read_until(self, request_id: Any) -> Exchange:
        """Read up to the response with this id. Fail if there is a response to another request."""
        notifications = []
        while True:
            message = await self.read()
            if "method" in message:
                notifications.append(message)
                continue
            assert message["id"] == request_id, message
            return Exchange(message, notifications)

    async def read_delta(self, kind: str) -> dict[str, Any]:
        """Read up to the first delta of this type and return the params of its notification."""
        while True:
            message = await self.read()
            assert "method" in message, message
            if message["method"] == "chat/delta" and message["params"]["delta"]["type"] == kind:
                params: dict[str, Any] = message["params"]
                return params

    def start(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    async def request(self, method: str, params: Any = None) -> Exchange:
        """Send a request and wait for its response."""
        return await self.read_until(self.start(method, params))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(
        self, config: Mapping[str, Any] | None = None, *, process_id: int | None = None, **options: Any
    ) -> Any:
        """Do the LSP handshake and return the result of `initialize`."""
        params = {
            "processId": process_id,
            "clientInfo": {"name": "tests", "version": "0"},
            "capabilities": {},
            "initializationOptions": {"config": config, **options},
        }
        exchange = await self.request("initialize", params)
        self.notify("initialized", {})
        return exchange.result

    async def exit_code(self) -> int:
        """Wait for the process to end."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.process.wait()

    def close_stdin(self) -> None:
        """Close the daemon's stdin, as an editor does when it exits."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    @property
    def log(self) -> str:
        """Everything that the daemon wrote to stderr. Before the daemon exits, lines could be missing."""
        advice = "the log may be incomplete; call `whole_log` before the daemon is killed"
        assert self.process.returncode not in (None, -signal.SIGKILL), advice
        assert self.drain is None or self.drain.done(), advice
        return b"".join(self.stderr).decode("utf-8", "replace")

    async def whole_log(self) -> str:
        """Close stdin, wait for the daemon to exit and return everything that it wrote to stderr.

        A separate thread of the daemon writes the log, so a response may arrive before its log line.
        """
        self.close_stdin()
        await self.exit_code()
        async with asyncio.timeout(WAIT_SECONDS):
            await (self.drain or _drain(self.process, self.stderr))
        return self.log


def frame(message: Any) -> bytes:
    """Return a message in an LSP frame."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def environment_of(home: Path | str) -> dict[str, str]:
    """Return the variables for a daemon that uses this directory and ignores the developer's sign-ins."""
    directories = {
        "JUMPSEAT_HOME": "",
        "XDG_CONFIG_HOME": "xdg",
        "LOCALAPPDATA": "xdg",
        "GH_CONFIG_DIR": "gh",
    }
    return {
        **dict.fromkeys(SIGN_IN_VARIABLES, ""),
        **{name: str(Path(home) / directory) for name, directory in directories.items()},
        # Allow files with bytecode. Otherwise each of hundreds of daemons might compile the package again.
        "PYTHONDONTWRITEBYTECODE": "",
    }


@contextlib.asynccontextmanager
async def running_daemon(
    home: Path | None,
    *flags: str,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    drain_stderr: bool = True,
    wait_seconds: float = WAIT_SECONDS,
) -> AsyncIterator[Daemon]:
    """Run a daemon, and kill it at the end if it still runs.

    Args:
        home: the directory of its configuration and state; None for the developer's own, with their sign-ins.
        flags: the flags of the command.
        command: the command; None for `jumpseat serve`. On Linux, the latter is forked from a process that
            has imported jumpseat, unless `JUMPSEAT_TESTS_FORK` is 0 or `env` has variables of Python.
        env: further environment variables.
        cwd: the working directory.
        drain_stderr: whether to read the log all the time. Otherwise it remains in the pipe until the end, as
            with clients that do not read it.
        wait_seconds: the time limit for each message.
    """
    variables = {**({**os.environ, **environment_of(home)} if home else DEVELOPER_ENVIRONMENT), **(env or {})}
    # asyncio buffers up to twice this size; more data remains in the pipe, as with a busy client.
    limit = 1 << 16
    process: asyncio.subprocess.Process | ForkedProcess
    can_fork = (
        sys.platform == "linux"
        and os.environ.get("JUMPSEAT_TESTS_FORK") != "0"
        # Python reads its own variables only when it starts, so a forked process would ignore them.
        and not any(name.startswith("PYTHON") for name in env or ())
    )
    if command is None and can_fork:
        process = await fork_daemon(["serve", *flags], variables, cwd, limit)
    else:
        process = await asyncio.create_subprocess_exec(
            *(command or SERVE),
            *flags,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=variables,
            cwd=cwd,
            limit=limit,
        )
    daemon = Daemon(process, wait_seconds=wait_seconds)
    if drain_stderr:
        daemon.drain = asyncio.ensure_future(_drain(process, daemon.stderr))
    try:
        yield daemon
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        # asyncio closes its end of the pipes only after reading everything.
        assert process.stdout is not None
        await process.stdout.read()
        await (daemon.drain or _drain(process, daemon.stderr))
        await process.wait()


async def _drain(process: asyncio.subprocess.Process | ForkedProcess, lines: list[bytes]) -> None:
    assert process.stderr is not None
    while line := await process.stderr.readline():
        lines.append(line)


def provider(base_url: str, **more: Any) -> dict[str, Any]:
    """Return an overlay that adds the OpenAI-compatible provider `fake` with a default model."""
    return {"providers": {"fake": {"kind": "openai", "base_url": base_url, "default_model": "m", **more}}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}
