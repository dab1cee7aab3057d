"""A dispatcher that keeps the large parts of results away from the official SDK, which this module imports.

The SDK validates whole results on the event loop. That takes seconds for a large result, and may take forever
with a schema that the server has sent. So this module takes the large parts out of each result and reads them
itself, with limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import BaseModel, Field

from jumpseat.system.threads import compute
from jumpseat.tools.mcp.listing import read_tools, select_annotated
from jumpseat.tools.mcp.notifications import is_used
from jumpseat.tools.mcp.results import read_result
from jumpseat.tools.server import Tool, ToolError, ToolOutput


class Results:
    """The results that a transport takes out of its messages, because the SDK would parse them slowly."""

    def __init__(self) -> None:
        self._expected: set[str] = set()
        self._results: dict[str, Any] = {}

    def expect(self, request_id: object) -> None:
        """Store the result of this request when it arrives. Results of other requests are dropped."""
        self._expected.add(str(request_id))

    def take(self, request_id: object) -> Any:
        """Return the result of a request, and no longer expect it; None if no result was stored."""
        self._expected.discard(str(request_id))
        return self._results.pop(str(request_id), None)

    def detach(self, message: Any) -> Any:
        """Take the result out of a message, store it, and return the message without it.

        Returns:
            None for a notification that is not used.
        """
        if not is_used(message):
            return None
        if not isinstance(message, dict) or not isinstance(message.get("result"), dict):
            return message
        if (key := str(message.get("id"))) in self._expected:
            self._results[key] = message["result"]
        return {**message, "result": {}}


_OUTPUT = "jumpseat/output"
"""The key in a result's `_meta` for the `ToolOutput` that was made from the result."""


class CallAnswer(BaseModel):
    """The result of a call, as `LeanDispatcher` returns it."""

    meta: dict[str, Any] = Field(alias="_meta")

    @property
    def output(self) -> ToolOutput:
        """The output that was made from the result."""
        output: ToolOutput = self.meta[_OUTPUT]
        return output


class LeanDispatcher(JSONRPCDispatcher[TransportContext]):
    """The SDK's dispatcher, extended to read tool lists and call results before the SDK validates them."""

    def __init__(self, read: Any, write: Any, results: Results, on_end: Callable[[], None]) -> None:
        super().__init__(read, write)
        self._on_end = on_end
        self.listed: Sequence[Tool] = ()
        """The tools on the page that was received last; a tool list can have several pages."""

        self._results = results
        self._request_ids = count(1)

    async def run(self, *args: Any, **more: Any) -> None:
        """Handle messages until the connection ends; see the base class."""
        try:
            await super().run(*args, **more)
        finally:
            self._on_end()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Send a request and return its result; see the base class."""
        options: CallOptions = {**opts} if opts else {}
        request_id = options.setdefault("request_id", next(self._request_ids))
        self._results.expect(request_id)
        try:
            answered = await super().send_raw_request(method, params, options, **more)
        finally:
            moved = self._results.take(request_id)
        result = answered if moved is None else moved
        if method == "tools/list":
            return await self._read_list(result)
        return await _read_call(result) if method == "tools/call" else result

    async def _read_list(self, result: dict[str, Any]) -> dict[str, Any]:
        listed = result.get("tools")
        if not isinstance(listed, list):
            raise ToolError("The list of tools breaks the protocol.")
        is_long = len(listed) > _MANY
        self.listed = await compute(is_long, read_tools, listed)
        return {**result, "tools": await compute(is_long, select_annotated, listed)}


_MANY = 100
"""A list with more tools, or a result with more parts, is read in a thread."""


async def _read_call(result: dict[str, Any]) -> dict[str, Any]:
    if result.get("resultType") == "input_required":
        raise ToolError("The tool asked for input from the user or the model, which is not supported.")
    content = result.get("content")
    is_long = (
        result.get("structuredContent") is not None or not isinstance(content, list) or len(content) > _MANY
    )
    output = await compute(is_long, read_result, result)
    small: dict[str, Any] = {key: result[key] for key in ("resultType", "isError") if key in result}
    return {**small, "content": [], "_meta": {_OUTPUT: output}}
