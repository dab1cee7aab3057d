"""Finds GitHub's own Copilot language server, and runs it in tests without access to the network.

The emulator stands in for GitHub. The program reaches it over plain HTTP through its own environment
variables, or over TLS and a proxy as in a company network. A proxy on loopback receives the telemetry
and refuses it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from jumpseat.testing.upstream import Gate
from tests.daemon import SERVE, Daemon, running_daemon
from tests.emulator import CopilotEmulator, faults
from tests.fakes.loopback_proxy import LoopbackProxy
from tests.fakes.tls_front import Authority, TlsFront

PROGRAM = "copilot-language-server"
INSTALLED = Path(__file__).parents[1] / "emulator" / "node_modules" / "@github" / f"{PROGRAM}-linux-x64"
TEE = Path(__file__).parents[1] / "fakes" / "tee.py"

WAIT_SECONDS = 60.0
"""The time limit for a cold start of the 150 MB program on a busy machine."""

Launch = Literal["direct", "npm", "tee"]
"""How the daemon starts the program: directly, through a parent process as npm does, or through `tee.py`."""

PROVIDER = "ls"
"""The id of the provider that uses the program."""

MODEL = "claude-sonnet-4.6"
"""A model whose deltas the program forwards one by one."""

MESSAGES = "/v1/messages"
"""The path of requests for this model."""

ENTERPRISE = "ghe.test"
"""A GitHub host that only the proxy resolves."""

# npm's entry point does the same if Node.js is too old: it starts the program, which inherits the streams
# of the entry point, and waits until the program ends.
_AS_NPM = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"

_FOREIGN = ("GH_", "GITHUB_", "COPILOT_", "CODESPACES", "HTTP_", "HTTPS_", "NO_PROXY", "ALL_PROXY", "NODE_")


def program() -> str:
    """Return the path of the program, or skip the test if it is not installed."""
    installed = INSTALLED / PROGRAM
    found = str(installed) if installed.is_file() else shutil.which(PROGRAM)
    if found is None:
        pytest.skip("the Copilot language server is not installed: run `npm ci --prefix tests/emulator`")
    return found


def environment(home: Path, proxy: str, emulator: CopilotEmulator | None = None) -> dict[str, str]:
    """Return the environment variables that isolate the program from the test machine.

    Args:
        home: the directory for the program's files.
        proxy: the URL of the proxy that receives telemetry.
        emulator: the emulated GitHub to sign in to as octocat; None for a program that is signed out.
    """
    cleared = {name: "" for name in os.environ if name.upper().startswith(_FOREIGN)}
    own = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "HTTPS_PROXY": proxy,
        # With encryption, the program would use the developer's keyring.
        "GITHUB_COPILOT_AUTH_TOKEN_ENCRYPTION": "false",
    }
    if emulator is None:
        return cleared | own
    signed_in = {
        "GH_COPILOT_TOKEN": emulator.issue_token("octocat"),
        "GH_COPILOT_USER": "octocat",
        "GH_COPILOT_API_URL": emulator.api_url,
        "GH_COPILOT_SERVER_URL": emulator.github_url,
    }
    return cleared | own | signed_in


@dataclass(frozen=True)
class Harness:
    """A daemon whose provider is the program, and the program's proxy."""

    daemon: Daemon
    proxy: LoopbackProxy
    copy: Path
    """The file with the bytes sent to the program, if `launch` is "tee"."""

    def read_messages(self) -> list[dict[str, Any]]:
        """Return the messages sent to the program so far, in order. `launch` must be "tee"."""
        data, messages = self.copy.read_bytes(), []
        while data:
            head, _, data = data.partition(b"\r\n\r\n")
            length = int(head.rpartition(b" ")[2])
            messages.append(json.loads(data[:length]))
            data = data[length:]
        return messages

    async def ask(self, text: str, **params: Any) -> Any:
        """Run a chat and return its result. `messages` in `params` is the history before the text."""
        exchange = await self.daemon.request("chat/start", chat_params(text, **params))
        return exchange.result


