"""`jumpseat login`, `logout` and `accept-terms` as real commands, with the emulator and a fake browser."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.copilot import configure, table
from tests.daemon import environment_of
from tests.emulator import CopilotEmulator
from tests.fakes.terminal import REPOSITORY, Terminal
from tests.processes import restore_interrupts

COMMAND = [sys.executable, "-m", "tests.fakes.cli", json.dumps([sys.executable, "-m", "jumpseat", "attach"])]
HAIKU = "copilot:claude-haiku-4.5"

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX terminals and a fake xdg-open"),
    pytest.mark.slow,
]


@pytest.fixture
async def emulator(home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        running.devices.interval = 0.05
        configure(home, table(running))
        yield running


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """Return the file to which the fake browser writes the pages that it opens, one per line."""
    return tmp_path / "opened"


@pytest.fixture
def env(tmp_path: Path, home: Path, opened: Path) -> dict[str, str]:
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("xdg-open", "open"):
        (directory / name).write_text(f'#!/bin/sh\necho noise\necho "$1" >> {opened}\n', "utf-8")
        (directory / name).chmod(stat.S_IRWXU)
    return {**os.environ, **environment_of(home), "PATH": f"{directory}{os.pathsep}/usr/bin{os.pathsep}/bin"}


class Command:
    """A running command with empty input and with its output in pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    @classmethod
    async def start(cls, env: dict[str, str], *arguments: str) -> Command:
        """Start a command and return it while it runs."""
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            env=env,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=restore_interrupts,
        )
        return cls(process)

    async def read_code(self) -> str:
        """Read stderr until the command shows the code for the browser, and return this code."""
        assert self.process.stderr is not None
        while line := (await self.process.stderr.readline()).decode():
            self.said.append(line.rstrip("\n"))
            if found := re.search(r"copy this code: (\S+)", line):
                return found[1]
        raise AssertionError(f"the command ended without a code: {self.said}")

    async def end(self) -> tuple[int | None, str, str]:
        """Wait for the command to end; return the exit code, stdout and stderr."""
        out, err = await self.process.communicate()
        return self.process.returncode, out.decode(), "\n".join([*self.said, err.decode()])


async def run(env: dict[str, str], *arguments: str) -> tuple[int | None, str, str]:
    return await (await Command.start(env, *arguments)).end()


async def log_in(env: dict[str, str], emulator: CopilotEmulator, *more: str) -> tuple[int | None, str, str]:
    command = await Command.start(env, "login", *more)
    emulator.approve(await command.read_code())
    return await command.end()


@pytest.mark.requirement("copilot:login-command")
async def test_a_login_in_a_pipe_shows_only_the_code_the_page_and_the_user(env, emulator, opened):
    code, out, said = await log_in(env, emulator)

    assert (code, out) == (0, "")
    assert f"open this page and enter it: {emulator.github_url}/login/device" in said
    assert "as octocat, plan individual." in said
    assert "which only you can read" in said
    assert not opened.exists()
    assert [token.value for token in emulator.credentials.all() if token.value in said] == []


@pytest.mark.requirement("copilot:login-command")
async def test_a_login_as_json_prints_only_the_status_even_if_the_browser_prints_text(env, emulator, opened):
    code, out, said = await log_in(env, emulator, "--json", "--browser")
    status = json.loads(out)

    assert code == 0
    assert (status["state"], status["login"], status["source"]) == ("signed_in", "octocat", "file")
    assert opened.read_text("utf-8") == f"{emulator.github_url}/login/device\n"
    assert "noise" not in said


@pytest.mark.requirement("copilot:login-command")
@pytest.mark.parametrize("how", ["deny", "expire"])
@pytest.mark.parametrize("as_json", [False, True])
async def test_a_login_that_is_denied_or_expires_exits_with_code_1(env, emulator, how, as_json):
    sign_ins = Path(env["JUMPSEAT_HOME"], "auth", "sign_ins.json")
    command = await Command.start(env, "login", *(["--json"] if as_json else []))
    getattr(emulator, how)(await command.read_code())
    code, out, said = await command.end()

    assert code == 1
    if as_json:
        assert json.loads(out)["error"]["code"] == 1000
    else:
        assert out == ""
        assert "hint: Run `jumpseat login` again" in said
    assert not await asyncio.to_thread(sign_ins.exists)


