"""The sign-in from `gh`: a real process that answers, refuses, hangs, or is missing."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.adapters.github.sign_in.gh_command import read_gh_token
from tests.environments import environment_with
from tests.processes import wait_until_gone

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake `gh` is a script with a #! line")


def fake_gh(directory: Path, program: str) -> dict[str, str]:
    """Return an environment whose `gh` runs a Python program."""
    command = directory / "gh"
    command.write_text(f"#!{sys.executable}\n{textwrap.dedent(program)}")
    command.chmod(0o755)
    return {"PATH": str(directory), "HOME": str(directory)}


@pytest.mark.requirement("8:sign-in-of-gh")
async def test_gh_is_asked_about_the_host_and_gets_no_tokens_or_keys_as_variables(tmp_path: Path) -> None:
    program = """
        import json, os, sys
        from pathlib import Path
        seen = {"argv": sys.argv[1:], "env": dict(os.environ), "stdin": sys.stdin.read()}
        Path(os.environ["HOME"], "seen.json").write_text(json.dumps(seen))
        print("gho_canary123")
    """
    environ = fake_gh(tmp_path, program)
    environ |= {
        "GH_TOKEN": "gho_env",
        "GITHUB_TOKEN": "x",
        "OPENAI_API_KEY": "sk-canary",
        "GH_CONFIG_DIR": "/c",
    }

    token = await read_gh_token("acme.ghe.com", environment_with(environ))

    assert token is not None
    assert token.reveal() == "gho_canary123"
    seen = (tmp_path / "seen.json").read_text()
    assert '"argv": ["auth", "token", "--hostname", "acme.ghe.com"]' in seen
    assert '"GH_CONFIG_DIR": "/c"' in seen
    assert '"stdin": ""' in seen
    for hidden in ("gho_env", "sk-canary", "GITHUB_TOKEN"):
        assert hidden not in seen


@pytest.mark.requirement("8:sign-in-of-gh")
@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit('no oauth token found')",
        "print('gho_canary123'); raise SystemExit(1)",
        "print('')",
        "print('please sign in first')",
        "print('gho_a\\ngho_b')",
        "import sys; sys.stdout.buffer.write(bytes(range(128, 256)))",
    ],
)
async def test_a_gh_that_fails_or_prints_an_invalid_token_is_not_a_sign_in(
    tmp_path: Path, program: str
) -> None:
    assert await read_gh_token("github.com", environment_with(fake_gh(tmp_path, program))) is None


@pytest.mark.requirement("8:sign-in-of-gh")
async def test_a_missing_or_unusable_gh_is_not_a_sign_in(tmp_path: Path) -> None:
    assert await read_gh_token("github.com", environment_with({"PATH": str(tmp_path)})) is None
    assert await read_gh_token("github.com", environment_with({})) is None
    (tmp_path / "gh").write_text("not a program")
    (tmp_path / "gh").chmod(0o755)
    assert await read_gh_token("github.com", environment_with({"PATH": str(tmp_path)})) is None


@pytest.mark.requirement("8:sign-in-of-gh")
async def test_a_gh_that_never_answers_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """
        import os, pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        pids = pathlib.Path(os.environ["HOME"], "pids")
        pids.with_name("begun").write_text(f"{os.getpid()} {child.pid}")
        pids.with_name("begun").rename(pids)
        time.sleep(600)
    """
    environ = fake_gh(tmp_path, program)
    pids = tmp_path / "pids"

    timeouts = []
    timeout = asyncio.timeout

    def delay_timeout(seconds: float | None) -> asyncio.Timeout:
        """Start the time limit of `gh` once its child runs, because a busy machine is slow to start both."""
        if seconds == 3.0:
            timeouts.append(timeout(None))
            return timeouts[-1]
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", delay_timeout)
    token = asyncio.create_task(read_gh_token("github.com", environment_with(environ), seconds=3.0))
    # The first timeout limits the search for `gh`, the second one its run. Wait for the second timeout too,
    # because `gh` may already write its file before that timeout starts.
    assert await asyncio.to_thread(_poll, lambda: len(timeouts) == 2 and pids.exists())
    timeouts[-1].reschedule(asyncio.get_running_loop().time())

    assert await token is None

    gh, child = map(int, pids.read_text().split())
    assert await wait_until_gone(gh)
    assert await wait_until_gone(child)


def _poll(condition: Callable[[], bool]) -> bool:
    """Wait for a condition that depends on another process; return whether it became true in time."""
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()
