"""One request to the Copilot language server, with the reports that precede the response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from jumpseat.adapters.github.language_server.connection import ServerConnection
from jumpseat.chat import ConnectionError

GRACE_SECONDS = 5.0
"""The time that may pass between the last report and the response. Either of them may come first."""

_ANSWERED: Mapping[str, Any] = {}
"""Marks the response in the queue of reports. It is compared by identity."""


class Exchange:
    """A request and its reports.

    Iterate over `read_reports` once. After that, `answer` is the request's result; None if there is none.
    """

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
            connection: the connection to the server.
            method: the request's method.
            params: the request's params, including the token.
            token: the token of the reports.
            provider: the configured provider's id.
            silence_seconds: the time without a report after which the request fails.
            has_ended: returns whether the last report was received; None if no report is marked as the last.
        """
        self.answer: Any = None
        self._connection = connection
        self._method = method
        self._params = params
        self._token = token
        self._provider = provider
        self._silence_seconds = silence_seconds
        self._has_ended = has_ended

    async def read_reports(self) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield the reports as they arrive. Closing the iterator cancels the request.

        Raises:
            RpcError: the server refused the request.
            ConnectionError: no report arrived for `silence_seconds`.
            ProtocolError: the server ended, or broke its framing.
        """
        with self._connection.progress(self._token) as queue:
            request = asyncio.ensure_future(
                self._connection.request(self._method, self._params, seconds=None)
            )
            request.add_done_callback(lambda _: queue.put_nowait(_ANSWERED))
            deadline: float | None = None
            clock = asyncio.get_running_loop().time
            has_ended = self._has_ended or request.done
            try:
                while not (request.done() and has_ended() and queue.empty()):
                    if deadline is None and (request.done() or has_ended()):
                        deadline = clock() + GRACE_SECONDS
                    seconds = self._silence_seconds if deadline is None else deadline - clock()
                    try:
                        async with asyncio.timeout(seconds):
                            report = await queue.get()
                    except TimeoutError:
                        if deadline is None:
                            raise self._silence_error() from None
                        break
                    if report is _ANSWERED:
                        # All reports that preceded the response were read. If the last report was among them,
                        # the model's answer is complete, and a failure of the request does not matter.
                        if self._has_ended is None or not self._has_ended() or request.exception() is None:
                            self.answer = request.result()
                    else:
                        yield report
            finally:
                if not request.done():
                    request.cancel()
                    await asyncio.wait({request})
                if not request.cancelled():
                    # Retrieve the exception, or asyncio would report it as never retrieved.
                    request.exception()

    def _silence_error(self) -> ConnectionError:
        return ConnectionError(
            f"{self._provider} has not sent anything for {self._silence_seconds:g} seconds.",
            provider=self._provider,
            hint=f"Try again, or set a longer providers.{self._provider}.timeout.",
        )
