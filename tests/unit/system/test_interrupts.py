"""Ctrl-C while a command is being imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import environment_of
from tests.processes import restore_interrupts

INTERRUPTED_AT = """\
import os, runpy, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == interrupted:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
interrupted = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupting())
runpy.run_module("jumpseat", run_name="__main__")
"""


@pytest.mark.usefixtures("ignored_interrupts")
@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        ("status --own", "jumpseat_client"),
        ("status --own", "jumpseat_cli.program"),
        ("status --own", "click"),
        ("status --own", "jumpseat_cli.commands.status"),
        ("status --own", "jumpseat_client.client"),
        ("serve", "jumpseat.connections.flags"),
        ("serve", "pydantic"),
        ("attach", "jumpseat.hub.attach"),
        ("attach", "jumpseat.hub.control"),
    ],
)
def test_an_interrupt_during_an_import_exits_with_130_and_prints_nothing(
    tmp_path: Path, arguments: str, module: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, module, *arguments.split()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
        env={**os.environ, **environment_of(tmp_path), "HOME": str(tmp_path)},
        preexec_fn=restore_interrupts,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"")
