"""A daemon and the connection to it: start, handshake, requests, shutdown."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias
from urllib.parse import unquote

from jumpseat import __version__
from jumpseat.wire import METHOD_NOT_FOUND, Peer, PeerClosed, RequestId, RpcError
from jumpseat_client.errors import ClientError, DaemonDied, RequestFailed, RequestTimeout, StartFailed
from jumpseat_client.process import DaemonProcess, start_daemon
from jumpseat_client.results import Delta
from jumpseat_client.stream import ChatStream

STOP_GRACE = 2.0
"""Seconds for the daemon to shut down before it is killed."""

OnProgress: TypeAlias = Callable[[str, int | None], None]
OnNotification: TypeAlias = Callable[[str, Any], None]
OnRequest: TypeAlias = Callable[[str, Any], Awaitable[Any]]


class DaemonConnection:
    """A daemon, which `open` starts, and the connection to it."""

    def __init__(self, on_notification: OnNotification | None, on_request: OnRequest | None) -> None:
        self._on_notification = on_notification
        self._on_request = on_request
        self._process: DaemonProcess | None = None
        self._peer = Peer(
            self._send, on_notification=self._handle_notification, on_request=self._answer_request
        )
        self._streams: dict[RequestId, ChatStream] = {}
        self._progress: dict[str, OnProgress] = {}
        self._tokens = itertools.count(1)

    async def open(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        *,
        timeout: float,
        client_name: str,
        capabilities: Mapping[str, Any],
        workspace_folders: Sequence[str],
        options: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        """Start and initialize the daemon, and return its answer to `initialize`.

        Args:
            command: program and arguments.
            env: the daemon's whole environment; None to inherit this process's environment.
            timeout: seconds for the start and `initialize` together.
            client_name: the `clientInfo.name`.
            capabilities: the client's capabilities.
            workspace_folders: the URIs of the client's workspace folders.
            options: the `initializationOptions`.

        Raises:
            StartFailed: the daemon could not be started, or did not answer in time.
            DaemonDied: the daemon ended before it answered.
            RequestFailed: the daemon answered with an error.
        """
        try:
            async with asyncio.timeout(timeout):
                self._process = await start_daemon(command, env, self._peer.feed, self._handle_exit)
                answer = await self._initialize(client_name, capabilities, workspace_folders, options)
        except TimeoutError:
            stderr = "".join(f"\n  {line}" for line in self._process.tail) if self._process else ""
            await self._abandon()
            raise StartFailed(
                f"The daemon did not answer within {timeout:g} seconds of its start."
                + (f" It wrote:{stderr}" if stderr else "")
            ) from None
        except BaseException:
            await self._abandon()
            raise
        return answer

    async def close(self) -> None:
        """Cancel running turns and end the daemon within `STOP_GRACE` seconds, whatever its state."""
        assert self._process is not None  # noqa: S101 - only an open connection is closed
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STOP_GRACE
        for stream in list(self._streams.values()):
            stream.cancel()
        try:
            with suppress(TimeoutError, PeerClosed, RpcError):
                async with asyncio.timeout_at(deadline):
                    await self._peer.request("shutdown")
                self._peer.notify("exit")
        finally:
            await self._process.stop(max(0.0, deadline - loop.time()))
            self._peer.close("The client was closed.")

    async def request(self, method: str, params: Mapping[str, Any] | None, timeout: float | None) -> Any:
        """Send a request; raises the errors of `Client.request`."""
        try:
            async with asyncio.timeout(timeout):
                return await self._peer.request(method, params)
        except TimeoutError:
            raise RequestTimeout(f"The daemon did not answer {method} within {timeout:g} seconds.") from None
        except RpcError as error:
            raise RequestFailed.from_rpc_error(error) from None
        except PeerClosed as error:
            raise self.to_client_error(error) from None

    def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Send a notification; raises the errors of `Client.notify`."""
        try:
            self._peer.notify(method, params)
        except PeerClosed as error:
            raise self.to_client_error(error) from None

    def start_turn(
        self, method: str, chat: ChatStream, params: Mapping[str, Any], on_progress: OnProgress | None
    ) -> tuple[RequestId, asyncio.Future[Any]]:
        """Send a request such as `chat/start`, whose deltas go to `chat`; raises the errors of `notify`."""
        token = None
        if on_progress is not None:
            token = f"progress-{next(self._tokens)}"
            self._progress[token] = on_progress
            params = {**params, "workDoneToken": token}
        try:
            request_id, future = self._peer.start_request(method, params)
        except PeerClosed as error:
            raise self.to_client_error(error) from None
        # Nothing has been awaited since the request was sent, so no delta has arrived yet.
        self._streams[request_id] = chat

        def forget_turn(_: asyncio.Future[Any]) -> None:
            self._streams.pop(request_id, None)
            if token is not None:
                self._progress.pop(token, None)

        future.add_done_callback(forget_turn)
        return request_id, future

    def cancel(self, request_id: RequestId) -> None:
        """Cancel a request; does nothing if it has been answered."""
        self._peer.cancel(request_id)

    def to_client_error(self, error: PeerClosed) -> ClientError:
        """Return the error to raise for a closed connection: `DaemonDied` if the daemon has ended."""
        if self._process is not None and self._process.died is not None:
            return self._process.died
        return ClientError(str(error))

    async def _initialize(
        self,
        client_name: str,
        capabilities: Mapping[str, Any],
        workspace_folders: Sequence[str],
        options: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": client_name, "version": __version__},
                "rootUri": None,
                "workspaceFolders": [
                    {"uri": uri, "name": unquote(uri.rstrip("/").rpartition("/")[2])}
                    for uri in workspace_folders
                ],
                "capabilities": capabilities,
                "initializationOptions": options,
            },
            None,
        )
        self.notify("initialized", {})
        return answer if isinstance(answer, dict) else {}

    async def _abandon(self) -> None:
        if self._process is not None:
            await self._process.stop(0)
        self._peer.close("The client was closed.")

    def _send(self, data: bytes) -> None:
        if self._process is not None:
            self._process.write(data)

    def _handle_exit(self, died: DaemonDied) -> None:
        self._peer.close(str(died))

    def _handle_notification(self, method: str, params: Any) -> None:
        if method == "chat/delta" and isinstance(params, dict):
            stream = self._streams.get(params.get("requestId", ""))
            if stream is not None and isinstance(params.get("delta"), dict):
                delta = Delta(params["delta"], params.get("seq", 0), str(params.get("turnId", "")))
                stream.deliver(delta)
        elif method == "$/progress" and isinstance(params, dict):
            self._report_progress(params)
        elif self._on_notification is not None:
            self._on_notification(method, params)

    def _report_progress(self, params: Mapping[str, Any]) -> None:
        callback, value = self._progress.get(str(params.get("token"))), params.get("value")
        if callback is None or not isinstance(value, dict):
            return
        message, percentage = value.get("message") or value.get("title"), value.get("percentage")
        if message:
            callback(str(message), percentage if isinstance(percentage, int) else None)

    async def _answer_request(self, method: str, params: Any) -> Any:
        if self._on_request is None:
            raise RpcError(METHOD_NOT_FOUND, f"This client does not answer {method}.")
        return await self._on_request(method, params)
