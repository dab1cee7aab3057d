"""Commands run by a user without a home directory, as in some containers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(sys.platform == "win32", reason="uses the user database of POSIX"),
    pytest.mark.slow,
]

WITHOUT_ACCOUNT = """\
import pwd, sys
def missing(uid):
    raise KeyError(uid)
pwd.getpwuid = missing
sys.argv = ["jumpseat", *sys.argv[1:]]
from jumpseat_cli.__main__ import main
main()
"""
"""A script that runs the command as a user whose id is not in the user database."""


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_ACCOUNT, *arguments],
        env={**kept, **variables}, input="", capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [("serve",), ("attach",), ("config", "path"), ("keys", "list")])
def test_without_a_home_directory_the_error_names_the_variable_to_set(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("jumpseat: No home directory was found: HOME is not set")
    assert "Set HOME, or set JUMPSEAT_HOME to a directory" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_for_jumpseat_is_enough(tmp_path: Path) -> None:
    done = run("config", "path", JUMPSEAT_HOME=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'config.toml'}\n", "")
    assert "Traceback" not in run("doctor", "--no-chat", "--own", JUMPSEAT_HOME=str(tmp_path)).stderr
