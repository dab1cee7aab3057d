"""One running Copilot language server: requests, notifications, progress.

An error response is an `RpcError`, a silent server a `ConnectionError`, a server that ended a
`ProtocolError`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jumpseat.adapters.github.language_server.words import without_secrets
from jumpseat.chat import ConnectionError, ProtocolError
from jumpseat.wire import PeerClosed, RpcError
from jumpseat.wire.child import FramedChild

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 0.15
"""How long the answer to `shutdown` may take; it takes some 40 ms. The daemon itself has half a second."""

STOP_SECONDS = 0.3
"""How long it may take from then to its end before it is killed; it takes some 0.1 s."""

MAX_WORDS_CHARACTERS = 600
MAX_LINE_CHARACTERS = 2000


class ServerConnection:
    """A server that has been initialized, or is about to be."""

    def __init__(
        self, provider: str, child: FramedChild, progress: dict[str | int, asyncio.Queue[Mapping[str, Any]]]
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            child: the process.
            progress: where its reports go, by token; shared with the receiver.
        """
        self.server_version: str | None = None
        """As the server reported it."""

        self._provider = provider
        self._child = child
        self._progress = progress

    @property
    def running(self) -> bool:
        """Whether it can still be spoken to."""
        return self._child.running

    @property
    def end(self) -> str | None:
        """What has ended it, as sentences that go on after "The last time"; None while it runs."""
        return None if self._child.why is None else f"{self._child.why}.{words_of(self._child)}"

    async def ended(self) -> str:
        """Wait for its end; gives what has ended it, as a clause: "it was killed by signal 9"."""
        return await self._child.ended()

    async def request(self, method: str, params: Any = None, *, seconds: float | None) -> Any:
        """Ask it, and wait for the answer. A cancelled caller takes the request back.

        Args:
            method: of the request.
            params: any JSON value; None for none.
            seconds: how long the answer may take; None where the caller bounds it.

        Raises:
            RpcError: it answered with an error; its message has no secrets.
            ConnectionError: it did not answer in time; the request was taken back.
            ProtocolError: it died, or what it sent was no message.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._child.peer.request(method, params)
        except RpcError as error:
            # The caller may show it to a person, and log it.
            raise RpcError(error.code, without_secrets(error.message), error.data) from None
        except TimeoutError:
            raise ConnectionError(
                f"The Copilot language server of {self._provider} has not answered {method} "
                f"within {seconds:g} s.",
                provider=self._provider,
            ) from None
        except PeerClosed as closed:
            raise self._gone(str(closed)) from None

    def notify(self, method: str, params: Any = None) -> None:
        """Tell it something.

        Raises:
            ProtocolError: it is gone.
        """
        try:
            self._child.peer.notify(method, params)
        except PeerClosed as closed:
            raise self._gone(str(closed)) from None

    @contextlib.contextmanager
    def progress(self, token: str | int) -> Iterator[asyncio.Queue[Mapping[str, Any]]]:
        """The values of `$/progress` with this token, in their order, from now on.

        The queue does not report the server's end: a reader also waits for the answer to its request.
        """
        queue = self._progress[token] = asyncio.Queue()
        try:
            yield queue
        finally:
            del self._progress[token]

    async def aclose(self) -> None:
        """End it as its protocol has it, within half a second, and by force where it does not want to.

        A caller that is cancelled meanwhile kills it at once.
        """
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

    def _gone(self, why: str) -> ProtocolError:
        return ProtocolError(
            f"The Copilot language server of {self._provider} is gone: {why}.",
            provider=self._provider,
            hint=f"The next chat starts it again.{words_of(self._child)}",
        )


def take_progress(queues: Mapping[str | int, asyncio.Queue[Mapping[str, Any]]], params: Any) -> None:
    """Put a `$/progress` into the queue of its token; drop it where there is none."""
    if isinstance(params, Mapping) and isinstance(params.get("value"), Mapping):
        token = params.get("token")
        queue = queues.get(token) if isinstance(token, str | int) else None
        if queue is not None:
            queue.put_nowait(params["value"])


def words_of(child: FramedChild) -> str:
    """What it wrote last to its stderr, bounded and without secrets, for behind a sentence; may be empty."""
    words = " / ".join(_shown_of(line) for line in child.last_words.splitlines())
    if len(words) > MAX_WORDS_CHARACTERS:
        words = f"…{words[-MAX_WORDS_CHARACTERS:]}"
    return f" Its last words: {words}" if words else ""


def log_to(log: logging.Logger, provider: str) -> Callable[[str], None]:
    """Where the lines of its stderr go."""

    def tell(line: str) -> None:
        if log.isEnabledFor(logging.INFO):
            log.info("%s: %s", provider, _shown_of(line))

    return tell


def _shown_of(line: str) -> str:
    return without_secrets(line)[:MAX_LINE_CHARACTERS]