def chat_params(text: str, *, model: str = MODEL, **params: Any) -> dict[str, Any]:
    """Return the params of a chat. `messages` in `params` is the history before the text."""
    messages = [*params.pop("messages", ()), {"role": "user", "content": text}]
    return {"model": f"{PROVIDER}:{model}", "messages": messages, **params}


async def begin_chat(harness: Harness, emulator: CopilotEmulator, gate: Gate, **params: Any) -> int:
    """Start a chat whose answer pauses after its first words; return the request id when they arrive."""
    emulator.script(MODEL, faults.hold(gate, after=8))
    request = harness.daemon.start("chat/start", chat_params("Count to 30", model=MODEL, **params))
    await harness.daemon.read_delta("text_delta")
    return request


def find_echo(result: Any) -> str:
    """Return the user's text from the echoed prompt; the language server adds its own text around it."""
    found = re.search(r"<userRequest>\n(.*)\n</userRequest>", result["text"], re.DOTALL)
    assert found is not None, result
    return found[1]


def delta_text(exchange: Any) -> str:
    """Join the text deltas."""
    return "".join(delta["text"] for delta in exchange.deltas if delta["type"] == "text_delta")


@contextlib.asynccontextmanager
async def running_harness(
    home: Path, emulator: CopilotEmulator | None, *flags: str, launch: Launch = "direct", **table: Any
) -> AsyncIterator[Harness]:
    """Run an initialized daemon with the program as its only provider, `ls`.

    Args:
        home: the home directory of the daemon and the program.
        emulator: the emulated GitHub to which environment variables sign the program in; None for no sign-in.
        flags: the daemon's command-line flags.
        launch: how the daemon starts the program.
        table: additional keys for the provider's table.
    """
    async with LoopbackProxy() as proxy:
        env = environment(home, proxy.url, emulator)
        async with _daemon(home, env, flags, proxy, launch, table) as harness:
            yield harness


@contextlib.asynccontextmanager
async def enterprise_harness(
    home: Path, emulator: CopilotEmulator, authority: Authority, *flags: str
) -> AsyncIterator[Harness]:
    """Run a signed-out daemon with an emulated GitHub Enterprise Server behind TLS and a proxy."""
    context = authority.server(ENTERPRISE, f"*.{ENTERPRISE}")
    async with contextlib.AsyncExitStack() as stack:
        github = await stack.enter_async_context(TlsFront(context, emulator.github_url))
        api = await stack.enter_async_context(TlsFront(context, emulator.api_url))
        hosts = {ENTERPRISE: github.port, f"api.{ENTERPRISE}": api.port}
        proxy = await stack.enter_async_context(LoopbackProxy(hosts))
        # The daemon accepts only a sign-in page on the configured host.
        emulator.state.origins["github"] = f"https://{ENTERPRISE}"
        table = {"host": ENTERPRISE, "proxy": proxy.url, "ca_file": str(authority.file)}
        env = environment(home, proxy.url)
        yield await stack.enter_async_context(_daemon(home, env, flags, proxy, "direct", table))


@contextlib.asynccontextmanager
async def _daemon(
    home: Path,
    env: dict[str, str],
    flags: tuple[str, ...],
    proxy: LoopbackProxy,
    launch: Launch,
    table: dict[str, Any],
) -> AsyncIterator[Harness]:
    copy = home / "received"
    parents = {
        "direct": [],
        "npm": [sys.executable, "-I", "-S", "-c", _AS_NPM],
        "tee": [sys.executable, "-I", "-S", str(TEE), str(copy)],
    }
    rows = {"kind": "copilot-language-server", "command": [*parents[launch], program()], **table}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in rows.items())
    (home / "config.toml").write_text(f"[providers.{PROVIDER}]\n{text}", "utf-8")
    async with running_daemon(home, *flags, command=SERVE, env=env, wait_seconds=WAIT_SECONDS) as daemon:
        await daemon.initialize()
        yield Harness(daemon, proxy, copy)