@pytest.mark.requirement("copilot:login-command")
@pytest.mark.usefixtures("ignored_interrupts")
async def test_ctrl_c_cancels_a_login_and_leaves_the_user_signed_out(env, emulator):
    command = await Command.start(env, "login")
    code = await command.read_code()
    await emulator.wait_for("/login/oauth/access_token")
    command.process.send_signal(signal.SIGINT)
    ended, out, _ = await command.end()
    emulator.approve(code)
    _, status, _ = await run(env, "status", "--json")

    assert (ended, out) == (130, "")
    rows = {row["id"]: row for row in json.loads(status)["providers"]}
    assert rows["copilot"]["auth"]["state"] == "signed_out"


@pytest.mark.requirement("copilot:login-command")
async def test_a_login_to_an_unknown_provider_or_one_with_a_key_fails(env, emulator, home):
    configure(home, table(emulator), {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"})
    for name, words in (("unconfigured", "no provider named"), ("copilot2", "providers.copilot2.api_key")):
        code, out, said = await run(env, "login", name)
        assert (code, out) == (1, "")
        assert words in said


def wait_for(path: Path | None) -> None:
    """Wait until the detached browser has created this file, if any."""
    deadline = time.monotonic() + 20
    while path is not None and not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.requirement("copilot:login-command")
@pytest.mark.parametrize(("flag", "opens"), [(None, True), ("--browser", True), ("--no-browser", False)])
async def test_on_a_terminal_the_page_is_opened_unless_a_flag_forbids_it(env, emulator, opened, flag, opens):
    terminal = Terminal([*COMMAND, "login", *filter(None, [flag])], env)
    shown = re.compile(rb"copy this code: ([A-Z0-9]+-[A-Z0-9]+)")
    await asyncio.to_thread(terminal.read_until, lambda seen: bool(shown.search(seen)) and b"device" in seen)
    await emulator.wait_for("/login/oauth/access_token")
    found = shown.search(terminal.output)
    assert found is not None
    emulator.approve(found[1].decode())
    code, screen = await asyncio.to_thread(terminal.finish)

    assert code == 0
    assert "as octocat" in screen
    assert "noise" not in screen
    await asyncio.to_thread(wait_for, opened if opens else None)
    assert opened.exists() is opens


@pytest.mark.requirement("copilot:login-command")
async def test_ctrl_c_on_a_terminal_ends_a_login(env, emulator):
    terminal = Terminal([*COMMAND, "login", "--no-browser"], env)
    await asyncio.to_thread(terminal.read_until, lambda seen: b"/login/device" in seen)
    await emulator.wait_for("/login/oauth/access_token")
    terminal.type(b"\x03")
    code, screen = await asyncio.to_thread(terminal.finish)

    assert code == 130
    assert "Traceback" not in screen


@pytest.mark.requirement("copilot:logout-command")
async def test_a_logout_deletes_the_sign_in_and_reports_it(env, emulator):
    await log_in(env, emulator)
    code, out, said = await run(env, "logout")
    again, status, _ = await run(env, "logout", "--json")

    assert (code, out, said.strip()) == (0, "", "Signed out of copilot.")
    assert (again, json.loads(status)["state"]) == (1, "signed_out")


@pytest.mark.requirement("copilot:logout-command")
async def test_a_logout_without_a_sign_in_fails_with_a_message(env):
    code, out, said = await run(env, "logout")

    assert (code, out) == (1, "")
    assert "No account is signed in to github.com." in said
    assert "Signed out" not in said


@pytest.mark.requirement("copilot:login-command")
async def test_a_login_while_signed_in_needs_the_again_option_to_sign_in_again(env, emulator):
    await log_in(env, emulator)
    code, out, said = await run(env, "login")
    ended, status, _ = await run(env, "login", "--json")
    again, _, once_more = await log_in(env, emulator, "--again")

    assert (code, out) == (0, "")
    assert "Already signed in to" in said
    assert "as octocat, from file." in said
    assert "jumpseat login --again" in said
    assert (ended, json.loads(status)["login"]) == (0, "octocat")
    assert (again, "as octocat, plan individual." in once_more) == (0, True)


@pytest.mark.requirement("copilot:login-command")
async def test_a_login_after_the_sign_in_was_revoked_signs_in_again(env, emulator):
    await log_in(env, emulator)
    for credential in emulator.credentials.all():
        emulator.revoke(credential.value)
    code, _, said = await log_in(env, emulator)

    assert (code, "as octocat" in said) == (0, True)


@pytest.mark.requirement("copilot:login-command")
@pytest.mark.parametrize("answer", [b"n\n", b"y\n"])
async def test_a_login_on_a_terminal_asks_whether_to_sign_in_again(env, emulator, answer):
    await log_in(env, emulator)
    terminal = Terminal([*COMMAND, "login", "--no-browser"], env)
    await asyncio.to_thread(terminal.read_until, lambda seen: b"Sign in again?" in seen)
    terminal.type(answer)
    if answer == b"y\n":
        shown = re.compile(rb"copy this code: ([A-Z0-9]+-[A-Z0-9]+)")
        await asyncio.to_thread(terminal.read_until, lambda seen: bool(shown.search(seen)))
        found = shown.search(terminal.output)
        assert found is not None
        emulator.approve(found[1].decode())
    code, screen = await asyncio.to_thread(terminal.finish)

    assert code == 0
    assert ("copy this code" in screen) is (answer == b"y\n")


@pytest.mark.requirement("copilot:logout-command")
async def test_a_logout_reports_a_sign_in_that_is_still_configured(env, emulator, home):
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    code, _, said = await run(env, "logout")

    assert code == 0
    assert "is still used, from config, which `jumpseat logout` does not change." in said
    assert "Signed out" not in said


@pytest.fixture
def policies(emulator: CopilotEmulator, home: Path) -> dict[str, Any]:
    """Sign octocat in through the configuration, and return the account's policies by model."""
    emulator.set_policy("claude-haiku-4.5", "unconfigured")
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    return emulator.account().policies


@pytest.mark.requirement("copilot:terms-command")
async def test_without_a_terminal_and_without_yes_the_terms_are_only_shown(env, policies):
    code, out, said = await run(env, "accept-terms", HAIKU)

    assert (code, out) == (2, "")
    assert "Claude Haiku 4.5" in said
    assert "--yes" in said
    assert policies["claude-haiku-4.5"] == "unconfigured"


@pytest.mark.requirement("copilot:terms-command")
async def test_the_yes_option_accepts_terms_and_a_second_run_reports_that(env, policies):
    code, out, said = await run(env, "accept-terms", "--yes", "--json", HAIKU)
    again = await run(env, "accept-terms", HAIKU)

    assert (code, json.loads(out)["policy"]) == (0, "enabled")
    assert "Claude Haiku 4.5" in said
    assert policies["claude-haiku-4.5"] == "enabled"
    assert (again[0], again[2].strip()) == (0, f"{HAIKU} is already enabled.")


@pytest.mark.requirement("copilot:terms-command")
@pytest.mark.parametrize(
    ("keys", "code", "policy"),
    [(b"y\n", 0, "enabled"), (b"n\n", 1, "unconfigured"), (b"\x03", 130, "unconfigured")],
)
async def test_a_user_on_a_terminal_is_asked_to_accept_the_terms(env, policies, keys, code, policy):
    terminal = Terminal([*COMMAND, "accept-terms", HAIKU], env)
    await asyncio.to_thread(terminal.read_until, lambda seen: b"accept these terms?" in seen)
    terminal.type(keys)
    ended, screen = await asyncio.to_thread(terminal.finish)

    assert ended == code
    assert policies["claude-haiku-4.5"] == policy
    assert "Traceback" not in screen


@pytest.mark.requirement("copilot:terms-command")
@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("claude-haiku-4.5", 2, "copilot:claude-haiku-4.5"),
        ("copilot:gpt-9", 1, "gpt-9"),
        ("unconfigured:m", 1, "unconfigured"),
        ("copilot:claude-opus-4.7", 1, "The plan does not include it"),
    ],
)
async def test_an_unknown_or_unavailable_model_is_reported(env, policies, model, code, words):
    ended, _, said = await run(env, "accept-terms", "--yes", model)

    assert ended == code
    assert words in said


@pytest.mark.requirement("copilot:login-command", "copilot:logout-command", "copilot:terms-command")
async def test_the_shell_completes_the_account_commands(env):
    async def complete(words: str) -> list[str]:
        typed = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "jumpseat", stdout=subprocess.PIPE,
            env={**env, **typed, "_JUMPSEAT_COMPLETE": "bash_complete"},
        )  # fmt: skip
        out, _ = await process.communicate()
        return [line.partition(",")[2] for line in out.decode().splitlines()]

    assert await complete("jumpseat log") == ["login", "logout"]
    assert await complete("jumpseat acc") == ["accept-terms"]
    assert "--browser" in await complete("jumpseat login --b")
