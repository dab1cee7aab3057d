"""Installs the jumpseat daemon for an editor, into a virtual environment in the editor's own directory.

Every editor runs this file and shows its output. The file uses only the standard library, and must parse on
Python 3.6, so that an old interpreter can report that it is too old. Editors try these commands in turn:

    python3 bootstrap.py --directory DIRECTORY --key KEY [REQUIREMENT...]
    uv run --no-project --python '>=3.11' bootstrap.py --uv uv --directory DIRECTORY --key KEY [...]

The Python that runs this file, or uv, creates the environment. Without a requirement, the wheel beside this
file is installed, or else the checkout that contains this file. Several requirements are tried in order until
one can be installed. A working installation with the same key is not replaced, except with `--again`.

Standard output has a line for each change of the progress; the last line describes the outcome. Standard
error is for the log. The installation is cancelled when standard input closes, so that it never outlives its
editor.

Exit codes:
    0: jumpseat is installed.
    20: The installation failed. Any previous installation still works.
    21: The installation was cancelled.
    Any other: This Python or uv cannot install jumpseat, but another one may.

Each installation has an environment of its own, because an environment cannot be moved and may be in use. The
file `current.json`, an object with `key` and `program`, names the newest complete installation. This file is
replaced atomically.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import queue
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

if sys.version_info < (3, 11):  # noqa: UP036 - editors run this with any `python3`
    sys.exit(f"Python {sys.version_info[0]}.{sys.version_info[1]} is too old: jumpseat needs 3.11 or newer.")

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FAILED, CANCELLED = 20, 21
CURRENT = ("key", "program")
"""The keys of `current.json`."""
POLL_SECONDS = 0.1
EXTRAS = ("local,keyring,mcp", "keyring,mcp")
"""The extras to try, in order: the package that runs local models is not available for every machine."""
PIP_OPTIONS = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
PROGRESS = re.compile(
    r"\s*(?:Collecting ([\w.-]+)|Downloading (\S+)|((?:Resolved|Prepared) \d+ packages?)"
    r"|Installing (collected) )"
)
"""Matches the lines of pip and uv that name the current step."""


class InstallError(Exception):
    """A step failed, for the reason in the message."""


class CancelError(Exception):
    """The editor has cancelled the installation, or has ended."""


class Installer:
    """One installation, from the lock to the new environment."""

    def __init__(self, directory: Path, key: str, uv: str | None) -> None:
        self._directory = directory
        self._key = key
        self._uv = uv
        self._began = time.monotonic()
        self._shown = ""
        self._cancelled = threading.Event()

    def watch_stdin(self) -> None:
        """Cancel the installation when standard input ends."""
        # A buffered reader that is still blocked when the interpreter exits would cause a fatal error.
        while os.read(0, 1024):
            pass
        self._cancelled.set()

    def install(self, requirements: list[str], again: bool) -> str:
        """Install the first requirement that can be installed, and return the program's name and version."""
        self._directory.mkdir(parents=True, exist_ok=True)
        with self._lock():
            before = self._read_current()
            if not again and before.get("key") == self._key:
                # The installation fails this check if its Python has been removed.
                with contextlib.suppress(InstallError, OSError):
                    return self._check_program(before["program"])
            return self._replace(before, requirements)

    def _replace(self, before: dict[str, str], requirements: list[str]) -> str:
        environment = self._directory / f"{self._key}-{secrets.token_hex(4)}"
        scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
        program = str(scripts / ("jumpseat.exe" if sys.platform == "win32" else "jumpseat"))
        try:
            self._fill_environment(environment, str(scripts / "python"), requirements)
            name = self._check_program(program)
        except BaseException:
            shutil.rmtree(environment, ignore_errors=True)
            raise
        new = self._directory / "current.json.new"
        new.write_text(json.dumps({"key": self._key, "program": program}), "utf-8")
        new.replace(self._directory / "current.json")
        # Keep the previous environment, for editors and daemons that still use it.
        self._remove_environments_except(program, before.get("program", program))
        return name

    def _fill_environment(self, environment: Path, python: str, requirements: list[str]) -> None:
        make = [sys.executable, "-m", "venv"]
        install = [python, "-m", "pip", "install", *PIP_OPTIONS]
        if self._uv:
            make = [self._uv, "venv", "--python", ">=3.11"]
            install = [self._uv, "pip", "install", "--python", python]
        self._run("Creating a Python environment", [*make, str(environment)])
        failures = []
        for requirement in requirements:
            try:
                address = os.path.expanduser(requirement)  # noqa: PTH111 - a path object would change a URL
                self._run("Installing packages", [*install, address])
            except InstallError as failure:
                failures.append(failure)
            else:
                return
        raise failures[0]

    def _check_program(self, program: str) -> str:
        return self._run("Checking the installation", [program, "--version"])[0]

    def _read_current(self) -> dict[str, str]:
        """Return the object in `current.json`, or an empty one if the file is absent or corrupt."""
        with contextlib.suppress(OSError, ValueError):
            current = json.loads((self._directory / "current.json").read_text("utf-8"))
            if isinstance(current, dict) and all(isinstance(current.get(name), str) for name in CURRENT):
                return current
        return {}

    def _remove_environments_except(self, *programs: str) -> None:
        """Remove every environment that contains none of the programs."""
        kept = {Path(program).parent.parent.name for program in programs}
        for entry in self._directory.iterdir():
            if entry.is_dir() and entry.name not in kept:
                shutil.rmtree(entry, ignore_errors=True)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        # If this process is killed, the system releases the lock: child processes do not inherit it.
        with (self._directory / "lock").open("ab") as file:
            while not _try_lock(file):
                self._show("Waiting for another installation")
                if self._cancelled.wait(POLL_SECONDS):
                    raise CancelError
            yield

    def _run(self, title: str, command: list[str]) -> list[str]:
        """Run a command, show its progress, and return the lines of its output."""
        print(*command, file=sys.stderr, flush=True)
        lines: list[str] = []
        output: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        shown = title
        # Run in our own directory: files in a workspace may shadow modules for `python -m` or set uv's index.
        process = subprocess.Popen(
            command,
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=_queue_lines, args=(process.stdout, output), daemon=True).start()
        try:
            while True:
                self._show(shown)
                if self._cancelled.is_set():
                    raise CancelError
                try:
                    line = output.get(timeout=POLL_SECONDS)
                except queue.Empty:
                    continue
                if line is None:
                    break
                print(line, file=sys.stderr, flush=True)
                lines.append(line)
                shown = _describe_step(title, line) or shown
        except BaseException:
            _kill(process)
            raise
        if process.wait() != 0:
            raise InstallError(_find_reason(lines))
        return lines

    def _show(self, message: str) -> None:
        # pip may print nothing for minutes. The seconds show that the installation is still running.
        line = f"{message} ({time.monotonic() - self._began:.0f} s)"
        if line != self._shown:
            self._shown = line
            print(line, flush=True)


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _queue_lines(file: IO[str], output: "queue.SimpleQueue[str | None]") -> None:
    for line in file:
        output.put(line.rstrip())
    output.put(None)


