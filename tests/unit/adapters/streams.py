"""Reading what an adapter streams, within bounds, for the tests beside this."""

import asyncio

from jumpseat.adapters.base import Replan
from jumpseat.chat import ChatError, Fold, WarningEvent

WAIT = 5
"""Seconds, far more than a scripted server takes."""


async def events_of(adapter, request):
    """The events, and the error that ended them if one did."""
    events = []
    try:
        async with asyncio.timeout(WAIT):
            async for event in adapter.stream(request):
                events.append(event)  # noqa: PERF401 - what came before a failure must not be lost
    except (ChatError, Replan) as error:
        return events, error
    return events, None


def folded(events, model):
    """The response that these events make."""
    fold = Fold("acme", model)
    for event in events:
        fold.add(event)
    return fold.response()


def codes(events):
    """Those of the warnings."""
    return [event.code for event in events if isinstance(event, WarningEvent)]
