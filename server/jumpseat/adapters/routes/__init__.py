"""Dialects as one endpoint speaks them: requests made, refusals understood and remembered.

An adapter brings the address and the headers; one that offers several dialects has a route for each.
"""

from jumpseat.adapters.routes.base import Prepared, Route, make_attempt
from jumpseat.adapters.routes.chat_completions import ChatCompletionsRoute
from jumpseat.adapters.routes.messages import MessagesRoute
from jumpseat.adapters.routes.responses import ResponsesRoute

__all__ = [
    "ChatCompletionsRoute",
    "MessagesRoute",
    "Prepared",
    "ResponsesRoute",
    "Route",
    "make_attempt",
]
