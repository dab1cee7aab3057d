"""An Emacs in a graphical frame on its own X server, driven by keys and clicks; the screen is a picture."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.emacs.child import PACKAGE, Child, environment_for, prepare
from tests.editors.programs import WAIT_SECONDS, connect, program
from tests.hub import directory_for_sockets

WIDTH, HEIGHT = 1100, 680


class Frame(Child):
    """One Emacs in a frame. It has no terminal, so keys are events of Emacs, and the screen is not text."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
        super().__init__(-1, connection, process)

    def keys(self, text: str) -> None:
        """Type these keys, where `^X` is Control and X, and `^[` is Escape."""
        typed, control = [], False
        for character in text:
            if control:
                typed.append(ord(character) & 0x1F)
            elif character != "^":
                typed.append(ord(character))
            control = not control and character == "^"
        events = " ".join(map(str, typed))
        # While Emacs waits for input, it notices events from a timer, but not from the filter of a process.
        self.eval(f"""(run-at-time 0 nil (lambda (events)
            (setq unread-command-events (append unread-command-events events))) '({events}))""")

    def click(self, text: str) -> None:
        """Click on the button with this text in a string that the current window shows."""
        self.wait(f"""(let (found (y 0))
          (redisplay)
          (while (and (not found) (< y (window-pixel-height)))
            (let ((x 0))
              (while (and (not found) (< x (window-body-width nil t)))
                (let* ((at (posn-at-x-y x y)) (string (posn-string at)))
                  (when (and string (eql (cdr string) (string-search "{text}" (car string))))
                    (setq found at)))
                (setq x (+ x (frame-char-width)))))
            (setq y (+ y (frame-char-height))))
          (when found
            (let* ((string (posn-string found))
                   (map (get-text-property (cdr string) 'keymap (car string))))
              (funcall-interactively (lookup-key map [mouse-1]) (list 'mouse-1 found))
              t)))""")

    def picture(self) -> bytes:
        """Return the frame as a PNG picture."""
        self.eval("(progn (message nil) (redisplay t))")
        return base64.b64decode(str(self.eval("(base64-encode-string (x-export-frames nil 'png) t)")))


def graphical_emacs() -> str:
    """Return the Emacs for X that `$JUMPSEAT_GRAPHICAL_EMACS` names. Skip the test without it."""
    found = os.environ.get("JUMPSEAT_GRAPHICAL_EMACS")
    if not found:
        pytest.skip("JUMPSEAT_GRAPHICAL_EMACS is not set: run make test-emacs-graphical")
    return found


@contextlib.contextmanager
def running_x() -> Iterator[str]:
    """Run an X server that draws only into memory, and yield the name of its display."""
    reader, writer = os.pipe()
    words = [program("Xvfb"), "-displayfd", str(writer), "-screen", "0", f"{WIDTH + 100}x{HEIGHT + 100}x24"]
    # Emacs connects twice when it starts. A reset after the first connection would refuse the second.
    process = subprocess.Popen(
        [*words, "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as displays:
            yield f":{displays.readline().strip()}"
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


@contextlib.contextmanager
def running_frame(
    home: Path, *files: str, package: Path = PACKAGE, options: Mapping[str, Any] | None = None
) -> Iterator[Frame]:
    """Run an Emacs in a frame. Its directories, and those of its daemon, are below `home`."""
    # Without this, an advised primitive is compiled by another Emacs, which lacks the dump file of this one.
    before = f"""(progn (setq comp-enable-subr-trampolines nil)
                        (menu-bar-mode -1) (tool-bar-mode -1) (scroll-bar-mode -1) (blink-cursor-mode -1)
                        (set-frame-font "DejaVu Sans Mono-11" nil t)
                        (set-frame-size nil {WIDTH} {HEIGHT} t))"""
    with directory_for_sockets() as directory, running_x() as display:
        address = directory / "driver"
        arguments = prepare(home, address, package, {"open-browser": False, **(options or {})}, before)
        process = subprocess.Popen(
            [graphical_emacs(), *arguments, *files],
            env={**environment_for(home, address), "DISPLAY": display},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with connect(address, "Emacs") as connection:
                frame = Frame(connection, process)
                frame.wait("after-init-time")
                yield frame
                frame.settle()
                frame.quit()
                process.wait(WAIT_SECONDS)
        finally:
            process.kill()
            process.wait()
