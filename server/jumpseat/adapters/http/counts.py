"""Asking an endpoint how many tokens a request has.

Anthropic's `/v1/messages/count_tokens`, OpenAI's `/responses/input_tokens` and llama.cpp's likes of both
answer alike. Above it are the adapters; below it HTTP.
"""

from __future__ import annotations

from jumpseat.chat import ChatError, ProtocolError
from jumpseat.http import HttpCall, HttpClient, get_json


async def ask_for_count(http: HttpClient, call: HttpCall, *, provider: str) -> int:
    """The `input_tokens` of the answer; -1 where the endpoint has no such count.

    Raises:
        ChatError: the endpoint was asked and failed.
    """
    try:
        answer = await get_json(http, call, provider=provider)
    except ProtocolError:
        return -1  # Some page that answers whatever path is asked for.
    except ChatError as error:
        if error.status_code in (404, 405, 501):
            return -1
        raise
    tokens = answer.get("input_tokens") if isinstance(answer, dict) else None
    return tokens if type(tokens) is int and tokens >= 0 else -1
