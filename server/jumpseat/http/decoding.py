"""Decodes an answer in slices, the slow ones in a worker thread, so that other work is not blocked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from jumpseat.chat import ChatError, ProtocolError, StreamEvent, merge_deltas
from jumpseat.dialects.base import Decoder
from jumpseat.http.answer import AnswerReader
from jumpseat.http.failures import request_id_of
from jumpseat.system.threads import compute

logger = logging.getLogger(__name__)

SLICE_BYTES = 16 * 1024
"""The number of bytes to decode before other tasks run. In the worst case, this takes 5 to 20 ms."""

MANY_EVENTS = 10_000
"""The number of events above which they are merged in a worker thread."""


async def decode_answer(
    pieces: AsyncGenerator[bytes], headers: Mapping[str, str], decoder: Decoder, provider: str
) -> AsyncGenerator[list[StreamEvent]]:
    """Yield the merged events of each piece; a failure is raised after the events that preceded it.

    Args:
        pieces: the body as it arrives. This function closes the generator.
        headers: the response headers.
        decoder: a new decoder; pieces after its end mark are not read.
        provider: the configured provider's id, for errors.

    Raises:
        ChatError: `pieces` or the decoder failed.
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
                    # A complete answer is valid even if its connection failed afterwards.
                    await compute(reader.is_costly(None), reader.finish, events)
                    failure = None
            except ChatError as error:
                failure = failure or error
            except Exception:
                # The decoder has a bug. The log shows the traceback; clients see an invalid answer.
                logger.exception("the answer of %s cannot be decoded", provider)
                failure = ProtocolError(f"{provider} sent an answer that cannot be decoded.")
            if len(events) == 1:
                yield events
            elif events:
                yield await compute(len(events) > MANY_EVENTS, merge_deltas, events)
            if failure is not None:
                failure.provider = failure.provider or provider
                failure.provider_request_id = failure.provider_request_id or request_id_of(headers)
                raise failure
            if piece is None:
                return


async def _feed(reader: AnswerReader, piece: bytes, decoder: Decoder, events: list[StreamEvent]) -> None:
    # Small events cost a thousand times more per byte than large ones, so a long piece that is full of them
    # would block other tasks if it were decoded in one step.
    for start in range(0, len(piece), SLICE_BYTES):
        if start:
            await asyncio.sleep(0)
        part = piece[start : start + SLICE_BYTES]
        await compute(reader.is_costly(part), reader.feed, part, events)
        if decoder.complete:
            return
