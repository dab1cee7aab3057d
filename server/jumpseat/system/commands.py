"""The output of a command that the user has named as the source of a value.

There is no shell, no standard input, no window, and no end later than ten seconds. Above it is `sources`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from jumpseat.system.bounded import in_time
from jumpseat.system.secrets import is_hidden

COMMAND_SECONDS = 10.0
"""Long enough for a helper that asks a service for a token; a person at a prompt is not waited for."""

MAX_OUTPUT_BYTES = 64 * 1024

LAST_OUTPUT_SECONDS = 0.5
"""After the command's end; what it has left running in the background may hold its pipes for ever."""

_GITHUB_TOKENS = frozenset({"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"})

_kept_back: set[str] = set()


class CommandError(Exception):
    """The command gave nothing. Says why in words without its output."""


def keep_back(variable: str) -> None:
    """Give this variable of the environment to no command: it is some provider's credential."""
    _kept_back.add(variable)


async def output_of(line: str, directory: Path) -> str:
    """What a command writes, without white space around it.

    Args:
        line: program and arguments as a POSIX shell would split them; nothing in it is expanded.
        directory: where it runs, and where a program with a relative path is.

    Raises:
        CommandError: it cannot be run, fails, takes too long, or writes too much.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise CommandError(f"the command line cannot be split: {str(error).lower()}") from None
    if not words:
        raise CommandError("there is no command")
    run = _Run(words, directory)
    try:
        return await in_time(run, COMMAND_SECONDS + 2 * LAST_OUTPUT_SECONDS + 1.0, "command")
    except TimeoutError:
        raise CommandError(_too_slow()) from None
    finally:
        run.end()  # Whoever is cancelled waits no longer, and nobody else wants the output.


def _too_slow() -> str:
    return f"the command did not end within {COMMAND_SECONDS:g} s"


class _Run:
    """One run of a command. Called on a thread; ended from any other."""

    def __init__(self, words: list[str], directory: Path) -> None:
        self._words = words
        self._directory = directory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False
        self._too_much = False

    def __call__(self) -> str:
        process = self._started()
        output = bytearray()
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        reader = threading.Thread(
            target=self._read, args=(process.stdout, output), name="command", daemon=True
        )
        reader.start()
        try:
            status = process.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            self.end()
            raise CommandError(_too_slow()) from None
        reader.join(LAST_OUTPUT_SECONDS)
        with self._lock:
            self._over = True  # Its number may be another process's from here on.
        if self._too_much:
            raise CommandError(f"the command wrote more than {MAX_OUTPUT_BYTES // 1024} KiB")
        if status != 0:
            raise CommandError(f"the command ended with status {status}")
        return bytes(output).decode("utf-8", "replace").strip()

    def end(self) -> None:
        """Kill the command with all it has started, unless it has ended by itself."""
        with self._lock:
            over, self._over = self._over, True
            process = self._process
        if over or process is None:
            return
        if sys.platform == "win32":
            # A thread: `taskkill` takes a moment, and this may be the event loop.
            threading.Thread(target=kill_tree, args=(process,), daemon=True).start()
        else:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            threading.Thread(target=process.wait, name="command", daemon=True).start()

    def _started(self) -> subprocess.Popen[bytes]:
        program = _program(self._words[0], self._directory)
        with self._lock:
            if self._over:
                raise CommandError("it is not wanted any more")
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the user's own command, no shell
                    [program, *self._words[1:]],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    # Never read: it may hold the secret, which no log is to hold.
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    # Never the daemon's own, which is somebody's workspace.
                    cwd=self._directory if self._directory.is_dir() else self._directory.anchor,
                    env=environment_of_commands(os.environ),
                    # A group of its own, so that what it has started ends with it; no window on Windows.
                    start_new_session=sys.platform != "win32",
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            except (OSError, ValueError) as error:
                raise CommandError(f"the command cannot be run ({type(error).__name__})") from None
            return self._process

    def _read(self, pipe: IO[bytes], into: bytearray) -> None:
        with pipe, contextlib.suppress(OSError):
            while piece := pipe.read(8192):
                into += piece
                if len(into) > MAX_OUTPUT_BYTES:
                    self._too_much = True
                    self.end()
                    return


def _program(name: str, directory: Path) -> str:
    if Path(name).name != name:
        return str(directory / name)
    import shutil  # Deferred: it brings every kind of archive with it.

    found = shutil.which(name)
    # What lies in the working directory, somebody's workspace, is no program of the user's.
    if found is None or not Path(found).is_absolute():
        raise CommandError("the program is not found on the PATH")
    return found


def environment_of_commands(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without keys of providers: what a command may need of it, nobody can know."""
    return {
        name: value
        for name, value in environ.items()
        if not (
            name in _kept_back
            or name.upper() in _GITHUB_TOKENS
            or name.upper().endswith("_API_KEY")
            or is_hidden(value.strip())
        )
    }


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process of Windows with all that it has started; blocks until it is gone."""
    taskkill = Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603 - the system's own, by its path
            [taskkill, "/F", "/T", "/PID", str(process.pid)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5.0,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
