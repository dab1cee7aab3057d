"""Commands as value sources: no shell, no API keys in the environment, limited time and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Values, load_config, resolve
from jumpseat.system import commands as commands_module
from jumpseat.system.commands import COMMAND_SECONDS, CommandError, command_environment, run_command_line
from jumpseat.system.environment import environment_of_process
from tests.environments import environment_with

SECRET = "sk-test-hunter2-4711"

pytestmark = pytest.mark.requirement("7:cmd-source")


def python(program: str, *arguments: str) -> str:
    """Return a command line that runs a Python program."""
    return shlex.join([Path(sys.executable).as_posix(), "-c", program, *arguments])


async def read_output(line: str, directory: Path) -> str:
    """Run the command in the environment of this process, and return its output."""
    return await run_command_line(line, directory, environment_of_process())


async def test_a_command_line_is_split_as_by_a_shell_but_run_without_one(tmp_path: Path) -> None:
    program = "import sys, os, json; print(json.dumps([sys.argv[1:], os.getcwd(), sys.stdin.read()]))"
    line = python(program) + """ 'a b' "c\\"d" e\\ f $HOME `id` ; > * ~"""
    arguments, directory, stdin = json.loads(await read_output(line, tmp_path))

    assert arguments == ["a b", 'c"d', "e f", "$HOME", "`id`", ";", ">", "*", "~"]
    assert os.path.samefile(directory, tmp_path)  # noqa: ASYNC240, PTH121 - quick, and needs no Path
    assert stdin == ""


async def test_white_space_around_the_output_is_not_part_of_it(tmp_path: Path) -> None:
    assert await read_output(python("print('\\n a b \\n')"), tmp_path) == "a b"


@pytest.mark.skipif(sys.platform == "win32", reason="uses a POSIX script")
async def test_a_relative_program_is_found_next_to_the_configuration_file(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "token"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho from-the-script\n", "utf-8")
    script.chmod(0o755)

    assert await read_output("bin/token", tmp_path) == "from-the-script"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "there is no command"),
        ("'open", "cannot be split"),
        ("no-such-program-4711 a", "not on the PATH"),
        ("./no-such-program", "cannot be run"),
        (python(f"print('{SECRET}'); raise SystemExit(3)"), "ended with status 3"),
        (python("print('x' * 70000)"), "more than 64 KiB"),
        (python("while True: print('x' * 10000)"), "more than 64 KiB"),
    ],
)
async def test_a_command_without_a_value_is_reported_without_its_output(
    tmp_path: Path, line: str, reason: str
) -> None:
    with pytest.raises(CommandError, match=reason) as caught:
        await read_output(line, tmp_path)
    assert SECRET not in str(caught.value)


async def test_the_error_names_the_provider_its_key_and_the_program_without_arguments() -> None:
    line = python(f"import sys; sys.exit('{SECRET}')")
    with pytest.raises(ConfigError) as caught:
        await Values("x", ProviderConfig()).resolve("headers.X-A", f"cmd:{line}")

    assert f"providers.x.headers.X-A is cmd:{shlex.split(line)[0]} …" in caught.value.message
    assert "status 1" in caught.value.message
    assert SECRET not in caught.value.message + (caught.value.hint or "")


@pytest.mark.requirement("6:no-secrets-in-logs")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_the_output_of_a_failing_command_is_neither_logged_nor_reported(
    caplog: pytest.LogCaptureFixture, stream: str
) -> None:
    caplog.set_level(logging.DEBUG)
    line = python(f"import sys; print('no entry for {SECRET}', file=sys.{stream}); sys.exit(3)")
    with pytest.raises(ConfigError, match=r"cmd:.* …, but the command ended with status 3") as caught:
        await Values("x", ProviderConfig().set_environment(environment_of_process())).resolve(
            "api_key", f"cmd:{line}"
        )

    assert "no entry for" not in caplog.text + caught.value.message + str(caught.value.hint)


async def test_the_environment_of_a_child_has_no_known_key() -> None:
    given = {
        "PATH": "/bin",
        "VAULT_TOKEN": "another-secret-of-vault",
        "GROQ_API_KEY": "a-key-of-groq",
        "GH_TOKEN": "a-token",
        "MINE": f" {SECRET}\n",
    }
    own, other = environment_with(given), environment_with(given)
    table = ProviderConfig().set_environment(own)
    resolve("p", "api_key", SECRET, table)

    assert set(command_environment(own)) == {"PATH", "VAULT_TOKEN"}
    assert set(command_environment(other)) == {"PATH", "VAULT_TOKEN", "MINE"}


