"""Read the events that an adapter streams, with a time limit."""

import asyncio

from jumpseat.adapters.base import Replan
from jumpseat.chat import ChatError, Fold, WarningEvent

WAIT = 30
"""The time limit in seconds, far longer than a scripted server needs."""


async def events_of(adapter, request):
    """Return the events, and the error that ended them, if any."""
    events = []
    try:
        async with asyncio.timeout(WAIT):
            async for event in adapter.stream(request):
                events.append(event)  # noqa: PERF401 - keeps the events before a failure
    except (ChatError, Replan) as error:
        return events, error
    return events, None


def fold_events(events, model):
    """Return the response folded from the events."""
    fold = Fold("acme", model)
    for event in events:
        fold.add(event)
    return fold.response()


def codes(events):
    """Return the codes of the warnings."""
    return [event.code for event in events if isinstance(event, WarningEvent)]
