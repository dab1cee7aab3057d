"""One request to the Copilot language server, with the reports that it sends before it answers.

Bounds silence, and ends every exchange.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.chat import ConnectionError

GRACE_SECONDS = 5.0
"""How long the answer may be behind the last report, or the last report behind the answer."""

_ANSWERED: Mapping[str, Any] = {}
"""Stands in the queue of reports for the answer, by identity."""


class Exchange:
    """`reports` is read once, to its end or not; `answer` is there when it has ended."""

    def __init__(
        self,
        connection: ServerConnection,
        method: str,
        params: Mapping[str, Any],
        *,
        token: str,
        provider: str,
        silence_seconds: float,
        has_ended: Callable[[], bool] | None = None,
    ) -> None:
        """
        Args:
            connection: to the server.
            method: of the request.
            params: of the request, with the token in them.
            token: what the server names its reports by.
            provider: the configured provider's id.
            silence_seconds: how long nothing may come.
            has_ended: whether a report has said that it was the last; None where none does.
        """
        self.answer: Any = None
        self._connection = connection
        self._method = method
        self._params = params
        self._token = token
        self._provider = provider
        self._silence_seconds = silence_seconds
        self._has_ended = has_ended

    async def reports(self) -> AsyncGenerator[Mapping[str, Any]]:
        """The reports, as they come. Closing it takes the request back.

        Raises:
            RpcError: the server refused the request.
            ConnectionError: nothing came for too long.
            ProtocolError: the server died, or broke its framing.
        """
        with self._connection.progress(self._token) as queue:
            asking = asyncio.ensure_future(self._connection.request(self._method, self._params, seconds=None))
            asking.add_done_callback(lambda _: queue.put_nowait(_ANSWERED))
            deadline: float | None = None
            clock = asyncio.get_running_loop().time
            has_ended = self._has_ended or asking.done
            try:
                while not (asking.done() and has_ended() and queue.empty()):
                    if deadline is None and (asking.done() or has_ended()):
                        deadline = clock() + GRACE_SECONDS
                    seconds = self._silence_seconds if deadline is None else deadline - clock()
                    try:
                        async with asyncio.timeout(seconds):
                            report = await queue.get()
                    except TimeoutError:
                        if deadline is None:
                            raise self._silent() from None
                        break
                    if report is _ANSWERED:
                        # Every report that came before the answer has been read by now. Behind the last of
                        # them a failure, even the server's death, takes nothing back of what they said.
                        if self._has_ended is None or not self._has_ended() or asking.exception() is None:
                            self.answer = asking.result()
                    else:
                        yield report
            finally:
                if not asking.done():
                    asking.cancel()
                    await asyncio.wait({asking})
                if not asking.cancelled():
                    asking.exception()

    def _silent(self) -> ConnectionError:
        return ConnectionError(
            f"{self._provider} has sent nothing for {self._silence_seconds:g} seconds.",
            provider=self._provider,
            hint=f"Try again, or allow more silence with providers.{self._provider}.timeout.",
        )