def _kill(process: "subprocess.Popen[Any]") -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            # Kill the whole group, because pip and uv start other programs.
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _describe_step(title: str, line: str) -> str | None:
    match = PROGRESS.match(line)
    if match is None:
        return None
    what = next(group for group in match.groups() if group)
    # "Installing collected packages" is pip's last step, which unpacks the files that were downloaded.
    return f"{title}: {'unpacking' if what == 'collected' else what}"


def _find_reason(lines: list[str]) -> str:
    """Return why a command failed: its last error, or else its last line."""
    found = [line for line in lines if line.strip()]
    errors = [line for line in found if re.match(r"\s*error\b", line, re.IGNORECASE)]
    last = [*["the command printed no output"], *found, *errors][-1]
    return re.sub(r"^\s*error:\s*", "", last, flags=re.IGNORECASE).strip()


def default_requirements(directory: Path) -> list[str]:
    """Return the requirements for the wheel in the directory, or else for the checkout around the directory.

    They always have a URL: a package index could have an unrelated package with the name jumpseat.
    """
    wheels = sorted(directory.glob("jumpseat-*.whl"))
    if not wheels and (directory.parent / "server" / "jumpseat").is_dir():
        wheels = [directory.parent]
    if not wheels:
        raise InstallError(f"{directory} contains no wheel and is not in a checkout")
    return [f"jumpseat[{extras}] @ {wheels[-1].as_uri()}" for extras in EXTRAS]


def main() -> int:
    """Run the installer and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "requirements", nargs="*", help="default: the wheel beside this file, or the checkout"
    )
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--key", required=True, help="the name of this installation, such as a version")
    parser.add_argument("--uv", help="the uv program to create the environment with")
    parser.add_argument("--again", action="store_true", help="replace an installation with the same key")
    arguments = parser.parse_args()
    if not arguments.uv and importlib.util.find_spec("ensurepip") is None:
        sys.exit("This Python cannot create virtual environments (Debian, Ubuntu: apt install python3-venv).")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    installer = Installer(arguments.directory.absolute(), arguments.key, arguments.uv)
    threading.Thread(target=installer.watch_stdin, daemon=True).start()
    try:
        requirements = arguments.requirements or default_requirements(Path(__file__).resolve().parent)
        ending, code = f"{installer.install(requirements, arguments.again)} is installed.", 0
    except CancelError:
        ending, code = "The installation of jumpseat was cancelled.", CANCELLED
    except (InstallError, OSError) as error:
        sentence = str(error) if str(error).endswith((".", "!", "?")) else f"{error}."
        ending, code = f"The installation of jumpseat failed: {sentence}", FAILED
    print(ending, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
