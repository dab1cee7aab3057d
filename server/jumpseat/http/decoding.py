"""Decodes an answer in slices, and slow parts on a thread, so that it does not block other work."""

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
from jumpseat.system.threads import run_blocking

logger = logging.getLogger(__name__)

SLICE_BYTES = 16 * 1024
"""The most bytes of a stream that are decoded before other tasks run: at worst 5 to 20 ms."""

DECODING_SECONDS = 60.0
"""The time limit for a thread to decode a large part of an answer."""

MANY_EVENTS = 10_000

T = TypeVar("T")


async def decoded(
    pieces: AsyncGenerator[bytes], headers: Mapping[str, str], decoder: Decoder, provider: str
) -> AsyncGenerator[list[StreamEvent]]:
    """The events of each piece, merged; a failure comes after the events that preceded it.

    Args:
        pieces: the body as it arrives; closed at the end.
        headers: of the response.
        decoder: a new decoder of the dialect; pieces after its end mark are not read.
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
                    # A complete answer is valid, however its connection ended.
                    await run_decoding(reader.is_costly(None), partial(reader.finish, events))
                    failure = None
            except ChatError as error:
                failure = failure or error
            except TimeoutError:
                failure = ProtocolError(f"{provider} sent an answer that takes too long to decode.")
            except Exception:
                # A defect of the decoder. The log has it; to the client it is an invalid answer.
                logger.exception("the answer of %s cannot be decoded", provider)
                failure = ProtocolError(f"{provider} sent an answer that cannot be decoded.")
            if len(events) == 1:
                yield events
            elif events:
                is_costly = len(events) > MANY_EVENTS
                yield await run_decoding(is_costly, partial(merge_deltas, events))
            if failure is not None:
                failure.provider = failure.provider or provider
                failure.provider_request_id = failure.provider_request_id or request_id_of(headers)
                raise failure
            if piece is None:
                return


async def _feed(reader: AnswerReader, piece: bytes, decoder: Decoder, events: list[StreamEvent]) -> None:
    # In slices, because small events cost a thousand times more per byte than large ones.
    for start in range(0, len(piece), SLICE_BYTES):
        if start:
            await asyncio.sleep(0)
        part = piece[start : start + SLICE_BYTES]
        await run_decoding(reader.is_costly(part), partial(reader.feed, part, events))
        if decoder.complete:
            return


async def run_decoding(is_costly: bool, work: Callable[[], T]) -> T:
    """The result of the work, which runs on a thread if it is costly.

    Raises:
        TimeoutError: it took longer than `DECODING_SECONDS`.
        Exception: as the work raises it.
    """
    return await run_blocking(work, within=DECODING_SECONDS) if is_costly else work()
