"""Chats with the local provider, for tests."""

import asyncio

from jumpseat.chat import ChatRequest, Fold, Message

WAIT_SECONDS = 20.0

NAME = "smollm2-135m-instruct"


def ask(**changes):
    return ChatRequest(**{"messages": [Message.user("Hi")], "model": NAME, **changes})


async def collect(adapter, request=None):
    async with asyncio.timeout(WAIT_SECONDS):
        return [event async for event in adapter.stream(request or ask())]


async def answer_of(adapter):
    fold = Fold("local", NAME)
    for event in await collect(adapter):
        fold.add(event)
    return fold.response().text
