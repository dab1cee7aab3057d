"""Two clients of one daemon: nothing that belongs to one of them reaches the other.

Each has its own environment, proxy, working directory, configuration file, overlay and GitHub token. Each
value holds a canary, and the test looks for the other's canary everywhere.
"""

from __future__ import annotations

import asyncio
import functools
import json
import shlex
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, RecordedRequest, Reply
from tests.daemon import Daemon, user
from tests.emulator import CopilotEmulator
from tests.fakes.network import HOST, Network, running_network
from tests.fakes.tls_front import Authority
from tests.hub import Hub
from tests.processes import descendants

pytestmark = [pytest.mark.requirement("9:own-surroundings"), pytest.mark.usefixtures("no_proxies")]

DUMP = """
import json, os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(json.dumps([os.getcwd(), dict(os.environ)]))
print("printed-" + os.environ["OTHER_VARIABLE"])
"""
"""What `cmd:` runs: shows its working directory and its environment, and prints a variable."""


@dataclass
class User:
    """One client with all that is its own."""

    name: str
    root: Path
    network: Network
    """The same name leads to another provider, with another certificate authority."""

    emulator: CopilotEmulator
    gate: Gate = field(default_factory=Gate)
    """Holds the answers of its provider until the other client has read the first words of its own."""

    seen: list[str] = field(default_factory=list)
    """All that this client got from the daemon."""

    @property
    def canary(self) -> str:
        return f"canary-{self.name}-4711"

    @property
    def directory(self) -> Path:
        return self.root / f"{self.canary}-directory"

    def prepare(self) -> None:
        self.directory.mkdir()
        command = shlex.join([sys.executable, "-c", DUMP, str(self.root / f"{self.name}.json")])
        copilot = self.emulator.provider()
        tables = {
            "same": {
                "kind": "openai",
                "base_url": f"https://{HOST}/${{region}}/v1",
                "ca_file": str(self.network.authority.file),
                "api_key": "env:SECRET",
                "default_model": f"model-{self.canary}",
                "headers": {"x-file": "file:key.txt", "x-command": "cmd:" + command},
                "env": {"region": "env:REGION"},
            },
            "copilot": copilot,
        }
        (self.directory / "conf.toml").write_text(
            "".join(
                f"[providers.{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
                for name, table in tables.items()
            )
        )
        (self.directory / "key.txt").write_text(f"file-{self.canary}")

    @functools.cached_property
    def token(self) -> str:
        return self.emulator.issue_token(self.name)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "SECRET": f"secret-{self.canary}",
            "REGION": f"region-{self.name}",
            "GH_TOKEN": self.token,
            "HTTPS_PROXY": self.network.proxy.url_with(f"me:{self.canary}"),
            "SSL_CERT_FILE": str(self.network.authority.file),
            "OTHER_VARIABLE": f"other-{self.canary}",
            "JUMPSEAT_SOMETHING": self.canary,
            "TMPDIR": str(self.directory),
        }

    @property
    def overlay(self) -> dict[str, Any]:
        return {
            "providers": {
                f"overlay-{self.name}": {
                    "kind": "openai",
                    "base_url": f"https://{HOST}/overlay-region-{self.name}/{self.canary}/v1",
                    "api_key": f"overlay-key-{self.canary}",
                    "default_model": f"overlay-{self.canary}",
                }
            }
        }

    async def use(self, client: Daemon, others_gate: Gate) -> None:
        """Chat with each provider while the other client does the same."""
        self.keep(await client.initialize(self.overlay))
        for model in (f"same:model-{self.canary}", f"overlay-{self.name}:m"):
            request = client.start("chat/start", {"messages": [user("hi")], "model": model})
            await client.read_delta("text_delta")
            others_gate.open()
            exchange = await client.read_until(request)
            self.keep(exchange.notifications, exchange.result)
        for method in ("providers/list", "models/list", "auth/status", "settings/get"):
            exchange = await client.request(method, {})
            self.keep(exchange.notifications, exchange.result)
        status = (await client.request("auth/status", {"provider": "copilot"})).result
        assert (status["login"], status["source"]) == (self.name, "env:GH_TOKEN"), status
        copilot = {"messages": [user("hi")], "model": "copilot:gpt-4.1"}
        self.keep((await client.request("chat/start", copilot)).result)
        missing = {"messages": [user("hi")], "model": "same:" + "wrong"}
        refused = await client.request("chat/start", missing)
        assert refused.error["data"]["provider"] == "same"
        self.keep(refused.response)

    def keep(self, *values: Any) -> None:
        self.seen += [json.dumps(value) for value in values]


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def answer(own: User) -> Callable[[RecordedRequest], Reply]:
    def reply(request: RecordedRequest) -> Reply:
        if "wrong" in request.body.decode():
            return Reply.json({"error": {"message": f"refused: {request.headers['authorization']}"}}, 400)
        first, second, *rest = completion_stream(["Hel", "lo"])
        return Reply.events([first, second, own.gate, *rest])

    return reply


def received(network: Network) -> str:
    """All that the provider of this network got."""
    return "".join(
        f"{request.path}{dict(request.headers)}{request.body.decode()}"
        for request in network.upstream.requests
    )


def shown_by(pid: int) -> str:
    """What the system shows of a process."""
    process = Path("/proc", str(pid))
    files = [(process / name).read_bytes().decode("utf-8", "replace") for name in ("environ", "cmdline")]
    return "".join([*files, str((process / "cwd").readlink())])


def is_of(other: User, text: str) -> bool:
    """Whether the text holds something of this client."""
    return other.canary in text or f"region-{other.name}" in text


async def test_nothing_of_one_client_reaches_another(
    hub: Hub, emulator: CopilotEmulator, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        users: list[User] = []
        for name in "ab":
            network = await stack.enter_async_context(
                running_network(Authority(tmp_path / f"authority-{name}"), auth=f"me:canary-{name}-4711")
            )
            users.append(User(name, tmp_path, network, emulator))
            emulator.add_account(name)
            network.upstream.default(answer(users[-1]))
            network.upstream.default(Reply.json({"data": []}), path=f"/region-{name}/v1/models")
            users[-1].prepare()
        flags = ("--config", "conf.toml", "--log-level", "debug", "--log-file", "log.txt")
        clients = [
            await stack.enter_async_context(hub.client(*flags, env=each.variables, cwd=each.directory))
            for each in users
        ]
        gates = [each.gate for each in users]
        await asyncio.gather(*map(User.use, users, clients, reversed(gates)))

        assert len(hub.processes()) == 1
        visible = hub.log + "".join(map(shown_by, (hub.pid, *descendants(hub.pid))))
        for client in clients:
            client.close_stdin()
            assert await client.exit_code() == 1
        visible += hub.log

    for mine, other in (users, users[::-1]):
        sent, log = received(mine.network), (mine.directory / "log.txt").read_text()
        for own in ("Bearer secret-", "file-", "printed-other-", "overlay-key-"):
            assert f"{own}{mine.canary}" in sent
        directory, variables = json.loads((mine.root / f"{mine.name}.json").read_text())
        assert (directory, variables["OTHER_VARIABLE"]) == (str(mine.directory), f"other-{mine.canary}")
        tunnels = mine.network.proxy.bytes_out.decode("latin-1")
        for text in (*mine.seen, log, sent, json.dumps(variables), tunnels):
            assert not is_of(other, text)
        assert log
        assert f"secret-{mine.canary}" not in log + "".join(mine.seen)
        assert mine.canary not in visible
        assert mine.token not in visible + log + "".join(mine.seen)
