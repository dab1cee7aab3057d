"""`python -m tests.tools.paths`: how many functions the main paths through the daemon call.

The daemon, its client and a scripted provider run in one process. Every function of jumpseat counts that is
called at least once, on any thread, and that a person has named: comprehensions, lambdas, methods that
`dataclass` generates and test doubles do not count. A move is a call from a function of one module to a
function of another; each such pair of functions counts once. The figures do not depend on the machine.

- A warm turn: the third turn of a conversation with Anthropic, from the first byte of `chat/start` to the
  request at the provider.
- A delta: one text delta, from the chunk of the provider to the frame at the client.
- A cold Copilot token: from an editor's sign-in file to the credential, with the exchange.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from jumpseat.connections.imports import import_daemon

import_daemon("jumpseat.rpc.contract")  # It must run before the other imports, so that pygls comes lean.

from jumpseat.adapters.github.copilot.adapter import CopilotAdapter
from jumpseat.config import ProviderConfig, TableOrigin
from jumpseat.connections.serving import Descriptors, SessionOptions, serve_connection
from jumpseat.http import HttpClient
from jumpseat.rpc.contract import CONTRACT
from jumpseat.testing.answers.anthropic_messages import Words, message_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply
from tests.daemon import frame
from tests.emulator import CopilotEmulator
from tests.environments import environment_with

WAIT_SECONDS = 20.0
TURNS = 3


class CalledPath:
    """The functions that were called on one path through the daemon, and the calls between modules."""

    def __init__(self) -> None:
        self.functions: set[Function] = set()
        self.moves: set[tuple[Function, Function]] = set()

    def __str__(self) -> str:
        modules = {function.module for function in self.functions}
        return f"{len(self.functions)} functions in {len(modules)} modules, {len(self.moves)} moves"

    def by_module(self) -> str:
        """A line for each module, with its functions."""
        names: dict[str, list[str]] = {}
        for function in sorted(self.functions):
            names.setdefault(function.module, []).append(function.name)
        return "\n".join(f"  {len(each):3}  {module}: {', '.join(each)}" for module, each in names.items())


class Recorder:
    """Records the functions that are called, while there is a path to record them for."""

    def __init__(self) -> None:
        self._path: CalledPath | None = None

    def install(self) -> None:
        """Watch this thread, and all that are started from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def start(self) -> CalledPath:
        """Record a new path."""
        self._path = CalledPath()
        return self._path

    def stop(self) -> None:
        """Record nothing."""
        self._path = None

    def _note(self, called: FrameType, event: str, _: object) -> None:
        path = self._path
        if path is None or event != "call" or (function := _function(called)) is None:
            return
        path.functions.add(function)
        caller = None if called.f_back is None else _function(called.f_back)
        if caller is not None and caller.module != function.module:
            path.moves.add((caller, function))


class Function(NamedTuple):
    """A function of jumpseat."""

    module: str
    name: str


def _function(of: FrameType) -> Function | None:
    module = of.f_globals.get("__name__", "")
    package, _, rest = module.partition(".")
    name = of.f_code.co_qualname
    if package != "jumpseat" or rest.startswith("testing"):
        return None
    if of.f_code.co_name.startswith("<") or name.startswith("__create_fn__"):
        return None
    return Function(module, name)


class Daemon:
    """A session of the daemon in this process, and the descriptors of its client."""

    def __init__(self, reader: asyncio.StreamReader, stdin: int) -> None:
        self._reader = reader
        self._stdin = stdin
        self._next_id = 0

    def send(self, method: str, params: Any) -> int:
        """Write a request in one piece, and return its id."""
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        os.write(self._stdin, frame(message))
        return self._next_id

    async def read(self) -> Any:
        """The next message."""
        async with asyncio.timeout(WAIT_SECONDS):
            head = await self._reader.readuntil(b"\r\n\r\n")
            return json.loads(await self._reader.readexactly(int(head.decode().strip().partition(": ")[2])))

    async def response(self, request_id: int) -> Any:
        """The result of a request."""
        while (message := await self.read()).get("id") != request_id:
            pass
        return message["result"]

    async def delta(self, kind: str) -> None:
        """Read up to the next delta of this type."""
        while (await self.read())["params"]["delta"]["type"] != kind:
            pass


