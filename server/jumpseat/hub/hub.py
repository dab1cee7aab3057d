"""The shared daemon: accepts connections on the control socket and ends when no client needs it.

To attach, a client sends a hello, waits until the daemon answers `ready`, and sends `go`.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import asyncio
import logging
import os
import resource
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jumpseat import __version__
from jumpseat.hub.control import MalformedMessageError, read_peer_uid
from jumpseat.hub.control_connection import ControlConnection
from jumpseat.hub.failures import CannotShareError
from jumpseat.hub.idle import IdleTimer, idle_seconds
from jumpseat.hub.ownership import Ownership
from jumpseat.hub.sessions import AttachedClient
from jumpseat.rpc.handlers.lifecycle import PROTOCOL_VERSION
from jumpseat.system.shared import Shared
from jumpseat.system.threads import allow_many_threads, run_blocking

logger = logging.getLogger(__name__)

HELLO_SECONDS = 5.0
"""The time limit for a client's hello, and for its `go`."""

MAX_WAITING = 256
"""The maximum number of connections without a hello. If one more is accepted, the oldest is closed."""

ACCEPT_BATCH = 16
"""The number of connections to accept before reading the hellos of those already accepted."""

ACCEPT_RETRY_SECONDS = 0.5
"""The delay before accepting again after the process ran out of descriptors."""

FREE_DESCRIPTORS = 32
"""The number of descriptors that must be free for a new client, whose session opens files and connections."""

END_SECONDS = 5.0
"""The time limit for the sessions to end. Each of them has shorter limits of its own."""

CLOSE_SECONDS = 1.0
"""The time limit for closing shared values when the daemon ends."""


