"""A client for programs without asyncio, which runs the async client on a background thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from jumpseat.wire import RequestId
from jumpseat_client.client import Client
from jumpseat_client.results import ChatResult, Delta
from jumpseat_client.stream import ChatStream

P = ParamSpec("P")
T = TypeVar("T")

INTERRUPTIBLE_SECONDS = 0.5
"""The longest time before Ctrl-C ends a wait."""


def _make_blocking(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncClient, P], T]:
    """Return a method that runs the async client's method and waits for its result."""

    @wraps(method)
    def wait_for(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(method(self._client, *args, **kwargs))

    return wait_for


def _make_chat(
    method: Callable[Concatenate[Client, P], ChatStream],
) -> Callable[Concatenate[SyncClient, P], SyncChat]:
    """Return a method that wraps the async client's chat in a `SyncChat`."""

    @wraps(method)
    def chat(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> SyncChat:
        return SyncChat(self, method(self._client, *args, **kwargs))

    return chat


def _make_spawn(spawn: Callable[P, Client]) -> Callable[P, SyncClient]:
    @wraps(spawn)
    def spawn_client(*args: P.args, **kwargs: P.kwargs) -> SyncClient:
        return SyncClient(spawn(*args, **kwargs))

    return spawn_client


class SyncClient:
    """A client that has its own daemon or uses the shared one. It is open within a `with` block.

    with SyncClient.spawn() as client:
        for delta in client.chat("Why is the sky blue?"):
            print(delta.text, end="", flush=True)

    It has the methods of `Client`, without `await`. Any thread may call them, except the client's background
    thread. The callbacks passed to `spawn` and `chat` run on that thread, except an `on_approval` that is
    not async, which runs in a worker thread.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop_requested: asyncio.Event | None = None

    spawn = staticmethod(_make_spawn(Client.spawn))

    def __enter__(self) -> Self:
        """Start the daemon; raises the errors of `Client.__aenter__`."""
        loop_started: Future[asyncio.AbstractEventLoop] = Future()
        # With `daemon=False`, a program that ends without leaving the block would hang.
        self._thread = threading.Thread(
            target=asyncio.run,
            args=(self._run_until_stopped(loop_started),),
            name="jumpseat-client",
            daemon=True,
        )
        self._thread.start()
        self._loop = loop_started.result()
        try:
            self.run(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.run(self._client.__aexit__(kind, error, traceback))
        finally:
            self._stop()

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The daemon's `serverInfo`."""
        return self._client.server_info

    @property
    def server_capabilities(self) -> Mapping[str, Any]:
        """`capabilities.experimental.jumpseat` from the daemon's answer to `initialize`."""
        return self._client.server_capabilities

    chat = _make_chat(Client.chat)
    edit = _make_chat(Client.edit)

    request = _make_blocking(Client.request)
    parse_transcript = _make_blocking(Client.parse_transcript)
    check_transcript = _make_blocking(Client.check_transcript)
    render_transcript = _make_blocking(Client.render_transcript)
    complete = _make_blocking(Client.complete)
    count_tokens = _make_blocking(Client.count_tokens)
    list_models = _make_blocking(Client.list_models)
    list_providers = _make_blocking(Client.list_providers)
    diagnose = _make_blocking(Client.diagnose)
    auth_status = _make_blocking(Client.auth_status)
    sign_in = _make_blocking(Client.sign_in)
    sign_out = _make_blocking(Client.sign_out)
    settings_schema = _make_blocking(Client.settings_schema)
    settings = _make_blocking(Client.settings)
    save_settings = _make_blocking(Client.save_settings)
    set_key = _make_blocking(Client.set_key)
    remove_key = _make_blocking(Client.remove_key)
    fetch_context = _make_blocking(Client.fetch_context)
    list_tools = _make_blocking(Client.list_tools)
    restart_mcp_server = _make_blocking(Client.restart_mcp_server)
    trust_mcp_server = _make_blocking(Client.trust_mcp_server)
    list_prompts = _make_blocking(Client.list_prompts)
    get_prompt = _make_blocking(Client.get_prompt)
    list_conversations = _make_blocking(Client.list_conversations)
    get_conversation = _make_blocking(Client.get_conversation)
    fork_conversation = _make_blocking(Client.fork_conversation)
    rename_conversation = _make_blocking(Client.rename_conversation)
    suggest_title = _make_blocking(Client.suggest_title)
    delete_conversation = _make_blocking(Client.delete_conversation)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification; raises the errors of `Client.notify`."""

        async def send() -> None:
            self._client.notify(method, params)

        self.run(send())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the async client on the background thread and return its result."""
        if self._loop is None or threading.current_thread() is self._thread:
            coroutine.close()
            where = "outside its `with` block" if self._loop is None else "in one of its callbacks"
            raise RuntimeError(f"the client is used {where}")
        future: Future[T] = Future()
        try:
            # The future exists before the coroutine is scheduled, so Ctrl-C can cancel it at any time.
            self._loop.call_soon_threadsafe(self._start, coroutine, future)
            # Wait in short intervals. A signal that arrives just before a wait does not interrupt this wait,
            # and on Windows, Ctrl-C does not interrupt any wait.
            while not future.done():
                wait([future], timeout=INTERRUPTIBLE_SECONDS)
            return future.result()
        except BaseException:
            future.cancel()  # After Ctrl-C the request is still running; this also cancels it in the daemon.
            raise

    def _start(self, coroutine: Coroutine[Any, Any, T], future: Future[T]) -> None:
        """Run the coroutine and pass its outcome to the future. Cancelling the future cancels it."""

        def pass_on(task: asyncio.Task[T]) -> None:
            if task.cancelled():
                future.cancel()
            if not future.set_running_or_notify_cancel():
                return
            if error := task.exception():
                future.set_exception(error)
            else:
                future.set_result(task.result())

        task = asyncio.get_running_loop().create_task(coroutine)
        task.add_done_callback(pass_on)
        future.add_done_callback(lambda _: self.call_soon(task.cancel))

    def call_soon(self, call: Any) -> None:
        """Schedule a call on the background thread; does nothing after the block has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):  # The loop may have been closed in the meantime.
                self._loop.call_soon_threadsafe(call)

    async def _run_until_stopped(self, loop_started: Future[asyncio.AbstractEventLoop]) -> None:
        self._stop_requested = asyncio.Event()
        loop_started.set_result(asyncio.get_running_loop())
        await self._stop_requested.wait()

    def _stop(self) -> None:
        assert self._stop_requested is not None and self._thread is not None  # noqa: PT018, S101 - set on entry
        self.call_soon(self._stop_requested.set)
        self._loop = None
        # Wait for `asyncio.run`, which cancels the remaining tasks and waits until they end. One of them may
        # be stopping a daemon.
        self._thread.join()


class SyncChat:
    """A chat. Iterate over it for the deltas, or call `response()` for the result alone.

    Leaving the loop early cancels the turn; `response()` then raises `ChatFailed` of kind "cancelled".
    """

    def __init__(self, client: SyncClient, stream: ChatStream) -> None:
        self._client = client
        self._stream = stream

    @property
    def request_id(self) -> RequestId | None:
        """The request's id; None until the request is sent."""
        return self._stream.request_id

    @property
    def result(self) -> ChatResult | None:
        """The result; None until the chat has ended successfully."""
        return self._stream.result

    def __iter__(self) -> Iterator[Delta]:
        deltas = self._client.run(self._deltas())
        try:
            while (delta := self._client.run(anext(deltas, None))) is not None:
                yield delta
        finally:
            self.cancel()

    def response(self) -> ChatResult:
        """Wait for the chat to end and return the result; raises the errors of `ChatStream.response`."""
        return self._client.run(self._stream.response())

    def cancel(self) -> None:
        """Cancel the turn; does nothing if it has ended or was never started. Any thread may call this."""
        self._client.call_soon(self._stream.cancel)

    async def _deltas(self) -> Any:
        return aiter(self._stream)
