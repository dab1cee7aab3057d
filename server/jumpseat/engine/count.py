"""Counts the tokens that a chat would send, or estimates them if the provider cannot count."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Literal

from jumpseat.adapters.base import Replan
from jumpseat.chat import ChatError, ChatRequest, ConnectionError
from jumpseat.chat.long import is_long
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.prepare import Planner
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn_request import TurnRequest
from jumpseat.providers import Registry, ResolvedModel, resolve_model
from jumpseat.system.threads import compute

logger = logging.getLogger(__name__)

COUNT_SECONDS = 30.0
"""The timeout of a provider's count. Editors show the count while the user types."""

UNSUPPORTED = -1


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The tokens of a prompt and the source of the count; `tokens` is -1 if the method is `unsupported`."""

    tokens: int
    method: Literal["provider", "estimate", "unsupported"]


async def count_tokens(
    registry: Registry,
    turn_request: TurnRequest,
    tokens: TokenMemory,
    memory: BlockMemory | None = None,
    *,
    allow_estimate: bool = True,
) -> TokenCount:
    """Count the tokens of the prompt that a chat with this request would send.

    With `allow_estimate`, the result is an estimate if the provider cannot count, or if it is unreachable,
    busy or too slow. Other failures raise the same errors as in a chat.

    Raises:
        ChatError: the request is invalid, or the provider failed.
    """
    target = await resolve_model(registry, turn_request.model)
    request = (await Planner(registry, target, memory).plan(turn_request)).request
    takes_long = is_long(request.messages)
    size = await compute(takes_long, tokens.measure, target.provider, request)
    if size.exact:
        return TokenCount(size.tokens, "provider")
    try:
        counted = await _count_with_provider(target, request)
    except ChatError as error:
        if not (allow_estimate and error.retryable):
            raise
        logger.info("%s did not count: %s", target.provider, error.message)
        counted = UNSUPPORTED
    if counted >= 0:
        await compute(takes_long, tokens.remember_count, target.provider, request, counted)
        return TokenCount(counted, "provider")
    return TokenCount(size.tokens, "estimate") if allow_estimate else TokenCount(UNSUPPORTED, "unsupported")


async def _count_with_provider(target: ResolvedModel, request: ChatRequest) -> int:
    try:
        async with asyncio.timeout(COUNT_SECONDS):
            return await target.adapter.count_tokens(request)
    except TimeoutError:
        message = f"{target.provider} did not count the tokens within {COUNT_SECONDS:g} s."
        raise ConnectionError(message, provider=target.provider) from None
    except Replan as replan:
        raise replan.error from replan
