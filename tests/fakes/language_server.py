"""A scriptable Copilot language server: a real child process whose messages are scripted by the test.

The child (`language_server_relay`) only relays bytes. The test runs the script, but the process, its
environment, its streams and its end are real. `language_server_answers` has the default answers. This module
has its own parser for frames, because the parser of `wire/` would hide mistakes of `wire/`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from jumpseat.wire import RpcError
from tests.fakes import language_server_answers as answers
from tests.fakes.language_server_relay import HEADER, frame

WAIT_SECONDS = 20.0
"""A time limit far longer than any step needs, even on a busy machine."""

RELAY = Path(__file__).with_name("language_server_relay.py")

_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Never:
    """The type of `NEVER`, which stands for no answer."""


NEVER = Never()


@dataclass(eq=False)
class Start:
    """A process that the command has started."""

    pid: int
    argv: list[str]
    """The arguments after those in `FakeLanguageServer.command`."""

    env: Mapping[str, str]
    writer: asyncio.StreamWriter = field(repr=False)
    gone: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    serving: dict[Any, asyncio.Task[None]] = field(default_factory=dict, repr=False)
    """The tasks that answer received messages, by message id."""

    waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict, repr=False)
    """The results of the test's own requests that the client has not answered yet, by message id."""

    conversations: set[str] = field(default_factory=set)
    """The conversations of this process."""

    saw_eof: bool = False
    """Whether the stdin of the process has ended."""

    async def wait_until_ended(self) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            await self.gone.wait()