@contextlib.asynccontextmanager
async def running_daemon(home: Path, config: Mapping[str, Any]) -> AsyncIterator[Daemon]:
    """A session with this configuration, past its handshake."""
    stdin, to_daemon = os.pipe()
    from_daemon, stdout = os.pipe()
    reader = asyncio.StreamReader(limit=1 << 24)
    with os.fdopen(from_daemon, "rb", 0) as pipe:
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
        serving = asyncio.create_task(
            serve_connection(
                CONTRACT,
                Descriptors(stdin, stdout, None),
                environment_with(home=home),
                SessionOptions(),
                stop=asyncio.Event(),
            )
        )
        try:
            daemon = Daemon(reader, to_daemon)
            await daemon.response(daemon.send("initialize", {"initializationOptions": {"config": config}}))
            yield daemon
        finally:
            os.close(to_daemon)
            await serving
            transport.close()


async def record_turn_and_delta(recorder: Recorder, home: Path) -> tuple[CalledPath, CalledPath]:
    """The paths of the third turn of a conversation, and of one of its deltas."""
    gate, end = Gate(), Gate()
    async with FakeUpstream() as upstream:
        config = {
            "providers": {"claude": {"kind": "anthropic", "base_url": upstream.origin, "api_key": "a key"}},
            "default_model": "claude:claude-sonnet",
        }
        async with running_daemon(home, config) as daemon:
            messages: list[dict[str, Any]] = []
            for number in range(TURNS - 1):
                upstream.script(Reply.events(message_stream(Words(["Because", " of scattering."]))))
                messages.append({"role": "user", "content": f"Question {number}"})
                result = await daemon.response(daemon.send("chat/start", {"messages": messages}))
                messages.append({"role": "assistant", "content": result["content"]})
            # Start of the message, ping, start of the block, two deltas, and four more events.
            events = message_stream(Words(["Because", " of scattering."]))

            def answer(_: RecordedRequest) -> Reply:
                recorder.stop()
                return Reply.events([*events[:4], gate, events[4], end, *events[5:]])

            upstream.script(answer)
            messages.append({"role": "user", "content": "And why is that?"})
            turn = recorder.start()
            request_id = daemon.send("chat/start", {"messages": messages})
            await daemon.delta("text_delta")
            delta = recorder.start()
            gate.open()
            await daemon.delta("text_delta")
            recorder.stop()
            end.open()
            await daemon.response(request_id)
    return turn, delta


async def record_cold_token(recorder: Recorder, home: Path) -> CalledPath:
    """The path to an account's first credential."""
    async with CopilotEmulator() as emulator:
        emulator.add_account()
        directory = home / "config" / "github-copilot"
        directory.mkdir(parents=True)
        entry = {"user": "octocat", "oauth_token": emulator.issue_token(), "githubAppId": "Iv1.x"}
        (directory / "apps.json").write_text(json.dumps({"github.com:Iv1.x": entry}), "utf-8")
        config = ProviderConfig(**emulator.provider())
        variables = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
        config.origin = TableOrigin(environment=environment_with(variables, directory=home, home=home))
        http = HttpClient(shared=config.origin.environment.shared).for_provider("copilot", config)
        adapter = CopilotAdapter("copilot", config, http)
        try:
            token = recorder.start()
            bearer, _ = await adapter.account.get_bearer()
            recorder.stop()
            assert bearer.exchanged is not None
        finally:
            await adapter.aclose()
            await http.aclose()
            await config.origin.environment.shared.aclose()
    return token


async def record(*, names: bool) -> None:
    """Record all paths and print them."""
    recorder = Recorder()
    recorder.install()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        turn, delta = await record_turn_and_delta(recorder, Path(first))
        token = await record_cold_token(recorder, Path(second))
    for name, path in (("a warm turn", turn), ("a delta", delta), ("a cold Copilot token", token)):
        print(f"{name}: {path}")
        if names:
            print(path.by_module())


def main(argv: Sequence[str] | None = None) -> None:
    """Record and print."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.paths", description="Count the functions that the main paths call."
    )
    parser.add_argument("--names", action="store_true", help="print the functions of each module too")
    asyncio.run(record(names=parser.parse_args(argv).names))


if __name__ == "__main__":
    main()
