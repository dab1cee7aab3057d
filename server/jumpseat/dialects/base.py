"""Defines the interface of decoders, and parses the JSON of answers.

A dialect is `encode(request, facts) -> dict` and a decoder; each answer has its own decoder.
"""

from __future__ import annotations

from typing import Any, Protocol

from jumpseat.chat import ProtocolError, StreamEvent
from jumpseat.dialects.cut_text import parse_cut_texts
from jumpseat.dialects.provider_errors import clean_message
from jumpseat.wire import read_json


def read_answer(text: bytes | str) -> Any:
    """Parse the JSON of an answer, or of one event.

    A string that begins or ends with an unpaired surrogate becomes a `CutText`. U+0000 becomes U+FFFD.

    Raises:
        ValueError: the text is not complete JSON.
    """
    # NaN is accepted because some servers send it as a logprob.
    return read_json(text, allow_inf_nan=True, parse_halves=parse_cut_texts)


def read_whole_answer(body: bytes, provider: str) -> dict[str, Any]:
    """Parse the JSON object of an answer that was not streamed.

    Raises:
        ProtocolError: the body is not a complete JSON object.
    """
    try:
        answer = read_answer(body)
    except ValueError:
        excerpt = clean_message(body[:200].decode("utf-8", "replace"))
        raise ProtocolError(
            f"{provider} sent an answer that is not complete JSON{f': {excerpt}' if excerpt else '.'}",
            provider=provider,
        ) from None
    if not isinstance(answer, dict):
        raise ProtocolError(f"{provider} sent an answer that is not a JSON object.", provider=provider)
    return answer


class Decoder(Protocol):
    """A converter of one answer into events that follow the rules in `jumpseat.chat.events`.

    The methods raise a `ChatError` if the answer is an error or violates the dialect; events that earlier
    calls returned stay valid. Once `complete` is true, the methods return no events.
    """

    @property
    def complete(self) -> bool:
        """Whether the answer has ended, usually with the dialect's end mark; further input is ignored."""
        ...

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one server-sent event (or one line of NDJSON, with the name `message`)."""
        ...

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode the complete body of an answer that was not streamed."""
        ...

    def finish(self) -> list[StreamEvent]:
        """Return the remaining events when the input has ended.

        Raises:
            ProtocolError: the answer was not complete.
        """
        ...