class FakeLanguageServer:
    """A context manager for the server. Each start of `command` is a separate process."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {"status": "OK", "user": "octocat"}
        """The result of `checkStatus`. Chats and models are refused unless its member `status` is "OK"."""

        self.stubborn = False
        """Whether the next process ignores shutdown, exit, the end of its input and SIGTERM."""

        self.starts: list[Start] = []
        self.grandchildren: list[Start] = []
        self.received: list[dict[str, Any]] = []
        """The messages that all processes received, in order."""

        self._answers: dict[str, list[Any]] = {}
        self._numbers: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    # -- lifecycle

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for start in [*self.starts, *self.grandchildren]:
            if not start.gone.is_set():
                with contextlib.suppress(OSError):
                    os.kill(start.pid, _SIGKILL)
        for writer in self._connections.values():
            writer.close()
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def command(self) -> list[str]:
        """The program and the arguments that start the server."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return [sys.executable, "-I", "-S", str(RELAY), str(port)]

    # -- answers

    def on(self, method: str, *each: Any) -> None:
        """Script the answers to a method, in order. The last one is used for all later messages.

        Args:
            method: the method of a request or a notification. Answers to a notification are not sent; only
                their functions are called.
            each: a result, an `RpcError`, `NEVER`, or a function. The function may be asynchronous. It is
                called with the params, and returns one of the others or raises an `RpcError`.
        """
        self._answers[method] = list(each)

    async def default(self, method: str, params: Any) -> Any:
        """Return the default answer."""
        return await answers.default(self, method, params)

    def number(self, what: str) -> int:
        """Return the next number for ids of this kind."""
        self._numbers[what] = self._numbers.get(what, 0) + 1
        return self._numbers[what]

    # -- received messages

    @property
    def methods(self) -> list[str]:
        """The methods of all received requests and notifications, in order."""
        return [each["method"] for each in self.received if "method" in each]

    def params(self, method: str) -> list[Any]:
        """Return the params of all received messages of this method, in order."""
        return [each.get("params") for each in self.received if each.get("method") == method]

    async def wait_for(self, method: str, count: int = 1) -> Any:
        """Wait for this many messages of a method and return the params of the last one."""
        await self.wait_until(lambda: len(self.params(method)) >= count, f"{method} ({count})")
        return self.params(method)[count - 1]

    async def wait_for_start(self, count: int = 1) -> Start:
        """Wait until this many processes have been started and return the last of them."""
        await self.wait_until(lambda: len(self.starts) >= count, f"start {count}")
        return self.starts[count - 1]

    async def wait_until(self, condition: Callable[[], bool], what: str = "it") -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{what} did not come; received: {self.methods}") from None

    # -- sent messages

    @property
    def current(self) -> Start:
        """The process that was started last."""
        return self.starts[-1]

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def progress(self, token: Any, value: Mapping[str, Any]) -> None:
        """Send a `$/progress` notification."""
        self.notify("$/progress", {"token": token, "value": value})

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request to the client and return its result. Raise its error as `RpcError`."""
        start, number = self.current, self.number("request")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        start.waiting[number] = future
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        async with asyncio.timeout(WAIT_SECONDS):
            return await future

    def send_bytes(self, data: bytes) -> None:
        """Write raw bytes to stdout."""
        self._order("o", data)

    def stderr(self, text: str | bytes) -> None:
        """Write to stderr."""
        self._order("e", text.encode() if isinstance(text, str) else text)

    # -- failures

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        os.kill(self.current.pid, _SIGKILL)

    def exit(self, code: int) -> None:
        """Make the process exit after its earlier writes."""
        self._order("x", str(code).encode())

    def stop_reading(self) -> None:
        """Make the process stop reading stdin. It writes later messages only after it has stopped."""
        self._order("p")

    async def start_grandchild(self) -> Start:
        """Make the process start a child with the same streams."""
        count = len(self.grandchildren)
        self._order("g")
        await self.wait_until(lambda: len(self.grandchildren) > count, "a grandchild")
        return self.grandchildren[-1]

    # -- the wire

    def _send(self, message: Mapping[str, Any], start: Start | None = None) -> None:
        body = json.dumps(message).encode()
        self._order("o", b"Content-Length: %d\r\n\r\n%b" % (len(body), body), start)

    def _order(self, kind: str, payload: bytes = b"", start: Start | None = None) -> None:
        """Send an order of `language_server_relay` to a process, by default the current one."""
        start = start or self.current
        if not start.gone.is_set():
            start.writer.write(frame(kind, payload))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        start: Start | None = None
        try:
            _, hello = await _frame_of(reader)
            greeting = json.loads(hello)
            start = Start(greeting["pid"], greeting["argv"], greeting["env"], writer)
            (self.starts if greeting["role"] == "child" else self.grandchildren).append(start)
            if self.stubborn:
                self._order("t", start=start)
            self._changed.set()
            await self._read(start, reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if start is not None:
                start.gone.set()
                for serving in start.serving.values():
                    serving.cancel()
                await asyncio.gather(*start.serving.values(), return_exceptions=True)
            self._changed.set()
            writer.close()
            del self._connections[task]

    async def _read(self, start: Start, reader: asyncio.StreamReader) -> None:
        rest = b""
        while True:
            kind, payload = await _frame_of(reader)
            if kind == "z":
                start.saw_eof = True
                self._changed.set()
                if not self.stubborn:
                    self._order("x", b"0", start)
            rest += payload
            while b"\r\n\r\n" in rest:
                head, _, tail = rest.partition(b"\r\n\r\n")
                name, _, length = head.decode("ascii").partition(": ")
                assert name == "Content-Length", head
                if len(tail) < int(length):
                    break
                rest = tail[int(length) :]
                self._take(start, json.loads(tail[: int(length)]))

    def _take(self, start: Start, message: dict[str, Any]) -> None:
        self.received.append(message)
        self._changed.set()
        method, message_id = message.get("method"), message.get("id")
        if method is None:
            future = start.waiting.pop(message_id)
            if "error" in message:
                future.set_exception(RpcError(**message["error"]))
            else:
                future.set_result(message["result"])
        elif method == "$/cancelRequest":
            if serving := start.serving.get(message["params"]["id"]):
                serving.cancel()
        else:
            key = message_id if message_id is not None else object()
            task = asyncio.ensure_future(self._answer(start, method, message, key))
            start.serving[key] = task

    async def _answer(self, start: Start, method: str, message: Mapping[str, Any], key: Any) -> None:
        try:
            answer = await self._make_answer(method, message.get("params"))
            if isinstance(answer, RpcError):
                raise answer
            if answer is NEVER:
                await asyncio.Event().wait()
            response = {"result": answer}
        except RpcError as error:
            data = {} if error.data is None else {"data": error.data}
            response = {"error": {"code": error.code, "message": error.message, **data}}
        except asyncio.CancelledError:
            response = {"error": {"code": -32800, "message": "Request was cancelled"}}
        finally:
            start.serving.pop(key, None)
        if "id" in message:
            self._send({"jsonrpc": "2.0", "id": message["id"], **response}, start)

    async def _make_answer(self, method: str, params: Any) -> Any:
        scripted = self._answers.get(method)
        if scripted is None:
            return await self.default(method, params)
        answer = scripted.pop(0) if len(scripted) > 1 else scripted[0]
        if callable(answer):
            answer = answer(params)
            if inspect.isawaitable(answer):
                answer = await answer
        return answer


async def _frame_of(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = await reader.readexactly(HEADER)
    return chr(head[0]), await reader.readexactly(int.from_bytes(head[1:], "big"))
