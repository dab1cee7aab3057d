"""The adapter's side of the child process that runs llama.cpp (`server.py`)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from jumpseat.adapters.local.server import ServerOrder, ServerReply
from jumpseat.chat import ConfigError, ServerError
from jumpseat.system.child import Child
from jumpseat.system.packages import install_command
from jumpseat.wire import read_json

logger = logging.getLogger(__name__)

LOAD_TIMEOUT_SECONDS = 600.0
"""The time limit for loading. Loading gigabytes from a slow disk takes minutes, but not this many."""

SLOT_CONTEXT_TOKENS = 8192
"""The context of one chat. A larger context would use more memory even for short chats."""

SLOTS = 2
"""The number of concurrent chats. llama.cpp lets further chats wait until a slot is free."""

SPARE_MEMORY_BYTES = 2 << 30
"""The memory to leave for other programs.

There is a second slot only if the machine has this much memory plus twice the size of the model's file.
"""

PASSED_ON_VARIABLES = frozenset(
    {
        "HOME",
        "PYTHONPATH",
        "PYTHONHOME",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "CUDA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
    }
    | ({"PATH", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP"} if sys.platform == "win32" else set())
)
"""The environment variables of the child.

There are no credentials among them. Sessions share a child only if these variables are equal. PATH often
differs between a terminal and an editor, so it is passed only on Windows.
"""


class LocalServer:
    """One llama.cpp server on a random port of the loopback interface, with an API key of its own."""

    def __init__(self, path: Path, name: str, variables: Mapping[str, str]) -> None:
        """
        Args:
            path: the GGUF file.
            name: the model's name in requests.
            variables: the complete environment of the process.
        """
        self.address = ""
        """The base URL without a path; empty until the server has started."""

        self.api_key = secrets.token_urlsafe(32)
        self.context_tokens: int | None = None
        self._path = path
        self._name = name
        self._variables = variables
        self._process = _Process()

    @property
    def alive(self) -> bool:
        """Whether the model is loaded and the process runs."""
        return self.address != "" and self._process.running

    @property
    def end(self) -> str | None:
        """How the process ended, as a clause; None if it has not ended, or has not started."""
        return self._process.why

    async def start(self) -> None:
        """Start the process, and wait until the model is loaded.

        Errors do not name a provider, because providers of several sessions may share the process.

        Raises:
            ConfigError: xllamacpp cannot be imported, or cannot load the file.
            ServerError: the process died, or was closed, before it answered.
        """
        process = self._process
        if not process.running:  # `close` was called before the start.
            raise self._exit_error()
        # -P: a file in the working directory must not be imported as a module.
        await process.start(
            [sys.executable, "-P", "-m", "jumpseat.adapters.local.server"],
            env=self._variables,
            directory=Path(self._path.anchor),
        )
        try:
            process.write(json.dumps(self._make_order()).encode() + b"\n")
            async with asyncio.timeout(LOAD_TIMEOUT_SECONDS):
                line = await process.reply
            if not line:
                raise self._exit_error()
            self._handle_reply(read_json(line))
        except TimeoutError:
            process.kill(f"it did not answer within {LOAD_TIMEOUT_SECONDS:g} s")
            raise self._exit_error() from None
        finally:
            if not self.address:
                await process.stop(0)

    async def close(self) -> None:
        """End the process immediately; it has nothing to save. Can be called during `start`, and twice."""
        await self._process.stop(0)

    def _handle_reply(self, reply: ServerReply) -> None:
        if "engine_error" in reply:
            raise ConfigError(
                f"The package xllamacpp cannot be imported: {reply['engine_error']}.",
                hint=f"Run `{install_command('--force-reinstall', '--no-deps', 'xllamacpp')}`.",
            )
        if "model_error" in reply:
            logger.warning("llama.cpp cannot load %s: %s", self._path, reply["model_error"])
            raise ConfigError(
                f"llama.cpp cannot load {self._path}: the file is damaged, or its format is not supported.",
                hint="Run `jumpseat local install`, or correct the provider's model_path.",
            )
        self.address = reply["address"]
        self.context_tokens = reply["context_tokens"]

    def _make_order(self) -> ServerOrder:
        return {
            "model_path": str(self._path),
            "name": self._name,
            "api_key": self.api_key,
            "slots": slots_for(self._path.stat().st_size, _physical_memory()),
            "context_tokens": SLOT_CONTEXT_TOKENS,
            "threads": threads_for(os.cpu_count()),
        }

    def _exit_error(self) -> ServerError:
        end = self.end or "it was closed"
        logger.warning("the process of the local model ended before the model was loaded: %s", end)
        return ServerError(
            f"The process of the local model ended before the model was loaded: {end}.",
            hint="See the daemon's log. The machine may not have enough memory.",
            retryable=False,
        )


def slots_for(file_bytes: int, memory_bytes: int | None) -> int:
    """Return how many chats a model of this size may answer concurrently on this machine."""
    if memory_bytes is not None and memory_bytes < 2 * file_bytes + SPARE_MEMORY_BYTES:
        return 1
    return SLOTS


def threads_for(processors: int | None) -> int:
    """Return the number of computing threads: all processors but one."""
    # llama.cpp's threads wait for each other in a busy loop at every step. If one of them has to share its
    # processor with another program, it delays all of them: on two busy cores, two threads took 15 times as
    # long as one.
    return max(1, (processors or 1) - 1)


def _physical_memory() -> int | None:
    """Return the machine's memory in bytes; None if it is unknown (Windows)."""
    if sys.platform != "win32":
        with suppress(ValueError, OSError):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


class _Process(Child):
    """Reads the child's reply, and writes llama.cpp's messages to the log."""

    def __init__(self) -> None:
        super().__init__()
        self.reply: asyncio.Future[bytes] = self._loop.create_future()
        """The first line of the child's output; empty if the child ended without one."""

        self._output = bytearray()

    def on_output(self, data: bytes) -> None:
        if not self.reply.done():
            self._output += data
            line, newline, _ = self._output.partition(b"\n")
            if newline:
                self.reply.set_result(bytes(line))

    def on_line(self, line: str) -> None:
        logger.debug("llama.cpp: %s", line)

    def on_end(self) -> None:
        if not self.reply.done():
            self.reply.set_result(b"")
