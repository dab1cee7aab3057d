"""Starts, watches and stops the child process that runs llama.cpp (`local_server`).

Everything here blocks, so `local`, the adapter above, calls `start` in a thread.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from jumpseat.adapters.local.server import ServerOrder, ServerReply
from jumpseat.chat import ConfigError, ServerError

logger = logging.getLogger(__name__)

LOAD_TIMEOUT_SECONDS = 600.0
"""A file of many gigabytes on a slow disk may take minutes; one that takes longer than this hangs."""

LAST_MOMENT_SECONDS = 1.0
"""From the end of its output to its own end."""

SLOT_CONTEXT_TOKENS = 8192
"""The context of one chat. Larger ones cost memory whether they are used or not."""

SLOTS = 2
"""Chats that are answered at once; further ones wait for a slot inside llama.cpp."""

SPARE_MEMORY_BYTES = 2 << 30
"""What a second slot must leave to the rest of the machine, besides twice the model's file."""


PASSED_ON_VARIABLES = frozenset(
    {
        "PATH",
        "HOME",
        "USERPROFILE",
        "SYSTEMROOT",
        "TMPDIR",
        "TEMP",
        "TMP",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "CUDA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
    }
)
"""An API key in the daemon's environment is no business of a process that only computes."""


class LocalServer:
    """One llama.cpp server on a random port of the loopback interface, behind a key of its own."""

    def __init__(self, provider: str, path: Path, name: str) -> None:
        """
        Args:
            provider: the provider's id, for errors.
            path: the GGUF file.
            name: the model's name in requests.
        """
        self.address = ""
        """The base URL without a path, once it has started."""

        self.api_key = secrets.token_urlsafe(32)
        self.context_tokens: int | None = None
        self._provider = provider
        self._path = path
        self._name = name
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def end(self) -> str | None:
        """How the process ended, as a clause; None while it runs, or before it ran."""
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return None
        return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"

    def start(self) -> None:
        """Start the process and wait until the model is loaded.

        Raises:
            ConfigError: llama.cpp cannot load the file.
            ServerError: the process died, or was closed, before it answered.
        """
        with self._lock:
            if self._closed:
                raise self._died()
            started: Future[subprocess.Popen[str]] = Future()
            threading.Thread(target=_run, args=(started,), name="llama.cpp", daemon=True).start()
            process = self._process = started.result()
        orders, replies = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
        overdue = threading.Timer(LOAD_TIMEOUT_SECONDS, process.kill)
        overdue.daemon = True
        overdue.start()
        try:
            with suppress(OSError):  # A child that ended early may still have said why.
                orders.write(json.dumps(self._order()) + "\n")
                orders.flush()
            line = replies.readline()
        except (OSError, ValueError):
            line = ""  # It died, or `close` took the pipes away.
        finally:
            overdue.cancel()
        if not line:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST_MOMENT_SECONDS)  # Its own exit code says more than our signal.
            self.close()
            raise self._died()
        reply: ServerReply = json.loads(line)
        if "engine_error" in reply:
            self.close()
            raise ConfigError(
                f"The package xllamacpp cannot be imported: {reply['engine_error']}.",
                provider=self._provider,
                hint="Install it again: `pip install --force-reinstall --no-deps xllamacpp`.",
            )
        if "model_error" in reply:
            self.close()
            logger.warning("llama.cpp refuses %s: %s", self._path, reply["model_error"])
            raise ConfigError(
                f"llama.cpp cannot load {self._path}; the file is damaged or of a kind it does not know.",
                provider=self._provider,
                hint=f"Run `jumpseat local install`, or correct providers.{self._provider}.model_path.",
            )
        self.address = reply["address"]
        self.context_tokens = reply["context_tokens"]

    def close(self) -> None:
        """End the process at once; it has nothing to save. May be called from any thread, and twice."""
        with self._lock:
            self._closed = True
            process = self._process
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # What was not read by the dead process is no loss.
                        pipe.close()

    def _order(self) -> ServerOrder:
        return {
            "model_path": str(self._path),
            "name": self._name,
            "api_key": self.api_key,
            "slots": slots_for(self._path.stat().st_size, _physical_memory()),
            "context_tokens": SLOT_CONTEXT_TOKENS,
            "threads": threads_for(os.cpu_count()),
        }

    def _died(self) -> ServerError:
        end = self.end or "it was closed"
        logger.warning("the process of the local model ended before the model was loaded: %s", end)
        return ServerError(
            f"The process of the local model ended before the model was loaded: {end}.",
            provider=self._provider,
            hint="Look into the daemon's log (`jumpseat serve --log-level debug`); memory may be short.",
            retryable=False,
        )


def slots_for(file_bytes: int, memory_bytes: int | None) -> int:
    """How many chats a model of this size may answer at once on this machine."""
    if memory_bytes is not None and memory_bytes < 2 * file_bytes + SPARE_MEMORY_BYTES:
        return 1
    return SLOTS


def threads_for(processors: int | None) -> int:
    """How many threads compute: all processors but one.

    They wait for one another, spinning, at every step of the model. A thread that has to share its
    processor with an editor or a compiler therefore holds up all: on two busy cores, two threads were
    measured 15 times slower than one.
    """
    return max(1, (processors or 1) - 1)


def _environment() -> dict[str, str]:
    """The environment of the child: what native code may need, and none of the keys that live in ours."""
    return {name: value for name, value in os.environ.items() if name.upper() in PASSED_ON_VARIABLES}


def _physical_memory() -> int | None:
    """The machine's memory in bytes; None where the platform does not say (Windows)."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _run(started: Future[subprocess.Popen[str]]) -> None:
    """Start the child, then carry what llama.cpp writes into our log, so that its pipe never fills.

    One thread for both: Linux kills the child when the thread that started it ends (`local_server`).
    """
    try:
        # -P: a file in the working directory, somebody's workspace, must not pass for a module.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "jumpseat.adapters.local.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            encoding="utf-8",
            errors="replace",
        )
    except BaseException as error:
        started.set_exception(error)
        return
    started.set_result(process)
    stream = cast(IO[str], process.stderr)
    with stream:
        for line in stream:
            logger.debug("llama.cpp: %s", line.rstrip())
