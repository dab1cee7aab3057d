"""Requests from the daemon to its client, and their responses."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from jumpseat.connections.outbox import Outbox
from jumpseat.wire import RequestId, RpcResponse

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 60.0
"""The time limit for a response; long, because the editor may ask its user first."""


class ClientRequests:
    """Sends requests to one client, and passes each response to the request that awaits it."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._numbers = itertools.count(1)
        self._pending: dict[RequestId, asyncio.Future[RpcResponse]] = {}

    async def send(
        self, method: str, params: Mapping[str, Any], timeout: float | None = ANSWER_SECONDS
    ) -> Any:
        """Send a request and return its result, or None if the client refuses or does not answer in time."""
        try:
            response = await self.exchange(method, params, timeout)
        except TimeoutError:
            return None
        return response.result if response.error is None else None

    async def exchange(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: float | None,
        on_cancel: Callable[[RequestId], None] = lambda request_id: None,
    ) -> RpcResponse:
        """Send a request and return its response.

        Args:
            timeout: the time limit in seconds; None for no limit.
            on_cancel: called with the id of the request if the wait is cancelled.

        Raises:
            TimeoutError: the client did not answer in time.
        """
        # In logs, the prefix distinguishes these ids from the ids of the client's own requests.
        request_id = f"jumpseat-{next(self._numbers)}"
        answer = self._pending[request_id] = asyncio.get_running_loop().create_future()
        self._outbox.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout):
                response: RpcResponse = await answer
        except TimeoutError:
            logger.warning("the client did not answer %s", method)
            raise
        except asyncio.CancelledError:
            on_cancel(request_id)
            raise
        finally:
            del self._pending[request_id]
        if response.error is not None:
            logger.info("the client refused %s: %s", method, response.error.get("message"))
        return response

    def resolve(self, response: RpcResponse) -> bool:
        """Pass a response to the request that awaits it. Return False if no request does."""
        answer = self._pending.get(response.id) if response.id is not None else None
        if answer is None or answer.done():
            return False
        answer.set_result(response)
        return True
