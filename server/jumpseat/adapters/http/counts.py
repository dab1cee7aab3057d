"""Asks an endpoint for the token count of a request.

The response has the same format for Anthropic's `/v1/messages/count_tokens`, for OpenAI's
`/responses/input_tokens`, and for llama.cpp's versions of both.
"""

from __future__ import annotations

from jumpseat.chat import ChatError, ProtocolError
from jumpseat.http import HttpCall, HttpClient, get_json


async def ask_for_count(http: HttpClient, call: HttpCall, *, provider: str) -> int:
    """Return the `input_tokens` of the response; -1 if the endpoint does not count tokens.

    Raises:
        ChatError: the request failed.
    """
    try:
        answer = await get_json(http, call, provider=provider)
    except ProtocolError:
        return -1  # Some servers answer unknown paths with a web page.
    except ChatError as error:
        if error.status_code in (404, 405, 501):
            return -1
        raise
    tokens = answer.get("input_tokens") if isinstance(answer, dict) else None
    return tokens if type(tokens) is int and tokens >= 0 else -1
