"""One running Copilot language server: requests, notifications, progress.

A request raises `RpcError` for an error response, `ConnectionError` if the server does not answer in time,
and `ProtocolError` if the server has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jumpseat.adapters.github.language_server.words import mask_secrets
from jumpseat.chat import ConnectionError, ProtocolError
from jumpseat.wire import PeerClosed, RpcError
from jumpseat.wire.child import FramedChild

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 0.15
"""The time limit for the response to `shutdown`, which usually takes 40 ms.

The daemon itself has only half a second to end.
"""

STOP_SECONDS = 0.3
"""The time that the process has to end after `shutdown`; then it is killed. It usually takes 0.1 s."""

MAX_LAST_WORDS_CHARACTERS = 600
MAX_LINE_CHARACTERS = 2000


class ServerConnection:
    """The connection to one process of the server. It exists before the handshake."""

    def __init__(
        self, provider: str, child: FramedChild, progress: dict[str | int, asyncio.Queue[Mapping[str, Any]]]
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            child: the process.
            progress: the queues for values of `$/progress`, by token, which `take_progress` fills.
        """
        self.server_version: str | None = None
        """The version that the server reported."""

        self._provider = provider
        self._child = child
        self._progress = progress

    @property
    def running(self) -> bool:
        """Whether requests can be sent."""
        return self._child.running

    @property
    def end(self) -> str | None:
        """How the server ended, and its last output: "it was killed by signal 9. …"; None while it runs."""
        return None if self._child.why is None else f"{self._child.why}.{last_words(self._child)}"

    async def wait_until_ended(self) -> str:
        """Wait for the server to end, and return the reason as a clause: "it was killed by signal 9"."""
        return await self._child.wait_until_ended()

    async def request(self, method: str, params: Any = None, *, seconds: float | None) -> Any:
        """Send a request, and wait for the response. Cancelling the caller cancels the request.

        Args:
            method: the method's name.
            params: any JSON value; None to send no params.
            seconds: the time limit for the response; None if the caller limits the time.

        Raises:
            RpcError: the server answered with an error; the message has no secrets.
            ConnectionError: the server did not answer in time; the request was cancelled.
            ProtocolError: the server ended, or sent something other than a message.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._child.peer.request(method, params)
        except RpcError as error:
            # Remove secrets, because the caller may show and log the message.
            raise RpcError(error.code, mask_secrets(error.message), error.data) from None
        except TimeoutError:
            raise ConnectionError(
                f"The Copilot language server of {self._provider} has not answered {method} "
                f"within {seconds:g} s.",
                provider=self._provider,
            ) from None
        except PeerClosed as closed:
            raise self._ended_error(str(closed)) from None

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification.

        Raises:
            ProtocolError: the server has ended.
        """
        try:
            self._child.peer.notify(method, params)
        except PeerClosed as closed:
            raise self._ended_error(str(closed)) from None

    @contextlib.contextmanager
    def progress(self, token: str | int) -> Iterator[asyncio.Queue[Mapping[str, Any]]]:
        """While the context is open, queue the values of `$/progress` with this token, in order.

        Nothing is queued when the server ends, so a reader must also wait for the response to the request.
        """
        queue = self._progress[token] = asyncio.Queue()
        try:
            yield queue
        finally:
            del self._progress[token]

    async def aclose(self) -> None:
        """End the server with `shutdown` and `exit`; kill it after half a second or on cancellation."""
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await self._child.peer.request("shutdown")
            self._child.peer.notify("exit")
        except (TimeoutError, PeerClosed, RpcError) as error:
            logger.debug("%s did not shut down as asked: %r", self._provider, error)
        except asyncio.CancelledError:
            self._child.kill()
            raise
        await self._child.stop(STOP_SECONDS)

    def _ended_error(self, why: str) -> ProtocolError:
        return ProtocolError(
            f"The Copilot language server of {self._provider} has ended: {why}.",
            provider=self._provider,
            hint=f"The next chat starts it again.{last_words(self._child)}",
        )


def take_progress(queues: Mapping[str | int, asyncio.Queue[Mapping[str, Any]]], params: Any) -> None:
    """Put a value of `$/progress` into the queue of its token; drop the value if there is no such queue."""
    if isinstance(params, Mapping) and isinstance(params.get("value"), Mapping):
        token = params.get("token")
        queue = queues.get(token) if isinstance(token, str | int) else None
        if queue is not None:
            queue.put_nowait(params["value"])


def last_words(child: FramedChild) -> str:
    """Return a sentence with the last lines of stderr, bounded and without secrets; may be empty."""
    words = " / ".join(_format_line(line) for line in child.last_words.splitlines())
    if len(words) > MAX_LAST_WORDS_CHARACTERS:
        words = f"…{words[-MAX_LAST_WORDS_CHARACTERS:]}"
    return f" Its last output: {words}" if words else ""


def log_to(log: logging.Logger, provider: str) -> Callable[[str], None]:
    """Return a function that logs a line of the server's stderr."""

    def write(line: str) -> None:
        if log.isEnabledFor(logging.INFO):
            log.info("%s: %s", provider, _format_line(line))

    return write


def _format_line(line: str) -> str:
    return mask_secrets(line)[:MAX_LINE_CHARACTERS]
