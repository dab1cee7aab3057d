"""Commands and Python clients share the user's daemon."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from jumpseat_client import ChatFailed, Client, DaemonDied, SyncClient
from tests.daemon import provider
from tests.hub import Hub

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def config(home: Path, upstream: FakeUpstream) -> str:
    """Write a configuration file with a provider that answers "hello", and return its text."""
    upstream.default(Reply.events(completion_stream(["hello"])))
    text = (
        f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        'default_model = "m"\napi_key = "env:TEST_KEY"\n'
    )
    (home / "config.toml").write_text(text)
    return text


async def ask(hub: Hub, *flags: str, key: str = "key-of-one-client", **more: str) -> tuple[int, str]:
    return await hub.command("chat", *flags, "Hi", env={"TEST_KEY": key, **more})


@pytest.mark.requirement("9:commands")
async def test_commands_share_the_daemon_and_keep_their_environments(
    hub: Hub, config: str, upstream: FakeUpstream, tmp_path: Path
) -> None:
    assert await ask(hub, key="key-of-the-first") == (0, "hello\n")
    pid = hub.pid
    assert await ask(hub, key="key-of-the-second") == (0, "hello\n")
    other = tmp_path / "other.toml"
    other.write_text(config.replace('"m"', '"another-model"'))
    assert await ask(hub, "--config", str(other)) == (0, "hello\n")

    assert hub.processes() == {pid}
    keys = [request.headers["authorization"] for request in upstream.requests]
    assert keys[:2] == ["Bearer key-of-the-first", "Bearer key-of-the-second"]
    assert [request.json["model"] for request in upstream.requests] == ["m", "m", "another-model"]


@pytest.mark.requirement("9:commands")
@pytest.mark.slow
@pytest.mark.usefixtures("config")
async def test_a_command_with_its_own_daemon_does_not_start_the_shared_daemon(hub: Hub) -> None:
    assert await ask(hub, "--own") == (0, "hello\n")
    # A group of commands refuses the option before it starts a daemon.
    code, output = await hub.command("settings", "--own", "get", "max_tokens")
    assert (code, output.splitlines()[-1]) == (2, "Error: Put the options after 'get'.")
    assert hub.processes() == set()


@pytest.mark.requirement("9:commands")
@pytest.mark.slow
@pytest.mark.usefixtures("config")
async def test_files_in_the_working_directory_do_not_replace_modules(hub: Hub, tmp_path: Path) -> None:
    for name in ("socket", "jumpseat", "platformdirs"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the project was imported')\n")
    done = await asyncio.to_thread(
        run_installed_command, tmp_path, {"TEST_KEY": "a-key-of-the-test", "HOME": str(hub.home)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    assert len(hub.processes()) == 1


def run_installed_command(directory: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("jumpseat"), "chat", "Hi"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=directory,
        env={**os.environ, **variables},
        timeout=30,
        check=False,
    )


@pytest.mark.requirement("9:commands")
@pytest.mark.usefixtures("config")
async def test_the_next_command_after_a_killed_daemon_starts_a_new_daemon(
    hub: Hub, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]))
    asking = asyncio.create_task(ask(hub))
    await upstream.wait_for_request()
    await hub.kill()

    code, output = await asking
    assert code == 1
    assert "jumpseat: The daemon ended with code 1.\nhint: Try again; this starts a new daemon.\n" in output
    assert await ask(hub) == (0, "hello\n")


@pytest.mark.requirement("9:commands", "9:idle")
async def test_the_daemon_of_a_command_ends_with_it_if_no_idle_time_is_allowed(hub: Hub, config: str) -> None:
    (hub.home / "config.toml").write_text(config + "[daemon]\nidle_minutes = 0\n")
    assert await ask(hub) == (0, "hello\n")
    await hub.wait_until_ended()
    assert "the daemon ends" in hub.log


@pytest.mark.requirement("9:python-client")
async def test_a_client_can_restart_the_shared_daemon_after_it_has_ended(
    hub: Hub, upstream: FakeUpstream
) -> None:
    upstream.script(Reply.events([*completion_stream(["partial"])[:2], Gate()]))
    client = Client.spawn(shared=True, config=provider(upstream.base_url))
    async with client:
        first = hub.pid
        chat = client.chat("Hi")
        deltas = aiter(chat)
        while not (await anext(deltas)).text:
            pass
        assert await hub.command("daemon", "stop") == (0, "")

        with pytest.raises(ChatFailed) as failed:
            await chat.response()
        assert (failed.value.kind, (failed.value.partial or {})["text"]) == ("cancelled", "partial")
        with pytest.raises(DaemonDied) as died:
            await client.request("providers/list")
        assert died.value.return_code == 1
        assert died.value.hint
    upstream.script(Reply.events(completion_stream(["hello"])))
    async with client:
        assert (await client.chat("Hi").response()).text == "hello"
        assert hub.pid != first


@pytest.mark.requirement("9:python-client")
def test_the_synchronous_client_shares_the_daemon_and_can_restart_it(home: Path) -> None:
    client = SyncClient.spawn(shared=True)
    for _ in range(2):
        with client, SyncClient.spawn(shared=True, client_name="other"):
            assert len(Hub(home).processes()) == 1
            assert client.request("providers/list")["providers"]


def test_the_arguments_shared_and_command_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="attach"):
        Client.spawn(["jumpseat", "serve"], shared=True)
