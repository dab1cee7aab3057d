"""What the daemon asks of its client: requests the other way round, and their answers."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Mapping
from typing import Any

from jumpseat.rpc.outbox import Outbox
from jumpseat.wire import RequestId, RpcResponse

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 60.0
"""How long a client may take; a person may have to answer a question of the editor's first."""


class ClientRequests:
    """The requests of one connection that its client has not answered yet."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._numbers = itertools.count(1)
        self._pending: dict[RequestId, asyncio.Future[RpcResponse]] = {}

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and return its result; None where the client refused, or did not answer in time."""
        # The prefix keeps these ids apart from the client's own in everybody's logs.
        request_id = f"jumpseat-{next(self._numbers)}"
        answer = self._pending[request_id] = asyncio.get_running_loop().create_future()
        self._outbox.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                response = await answer
        except TimeoutError:
            logger.warning("the client did not answer %s", method)
            return None
        finally:
            del self._pending[request_id]
        if response.error is not None:
            logger.info("the client refused %s: %s", method, response.error.get("message"))
            return None
        return response.result

    def settle(self, response: RpcResponse) -> bool:
        """Pass a response to its request; False if there is no such request."""
        answer = self._pending.get(response.id) if response.id is not None else None
        if answer is None or answer.done():
            return False
        answer.set_result(response)
        return True