class Hub:
    """The shared daemon. The process exits when `run` returns."""

    def __init__(
        self,
        listener: socket.socket,
        ownership: Ownership,
        installation: str,
        on_disconnect: Callable[[], None],
    ) -> None:
        """
        Args:
            listener: the control socket, which is listening.
            ownership: the pointer file and the socket of this daemon.
            installation: the result of `read_installation_stamp` before the daemon's code was imported.
            on_disconnect: called whenever a connection has ended.
        """
        listener.setblocking(False)
        self._listener = listener
        self._ownership = ownership
        self._installation = installation
        self._on_disconnect = on_disconnect
        self._started = time.monotonic()
        self._shared = Shared(lingering=True)
        self._clients: dict[AttachedClient, asyncio.Task[None]] = {}
        self._waiting: dict[asyncio.Task[None], None] = {}
        """The tasks of connections that have not sent a hello, the oldest first."""

        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._stopping = False
        self._retired = False
        self._idle = IdleTimer(self._end_if_idle)
        self._spare_descriptor = -1
        """A reserve for when no descriptors are left: closing it allows accepting one more connection, whose
        client can then be refused immediately."""

    async def run(self) -> None:
        """Serve until the daemon is stopped or has been idle for long enough."""
        logger.info("jumpseat %s listens at %s", __version__, self._ownership.socket_path)
        allow_many_threads()
        self._listen()
        self._open_spare()
        self._idle.set_time(idle_seconds(None))
        self._idle.resume()
        await self._ended.wait()
        self._close_listener()
        for client in self._clients:
            client.stop.set()
        if self._clients:
            await asyncio.wait(self._clients.values(), timeout=END_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._shared.aclose()

    def stop(self) -> None:
        """Stop accepting clients, cancel all turns and end every attached client with the exit code 1."""
        if not self._stopping:
            logger.info("stopping the daemon with %d attached clients", len(self._clients))
            self._stopping = True
            self._close_listener()
            task = asyncio.ensure_future(self._withdraw_and_end())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _withdraw_and_end(self) -> None:
        await self._ownership.withdraw()
        self._ended.set()

    # -- accepting

    def _listen(self) -> None:
        if self._listener.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _close_listener(self) -> None:
        if self._listener.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()

    def _accept(self) -> None:
        """Accept some of the pending connections. If more are pending, the event loop calls this again."""
        for _ in range(ACCEPT_BATCH):
            try:
                raw, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if self._spare_descriptor >= 0:
                    os.close(self._spare_descriptor)
                    self._spare_descriptor = -1
                    continue
                logger.error("connections cannot be accepted: %s", error.strerror)
                loop = asyncio.get_running_loop()
                loop.remove_reader(self._listener)
                loop.call_later(ACCEPT_RETRY_SECONDS, self._listen)
                return
            self._start_connection(raw)

    def _start_connection(self, raw: socket.socket) -> None:
        try:
            trusted = read_peer_uid(raw) == os.getuid()
        except CannotShareError:
            trusted = False
        if not trusted:
            raw.close()
            return
        if len(self._waiting) >= MAX_WAITING:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.cancel()
        self._idle.pause()
        connection = ControlConnection(raw)
        task = asyncio.ensure_future(self._serve(connection))
        self._tasks.add(task)
        self._waiting[task] = None
        task.add_done_callback(lambda task: self._end_connection(task, connection))

    def _end_connection(self, task: asyncio.Task[None], connection: ControlConnection) -> None:
        # Do not leave this to `_serve`, which never runs if its task is cancelled before it starts.
        connection.close()
        self._tasks.discard(task)
        self._waiting.pop(task, None)
        self._open_spare()
        self._on_disconnect()
        if not self._tasks:
            self._idle.resume()

    def _open_spare(self) -> None:
        if self._spare_descriptor < 0:
            with suppress(OSError):
                self._spare_descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    # -- one connection

    async def _serve(self, connection: ControlConnection) -> None:
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                message = await connection.receive()
            self._waiting.pop(asyncio.current_task(), None)  # type: ignore[arg-type]  # within a task
            message = message or {}
            current = self._is_current(message.get("installation"))
            match message.get("op"):
                case "attach" if current:
                    await self._attach(message, connection)
                case "attach" if not self._stopping:
                    self._retire()
                case "status":
                    await connection.send({**self.status(), "current": current})
                case "stop":
                    self.stop()
                    # The client waits for the process to end, so this connection must stay open until then.
                    await asyncio.get_running_loop().create_future()
        except (OSError, MalformedMessageError) as error:  # TimeoutError is an OSError.
            logger.info("a connection ended: %s", type(error).__name__)
        except Exception:
            logger.exception("a connection failed")

    def _is_current(self, installation: object) -> bool:
        """Whether to serve a client with this installation. If not, the client starts another daemon."""
        if self._stopping or self._retired:
            return False
        return not isinstance(installation, str) or installation == self._installation

    def _retire(self) -> None:
        """Stop accepting clients, because the installation has changed and they expect its new code."""
        if not self._retired:
            logger.info("the installation has changed: the daemon no longer accepts clients")
            self._retired = True
            self._ownership.retire()
            self._idle.set_time(0.0)

    async def _attach(self, message: dict[str, Any], connection: ControlConnection) -> None:
        if not connection.can_open(FREE_DESCRIPTORS):
            logger.error("a client was refused: too few descriptors are free")
            await connection.send({"refused": "the daemon has too many open files"})
            return
        try:
            client = AttachedClient.from_hello(message, self._shared)
            if not connection.has_all_descriptors:
                raise MalformedMessageError("it did not pass three descriptors")
        except MalformedMessageError as error:
            # Refuse explicitly: if the connection ended without an answer, the client would start a daemon.
            await connection.send({"refused": f"the daemon does not understand this client: {error}"})
            return
        await connection.send({"ready": True})
        async with asyncio.timeout(HELLO_SECONDS):
            answer = await connection.receive()
        if (answer or {}).get("op") != "go":
            return  # The client has given up waiting and runs a daemon of its own.
        if self._stopping:
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - each connection is served by a task
        self._clients[client] = task
        logger.info("process %d is attached", client.pid)
        try:
            code = await client.serve(connection)
            logger.info("process %d is detached, with the exit code %d", client.pid, code)
            await connection.send({"exitCode": 1 if self._stopping else code})
        finally:
            del self._clients[client]
        if not self._clients and not self._stopping:
            self._idle.set_time(await run_blocking(self._choose_idle_seconds, client))

    def _choose_idle_seconds(self, client: AttachedClient) -> float:
        """Return the seconds to wait for the next client. Blocks."""
        # If a daemon of another version runs, as after an upgrade, it probably serves the next clients.
        if self._retired or self._ownership.other_version_runs():
            return 0.0
        return idle_seconds(client)

    async def _end_if_idle(self) -> bool:
        """End the daemon unless there is a connection.

        Returns:
            False to be called again soon, because another process holds the lock.
        """
        if self._stopping:
            return True
        with self._ownership.try_hold_lock() as holds_lock:
            if not holds_lock:
                return False
            # A client that connected before the lock was taken waits in the backlog, and does not start
            # another daemon. So serve it.
            self._accept()
            if self._tasks:
                return True
            logger.info("the last client has left: the daemon ends")
            self._stopping = True
            self._close_listener()
            self._ownership.remove()
        self._ended.set()
        return True

    # -- status

    def status(self) -> dict[str, Any]:
        """Return the object that `jumpseat daemon status --json` prints."""
        return {
            "running": True,
            "pid": os.getpid(),
            "version": __version__,
            "protocolVersion": PROTOCOL_VERSION,
            "clients": [
                client.status() for client in sorted(self._clients, key=lambda each: each.attached_at)
            ],
            "uptimeSeconds": round(time.monotonic() - self._started, 3),
            "memoryBytes": measure_memory(),
            "socket": str(self._ownership.socket_path),
        }


def measure_memory() -> int:
    """Return this process's resident memory in bytes, or its peak on systems without /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
