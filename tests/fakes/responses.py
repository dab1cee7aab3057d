"""Bodies of the Responses dialect, under the name that the tests here know them by."""

from jumpseat.testing.answers.responses import (
    MODEL,
    RESPONSE_ID,
    USAGE,
    Item,
    function_call,
    message,
    reasoning,
    response,
    response_stream,
)

__all__ = [
    "MODEL",
    "RESPONSE_ID",
    "USAGE",
    "Item",
    "function_call",
    "message",
    "reasoning",
    "response",
    "response_stream",
]
