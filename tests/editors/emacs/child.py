"""An Emacs in a terminal with the package, driven by keys and over a socket; its screen is read as text."""

from __future__ import annotations

import atexit
import base64
import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyte
import pytest

from tests.daemon import environment_of
from tests.editors.programs import WAIT_SECONDS, connect, program
from tests.hub import directory_for_sockets

PACKAGE = Path(__file__).parents[3] / "editors" / "emacs"
DRIVER = Path(__file__).parent / "driver.el"
LINES, COLUMNS = 24, 80

ORG_AS_FORMAT = """(with-eval-after-load 'jumpseat
                     (add-hook 'emacs-startup-hook (lambda () (setq jumpseat-chat-format 'org))))"""
"""Lisp that makes Org the format of new chats. The options of `running_emacs` cannot contain symbols."""


def emacs() -> str:
    """Return the Emacs under test: `$JUMPSEAT_EMACS`, or the one on the PATH. Skip the test without it."""
    return os.environ.get("JUMPSEAT_EMACS") or program("emacs")


def lisp(value: Any) -> str:
    """Return a value as Emacs Lisp, where the keys of a mapping become keywords."""
    if value is None or value is False:
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "(" + " ".join(f":{key} {lisp(each)}" for key, each in value.items()) + ")"
    if isinstance(value, list | tuple):
        return "(" + " ".join(map(lisp, value)) + ")"
    return str(value)