def test_a_dummy_key_does_not_withhold_variables() -> None:
    environment = environment_with({"USER": "ollama"})
    resolve("p", "api_key", "ollama", ProviderConfig().set_environment(environment))

    assert set(command_environment(environment)) == {"USER"}


async def test_the_variables_of_providers_keys_are_removed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The names do not look like names of keys, but the configuration uses them for keys.
    withheld = {"A_KEY_OF_MINE", "ANOTHER_OF_MINE", "MINE_OF_A_HEADER", "SECRET_OF_A_NAME"}
    withheld |= {"PHRASE_OF_A_CERTIFICATE", "PHRASE_OF_ANOTHER"}
    for name in (*withheld, "NONE_OF_THEM"):
        monkeypatch.setenv(name, f"value-of-{name}")
    (home / "config.toml").write_text(
        '[providers.x]\nkind = "openai"\napi_key = "env:A_KEY_OF_MINE"\n'
        '[providers.y]\nkind = "openai"\napi_key = "ANOTHER_OF_MINE"\n'
        '[providers.z]\nkind = "openai"\n'
        'headers = { api-key = "env:MINE_OF_A_HEADER", X-Team = "env:NONE_OF_THEM" }\n'
        'env = { a = "env:SECRET_OF_A_NAME" }\n'
        '[providers.certified]\nkind = "openai"\n'
        'client_cert = { cert = "~/c.pem", password = "env:PHRASE_OF_A_CERTIFICATE" }\n'
        '[providers.certified-too]\nkind = "openai"\n'
        'client_cert = { cert = "~/c.pem", password = "PHRASE_OF_ANOTHER" }\n',
        "utf-8",
    )
    environment = environment_of_process()
    load_config(None, None, environment=environment)

    passed = command_environment(environment)
    assert {"NONE_OF_THEM", "PATH"} <= set(passed)
    assert not withheld & set(passed)


CHILD = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"
WITH_A_CHILD = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}, sys.argv[1]])
child.wait()
"""


class Watch:
    """A server that a command's child connects to when it starts. The child's end closes the connection."""

    def __init__(self) -> None:
        self._calls: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self.port = ""

    async def __aenter__(self) -> Watch:
        async def on_call(*streams: Any) -> None:
            await self._calls.put(streams)

        self._server = await asyncio.start_server(on_call, "127.0.0.1")
        self.port = str(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        self._server.close()

    async def wait_until_running(self) -> None:
        async with asyncio.timeout(20):
            self._reader, self._writer = await self._calls.get()

    async def wait_until_ended(self) -> None:
        async with asyncio.timeout(20):
            with contextlib.suppress(ConnectionError):
                assert await self._reader.read() == b""

    def is_still_running(self) -> bool:
        return not self._reader.at_eof()

    def end(self) -> None:
        self._writer.write(b"x")


async def test_a_cancelled_command_ends_with_its_children(tmp_path: Path) -> None:
    async with Watch() as watch:
        running = asyncio.create_task(read_output(python(WITH_A_CHILD, watch.port), tmp_path))
        await watch.wait_until_running()

        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert time.monotonic() - began < COMMAND_SECONDS / 2
        await watch.wait_until_ended()


async def test_a_command_that_takes_too_long_ends_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands_module, "COMMAND_SECONDS", 60.0)
    async with Watch() as watch:
        timeouts = []
        timeout = asyncio.timeout

        def delay_timeout(seconds: float | None) -> asyncio.Timeout:
            """Delay the command's timeout until its child runs, even on a busy machine."""
            if seconds == 60.0:
                timeouts.append(timeout(None))
                return timeouts[-1]
            return timeout(seconds)

        monkeypatch.setattr(asyncio, "timeout", delay_timeout)
        running = asyncio.create_task(read_output(python(WITH_A_CHILD, watch.port), tmp_path))
        await watch.wait_until_running()
        timeouts[-1].reschedule(asyncio.get_running_loop().time())
        with pytest.raises(CommandError, match="did not end within 60 s"):
            await running
        await watch.wait_until_ended()


async def test_a_process_that_a_command_leaves_running_is_not_awaited(tmp_path: Path) -> None:
    program = WITH_A_CHILD.replace("child.wait()", "print('agent started')")
    async with Watch() as watch:
        assert await read_output(python(program, watch.port), tmp_path) == "agent started"
        await watch.wait_until_running()
        assert watch.is_still_running()  # Some commands start an agent that must outlive them.
        watch.end()
        await watch.wait_until_ended()


async def test_a_command_runs_without_a_configuration_file(tmp_path: Path) -> None:
    assert await read_output(python("print(1)"), tmp_path / "missing") == "1"
