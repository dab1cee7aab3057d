"""Documents in requests of the Messages dialect."""

import pytest

from jumpseat.chat import ChatRequest, DocumentBlock, Message, RequestError
from jumpseat.dialects.anthropic_messages import MessagesFacts, encode


def test_a_text_that_is_not_base64_is_refused() -> None:
    message = Message("user", (DocumentBlock("A", "text/plain"),))
    request = ChatRequest(messages=(message,), model="claude-sonnet-4-5", stream=False)
    with pytest.raises(RequestError, match="not valid base64"):
        encode(request, MessagesFacts(provider="acme"))
