"""Commands with full or closed standard streams, and interrupted prompts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(sys.platform == "win32", reason="uses a POSIX shell and terminals"),
    pytest.mark.slow,
]

PROMPT_PROGRAM = """
import fcntl, os, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Without this, Ctrl-C would not interrupt this process.
from jumpseat_cli.terminal.running import run_work
from jumpseat_cli.terminal.questions import confirm
os._exit(run_work(confirm("Really?"), as_json=False))
"""


def run_in_shell(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m jumpseat {words}', sys.executable],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [
        (">/dev/full", 1, "jumpseat: The output cannot be written: No space left on device.\n"),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
    ],
)
def test_buffered_output_is_written_at_exit_or_reported(redirection: str, code: int, message: str) -> None:
    done = run_in_shell(f"config path {redirection}")
    assert (done.returncode, done.stderr) == (code, message)


@pytest.mark.parametrize(
    ("words", "code"), [("status --own >&- 2>&-", 0), ("chat <&- 2>&-", 2), ("chat --own -m no:m Hi 2>&-", 1)]
)
@pytest.mark.usefixtures("home")
def test_a_command_with_closed_streams_ends_with_its_own_exit_code(words: str, code: int) -> None:
    done = run_in_shell(words)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("words", ["chat why", "chat", "tokens", "chat -f - why"])
@pytest.mark.usefixtures("home")
def test_binary_input_is_not_sent_as_text(tmp_path: Path, words: str) -> None:
    (tmp_path / "i.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    done = run_in_shell(f"{words} <{tmp_path}/i.png")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Error: stdin is not text. To send an image: jumpseat chat -a -\n")


def test_ctrl_c_ends_a_prompt_even_before_the_prompt_reads() -> None:
    # Repeat this, so that Ctrl-C arrives at least once after the question but before the blocking read.
    for _ in range(8):
        terminal = Terminal([sys.executable, "-c", PROMPT_PROGRAM])
        terminal.read_until(lambda seen: b"Really?" in seen)
        terminal.type(b"\x03")
        code, screen = terminal.finish()
        assert (code, "Traceback" in screen) == (130, False)
