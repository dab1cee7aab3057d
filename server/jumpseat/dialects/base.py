"""What every dialect's decoder looks like to the HTTP layer above it.

A dialect is a pair: `encode(request, facts) -> dict`, and a decoder that is made for one answer. Public
for plug-ins, and kept stable.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

from pydantic_core import from_json

from jumpseat.chat import ProtocolError, StreamEvent
from jumpseat.dialects.cut_text import with_cut_texts
from jumpseat.dialects.provider_errors import plain_words
from jumpseat.wire import LARGE_JSON_BYTES, read_json, read_large_json


def read_answer(text: bytes | str) -> Any:
    """The JSON of an answer, or of one event of it: with NaN, which is how some servers write a logprob.

    A text that begins or ends with half a character is a `CutText`.

    Raises:
        ValueError: it is not JSON, or only a part of one.
    """
    if len(text) > LARGE_JSON_BYTES:
        return read_large_json(text, allow_inf_nan=True)
    try:
        return from_json(text, allow_inf_nan=True)
    except ValueError:
        value = read_json(text, allow_inf_nan=True)
    with contextlib.suppress(ValueError, RecursionError):  # What the standard library does not read whole.
        return with_cut_texts(text)
    return value


def read_whole_answer(body: bytes, provider: str) -> dict[str, Any]:
    """The object that an answer which was not streamed consists of.

    Raises:
        ProtocolError: it is no JSON object, or only a part of one.
    """
    try:
        answer = read_answer(body)
    except ValueError:
        told = plain_words(body[:200].decode("utf-8", "replace"))
        raise ProtocolError(
            f"{provider} sent an answer that is not JSON, or only a part of it{f': {told}' if told else '.'}",
            provider=provider,
        ) from None
    if not isinstance(answer, dict):
        raise ProtocolError(f"{provider} sent an answer that is not a JSON object.", provider=provider)
    return answer


class Decoder(Protocol):
    """Turns one answer, as it arrives, into events that keep the laws of `jumpseat.chat.events`.

    Its methods raise a `ChatError` where the answer is an error, or breaks its dialect; events that
    earlier calls returned stay valid. After `complete` nothing more comes out.
    """

    @property
    def complete(self) -> bool:
        """The dialect's end mark was seen: whatever follows on the connection is not read."""
        ...

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Take one server-sent event (or one line of NDJSON, with the name `message`)."""
        ...

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Take the whole body of an answer that was not streamed."""
        ...

    def finish(self) -> list[StreamEvent]:
        """Take the end of the input.

        Raises:
            ProtocolError: the answer was not complete.
        """
        ...