class Child:
    """One Emacs."""

    def __init__(self, terminal: int, connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
        self._terminal, self._connection, self.process = terminal, connection, process
        self._received = b""
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._reading = threading.Lock()
        self._ending = False

    def show(self, output: bytes) -> None:
        """Draw what Emacs wrote to its terminal."""
        with self._reading:
            self._stream.feed(output)

    def eval(self, form: str) -> Any:
        """Return the value of a form, evaluated in the buffer that the user sees."""
        self._connection.sendall(base64.b64encode(form.encode()) + b"\n")
        while b"\n" not in self._received:
            received = self._connection.recv(1 << 16)
            assert received, "Emacs has ended"
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        done, value = json.loads(line)
        assert done, f"{value}\n{form}"
        return value

    def keys(self, text: str) -> None:
        """Type these keys, where `^X` is Control and X, and `^[` is Escape."""
        typed, control = bytearray(), False
        for byte in text.encode():
            if control:
                typed.append(byte & 0x1F)
            elif byte != ord("^"):
                typed.append(byte)
            control = not control and byte == ord("^")
        os.write(self._terminal, typed)

    def command(self, name: str, *answers: str) -> None:
        """Run a command by M-x, and answer what it asks for in the minibuffer."""
        self.keys("^[x")
        self.wait("(active-minibuffer-window)")
        self.keys(name + "^M")
        for answer in answers:
            self.answer(answer)

    def answer(self, text: str) -> None:
        """Wait until the minibuffer asks for something, and type this text into it."""
        self.wait("""(and (active-minibuffer-window)
                          (with-current-buffer (window-buffer (active-minibuffer-window))
                            (not (string-match-p "M-x" (minibuffer-prompt)))))""")
        prompt = self.eval(
            "(with-current-buffer (window-buffer (active-minibuffer-window))"
            " (list (recursion-depth) (minibuffer-prompt)))"
        )
        self.keys(text + "^M")
        # Wait until this prompt is gone; another one may follow in the same minibuffer.
        self.wait(f"""(not (and (active-minibuffer-window)
                                (with-current-buffer (window-buffer (active-minibuffer-window))
                                  (equal {lisp(prompt).replace("(", "(list ", 1)}
                                         (list (recursion-depth) (minibuffer-prompt))))))""")

    def wait(self, condition: str, seconds: float = WAIT_SECONDS) -> Any:
        """Wait until a form is true, and return its value."""
        deadline = time.monotonic() + seconds
        while not (value := self.eval(condition)):
            assert time.monotonic() < deadline, f"timed out: {condition}\n{self.screen}\n{self.messages}"
            time.sleep(0.01)
        return value

    @property
    def screen(self) -> str:
        """The text on the screen, without blanks at the ends of lines."""
        with self._reading:
            return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for_text(self, text: str) -> None:
        """Wait until the text is on the screen, wherever its lines are broken."""
        self._until(lambda: self._shows(text), f"{text!r} is not on the screen")

    def wait_until_text_is_gone(self, text: str) -> None:
        """Wait until the text is no longer on the screen."""
        self._until(lambda: not self._shows(text), f"{text!r} is on the screen")

    def wait_for_cursor_after(self, text: str) -> None:
        """Wait until this text is the part of the line before the terminal's cursor.

        White space before the text is ignored: newer releases of Emacs have a margin for Flymake there.
        """
        self._until(lambda: self._before_cursor().lstrip() == text, f"the cursor is not after {text!r}")

    def _before_cursor(self) -> str:
        with self._reading:
            cursor = self._screen.cursor
            return self._screen.display[cursor.y][: cursor.x]

    def _shows(self, text: str) -> bool:
        # If Emacs continues a line in the next row, the last column of the row is a backslash.
        screen = re.sub(rf"^(.{{{COLUMNS - 1}}})\\\n", r"\1", self.screen, flags=re.MULTILINE)
        return " ".join(text.split()) in " ".join(screen.split())

    def _until(self, condition: Any, failure: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"{failure}:\n{self.screen}\n{self.messages}"
            time.sleep(0.01)

    @property
    def text(self) -> str:
        """The text of the buffer that the user sees."""
        return str(self.eval("(buffer-substring-no-properties (point-min) (point-max))"))

    def ask(self, question: str) -> None:
        """Write a question at the end of the chat and send it."""
        self.eval(f"(progn (goto-char (point-max)) (insert {lisp(question)}))")
        self.send()

    def send(self) -> None:
        """Send the chat with its key, and wait until Emacs has handled the key."""
        self.eval("(setq driver-sent nil)")
        self.keys("^C^C")
        self.wait("driver-sent")

    def stop(self) -> None:
        """Stop the answer with its key."""
        self.keys("^C^K")

    def wait_until_idle(self) -> None:
        """Wait until no chat and no rewrite runs in the buffer that the user sees."""
        self.wait("(not (jumpseat--view-get :state))")

    @property
    def messages(self) -> list[str]:
        """The messages that the package has shown."""
        return list(self.eval("(driver-messages)") or [])

    def wait_for_message(self, text: str) -> str:
        """Wait for a message of the package that contains this text, and return the message."""
        return str(
            self.wait(f"(seq-find (lambda (each) (string-search {lisp(text)} each)) (driver-messages))")
        )

    @property
    def log(self) -> str:
        """The log of the package."""
        return str(self.eval('(with-current-buffer "*jumpseat log*" (buffer-string))'))

    def settle(self) -> None:
        """Wait until a daemon that is starting has started or failed. Otherwise it would outlive the test."""
        if not self._ending:
            self.wait("""(not (and (bound-and-true-p jumpseat-rpc--link)
                                   (eq (jumpseat-rpc--link-state jumpseat-rpc--link) 'starting)))""")

    def quit(self) -> None:
        """End Emacs without saving anything."""
        self._ending = True
        with contextlib.suppress(OSError):
            self._connection.sendall(base64.b64encode(b"(run-at-time 0 nil #'kill-emacs)") + b"\n")


def environment_for(home: Path, address: Path) -> dict[str, str]:
    """Return the environment of an Emacs with its files below `home`, and its driver at the address."""
    return {
        **os.environ,
        **environment_of(home),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "emacs-config"),
        "LC_ALL": "C.UTF-8",
        "DRIVER_SOCKET": str(address),
    }


def prepare(home: Path, address: Path, package: Path, options: Mapping[str, Any], before: str) -> list[str]:
    """Create Emacs's own directory; return the arguments that load the driver and then the package."""
    settings = {"command": [sys.executable, "-P", "-m", "jumpseat"], **options}
    forms = [f"(setq jumpseat-{name} '{lisp(value)})" for name, value in settings.items()]
    own = home / ".emacs.d"
    if not own.exists():
        own.mkdir()
        (own / "eln-cache").symlink_to(_native_cache())
    # Switch off native compilation, which takes long. Emacs may compile some libraries before it reads this.
    init = f"""(setq native-comp-deferred-compilation nil native-comp-jit-compilation nil
                 inhibit-startup-screen t user-emacs-directory {lisp(str(home / "emacs") + "/")}
                 display-buffer-base-action '(display-buffer-same-window)
                 create-lockfiles nil make-backup-files nil auto-save-default nil
                 custom-file {lisp(str(home / "custom.el"))})"""
    arguments = ["-Q", "-L", str(package), "--eval", init]
    arguments += ["-l", str(DRIVER), *(["--eval", before] if before else [])]
    for form in ("(require 'jumpseat)", *forms):
        arguments += ["--eval", form]
    return arguments


@contextlib.contextmanager
def running_emacs(
    home: Path,
    *files: str,
    package: Path = PACKAGE,
    options: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    before: str = "",
) -> Iterator[Child]:
    """Run an Emacs whose directories, and those of its daemon, are below `home`. The daemon keeps running."""
    with directory_for_sockets() as directory:
        address = directory / "driver"
        options = {"open-browser": False, **(options or {})}
        arguments = prepare(home, address, package, options, before)
        variables = {**environment_for(home, address), "TERM": "xterm-256color", **(env or {})}
        words = [emacs(), "-nw", *arguments, *files]
        with _in_a_terminal(words, variables) as (terminal, process):
            child = None
            try:
                with connect(address, "Emacs") as connection:
                    child = Child(terminal, connection, process)
                    with _draw_in_thread(terminal, child):
                        child.wait("after-init-time")
                        yield child
                        child.settle()
                        child.quit()
                        process.wait(WAIT_SECONDS)
            finally:
                process.kill()
                process.wait()


@functools.cache
def _native_cache() -> Path:
    """Return a directory for natively compiled code, which the Emacs processes of a test run share."""
    directory = tempfile.TemporaryDirectory(prefix="jumpseat-eln-")
    atexit.register(directory.cleanup)
    return Path(directory.name)


@contextlib.contextmanager
def _in_a_terminal(
    words: list[str], variables: Mapping[str, str]
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    try:
        process = subprocess.Popen(
            words,
            env=dict(variables),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        yield terminal, process
    finally:
        os.close(terminal)


@contextlib.contextmanager
def _draw_in_thread(terminal: int, child: Child) -> Iterator[None]:
    """Read and draw the output of Emacs in a thread, because Emacs waits if nothing reads its terminal."""
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    child.show(os.read(terminal, 1 << 16))
                except OSError:
                    return

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def markdown_mode() -> str:
    """Return a form that loads Markdown mode from Debian's package. Skip the test without it."""
    for directory in sorted(Path("/usr/share/emacs/site-lisp/elpa-src").glob("markdown-mode-*")):
        return f"(progn (push {lisp(str(directory))} load-path) (require 'markdown-mode))"
    pytest.skip("Markdown mode is not installed: apt-get install elpa-markdown-mode")


def compile_package(directory: Path) -> Path:
    """Compile the package in this directory, as for a user, with warnings as errors; return the directory."""
    for file in (*PACKAGE.glob("jumpseat*.el"), PACKAGE.parent / "bootstrap.py"):
        shutil.copy(file, directory)
    ran = subprocess.run(
        [
            *(emacs(), "--batch", "-Q", "-L", ".", "--eval", "(setq byte-compile-error-on-warn t)"),
            *("-f", "batch-byte-compile", *sorted(file.name for file in directory.glob("*.el"))),
        ],
        cwd=directory,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return directory
