"""The wire carries only frames, even if other code in the process writes to stdout."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, subprocess, sys
old = sys.stdout
print("before", end="\\n")
from jumpseat.wire import claim_stdio
read_fd, write_fd = claim_stdio()
assert read_fd > 2 and write_fd > 2
assert not os.get_inheritable(read_fd) and not os.get_inheritable(write_fd)
print("stray print")
old.write("stray old print\\n"); old.flush()
sys.__stdout__.write("stray saved print\\n"); sys.__stdout__.flush()
os.write(1, b"stray native write\\n")
subprocess.run([sys.executable, "-c", "print('stray child')"], check=True)
assert os.read(0, 1) == b"" and sys.stdin.read() == ""
os.write(write_fd, b"wire:" + os.read(read_fd, 100))
"""


def run(script: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", script], input=b"ping", capture_output=True, timeout=30, check=False
    )


def test_stray_output_goes_to_stderr_and_input_only_to_the_wire() -> None:
    done = run(SCRIPT)

    assert done.returncode == 0, done.stderr.decode()
    # Text printed before stdout was claimed cannot be redirected; it is written before the first frame.
    assert done.stdout == b"before\nwire:ping"
    for stray in ("print", "old print", "saved print", "native write", "child"):
        assert f"stray {stray}\n".encode() in done.stderr


def test_stdio_can_be_claimed_without_a_stderr() -> None:
    done = run(
        "import os; os.close(2)\n"
        "from jumpseat.wire import claim_stdio\n"
        "read_fd, write_fd = claim_stdio()\n"
        "print('stray'); os.write(2, b'')\n"
        "os.write(write_fd, b'wire:%d' % (min(read_fd, write_fd) > 2))"
    )

    assert done.stdout == b"wire:1"
