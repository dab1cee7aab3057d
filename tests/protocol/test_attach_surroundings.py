"""Clients of one daemon have their own environments, and no client sees another client's values."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, user
from tests.hub import Hub

pytestmark = pytest.mark.requirement("9:own-surroundings")

TABLE = """\
default_provider = "mine"

[providers.mine]
kind = "openai"
base_url = "{url}"
api_key = "env:CANARY_KEY"
default_model = "m"
headers = {{ "X-Name" = "{name}" }}
"""


def variables_of(pid: int) -> str:
    """Return the environment with which a process was started; empty without /proc."""
    file = Path(f"/proc/{pid}/environ")
    return file.read_text("utf-8", "replace") if file.exists() else ""


async def ask(client: Daemon) -> None:
    """Initialize the client, and run a chat. Fail if the answer is not "hello"."""
    await client.initialize()
    exchange = await client.request("chat/start", {"messages": [user("hi")]})
    assert exchange.result["text"] == "hello"


async def test_two_clients_have_their_own_variables_and_files(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.default(Reply.events(completion_stream(["hello"])))
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(TABLE.format(url=upstream.base_url, name=name))
    monkeypatch.chdir(tmp_path)
    one = {"CANARY_KEY": "canary-one", "JUMPSEAT_CONFIG": str(tmp_path / "one.toml")}
    two = {"CANARY_KEY": "canary-two"}
    async with (
        hub.client("--log-level", "debug", env=one) as first,
        hub.client("--config", "two.toml", "--log-level", "debug", env=two) as second,
        hub.client() as third,
    ):
        await asyncio.gather(ask(first), ask(second))
        await third.initialize()
        providers = (await third.request("providers/list")).result["providers"]
        assert "mine" not in {each["id"] for each in providers}
        seen = {(each.headers["x-name"], each.headers["authorization"]) for each in upstream.requests}
        assert seen == {("one", "Bearer canary-one"), ("two", "Bearer canary-two")}
        assert "canary" not in variables_of(hub.pid)
        assert hub.processes() == {hub.pid}
        logs = [await client.whole_log() for client in (first, second, third)]

    assert "canary" not in hub.log + "".join(logs)
    # Each client has its own log on its own stderr, with its own level.
    assert "chat/start" in logs[0]
    assert "chat/start" in logs[1]
    assert logs[2] == ""


async def test_a_variable_that_is_not_utf8_is_passed_unchanged(hub: Hub, upstream: FakeUpstream) -> None:
    table = TABLE.format(url=upstream.base_url, name="x")
    command = "cmd:sh -c 'printf %s $K | od -tx1 -An'"
    (hub.home / "config.toml").write_text(table.replace("env:CANARY_KEY", command))
    upstream.default(Reply.events(completion_stream(["hello"])))
    async with hub.client(env={"K": os.fsdecode(b"\xff\xfe")}) as client:
        await ask(client)
        assert len(hub.processes()) == 1
    assert upstream.requests[0].headers["authorization"] == "Bearer ff fe"


async def test_a_command_has_the_umask_of_its_client(hub: Hub, upstream: FakeUpstream) -> None:
    command = f"cmd:sh -c 'touch {hub.home}/$K && umask'"
    table = TABLE.format(url=upstream.base_url, name="x").replace("env:CANARY_KEY", command)
    (hub.home / "config.toml").write_text(table)
    upstream.default(Reply.events(completion_stream(["hello"])))
    for umask in (0o022, 0o007):
        before = os.umask(umask)
        try:
            async with hub.client(env={"K": f"{umask:o}"}) as client:
                os.umask(before)
                await ask(client)
        finally:
            os.umask(before)
        assert (hub.home / f"{umask:o}").stat().st_mode & 0o777 == 0o666 & ~umask
