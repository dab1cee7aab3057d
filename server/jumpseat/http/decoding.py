"""The events of an answer out of its bytes, in slices and, where that takes long, on a thread.

Owns that no answer keeps other work waiting, and which error a broken one is. Above it is `exchange.py`;
below it is `answer.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from jumpseat.chat import ChatError, ProtocolError, StreamEvent, merge_deltas
from jumpseat.dialects.base import Decoder
from jumpseat.http.answer import AnswerReader
from jumpseat.http.failures import request_id_of
from jumpseat.system.bounded import in_time

logger = logging.getLogger(__name__)

SLICE_BYTES = 16 * 1024
"""Of a stream, between two turns of other work: at worst, 5 to 20 ms of decoding."""

DECODING_SECONDS = 60.0
"""How long a thread may take to read a large part of an answer."""

MANY_EVENTS = 10_000

T = TypeVar("T")


async def decoded(
    pieces: AsyncGenerator[bytes], headers: Mapping[str, str], decoder: Decoder, provider: str
) -> AsyncGenerator[list[StreamEvent]]:
    """The events of each piece, merged; a failure comes after the events that preceded it.

    Args:
        pieces: the body as it arrives; closed at the end.
        headers: of the response.
        decoder: a fresh decoder of the dialect; pieces after its end mark are not asked for.
        provider: the configured provider's id, for errors.

    Raises:
        ChatError: as `pieces` and the decoder raise it.
    """
    reader = AnswerReader(decoder, headers.get("content-type", ""))
    async with aclosing(pieces):
        while not decoder.complete:
            events: list[StreamEvent] = []
            failure: ChatError | None = None
            try:
                piece = await anext(pieces, None)
            except ChatError as error:
                piece, failure = None, error
            try:
                if piece is not None and len(piece) <= SLICE_BYTES and not reader.is_costly(piece):
                    reader.feed(piece, events)
                elif piece is not None:
                    await _feed(reader, piece, decoder, events)
                else:
                    # An answer that is complete stays so, however its connection ended.
                    await run_decoding(reader.is_costly(None), partial(reader.finish, events))
                    failure = None
            except ChatError as error:
                failure = failure or error
            except TimeoutError:
                failure = ProtocolError(f"{provider} sent an answer that takes too long to read.")
            except Exception:
                # Whatever a provider sends that a decoder did not expect is the provider's fault to the
                # user, and ours in the log.
                logger.exception("the answer of %s cannot be decoded", provider)
                failure = ProtocolError(f"{provider} sent an answer that cannot be read.")
            if events:
                if len(events) <= MANY_EVENTS:
                    yield merge_deltas(events)
                else:
                    yield await run_decoding(True, partial(merge_deltas, events))
            if failure is not None:
                failure.provider = failure.provider or provider
                failure.provider_request_id = failure.provider_request_id or request_id_of(headers)
                raise failure
            if piece is None:
                return


async def _feed(reader: AnswerReader, piece: bytes, decoder: Decoder, events: list[StreamEvent]) -> None:
    """Take a piece in slices: the smallest events cost a decoder a thousand times what its bytes do."""
    for start in range(0, len(piece), SLICE_BYTES):
        if start:
            await asyncio.sleep(0)
        part = piece[start : start + SLICE_BYTES]
        await run_decoding(reader.is_costly(part), partial(reader.feed, part, events))
        if decoder.complete:
            return


async def run_decoding(is_costly: bool, work: Callable[[], T]) -> T:
    """The result of the work, done on a thread where it may take long.

    Raises:
        TimeoutError: it has taken `DECODING_SECONDS`.
        Exception: as the work raises it.
    """
    return await in_time(work, DECODING_SECONDS, "jumpseat-answer") if is_costly else work()
