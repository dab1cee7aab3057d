"""The `PATH` of the login shell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jumpseat.system import login_shell
from jumpseat.system.environment import Environment
from jumpseat.system.login_shell import read_login_path
from jumpseat.system.paths import Places

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX shells"),
    pytest.mark.requirement("12:mcp-path"),
]


def environment_with_shell(home: Path, script: str | None) -> Environment:
    """Return an environment whose login shell is this script."""
    shell = home / "shell"
    if script is not None:
        shell.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        shell.chmod(0o700)
    variables = {"HOME": str(home), "SHELL": str(shell), "PATH": "/usr/bin:/bin", "X_API_KEY": "secret"}
    return Environment(variables, home, Places(home / "c", home, home))


async def test_the_path_comes_from_a_login_shell(home: Path) -> None:
    # The shell also prints a greeting and, after the command, its directory.
    script = 'echo "Welcome! $@"; [ "$1$2$3" = -l-i-c ] && PATH="/nvm/bin:$PATH" && eval "$4"; pwd'
    environment = environment_with_shell(home, script)

    assert await read_login_path(environment) == "/nvm/bin:/usr/bin:/bin"


async def test_a_real_shell_reads_its_files(home: Path) -> None:
    (home / ".profile").write_text("PATH=/from/profile:$PATH\n", "utf-8")
    environment = environment_with_shell(home, None)
    variables = {**environment.variables, "SHELL": "/bin/sh"}
    path = await read_login_path(Environment(variables, home, environment.places))

    assert path is not None
    assert path.startswith("/from/profile:")


@pytest.mark.parametrize("script", ["exit 1", "echo nothing", 'echo "$X_API_KEY" | grep . && eval "$4"'])
async def test_a_shell_that_fails_does_not_give_a_path_and_never_receives_keys(
    home: Path, script: str
) -> None:
    assert await read_login_path(environment_with_shell(home, script)) is None


async def test_a_shell_that_hangs_is_ended(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_shell, "SHELL_SECONDS", 0.2)

    assert await read_login_path(environment_with_shell(home, "sleep 600")) is None


async def test_a_shell_without_an_absolute_path_is_not_started(home: Path) -> None:
    environment = environment_with_shell(home, 'echo "jumpseat-path:/x"')
    variables = {**environment.variables, "SHELL": "shell", "PATH": str(home)}

    assert await read_login_path(Environment(variables, home, environment.places)) is None
