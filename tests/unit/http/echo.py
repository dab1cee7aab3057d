"""A minimal dialect for tests of exchanges, and a helper that waits for a client's background tasks."""

import asyncio

from jumpseat.chat import DoneEvent, ProtocolError
from jumpseat.dialects import BlockAssembler


class EchoDecoder:
    """The decoder of a minimal dialect: every event is text, `end` is the end mark, `fail` is an error."""

    def __init__(self):
        self.complete = False
        self.said = False
        self.blocks = BlockAssembler("acme", "m")

    def feed_event(self, name, data):
        if data == "fail":
            raise ProtocolError("It failed.")
        if data == "end":
            self.said = True
            return self.finish()
        self.said = True
        self.blocks.add_text(f"{name}={data};")
        return self.blocks.take()

    def feed_body(self, body):
        self.said = True
        self.blocks.add_text(f"body={body.decode()};")
        return self.finish()

    def finish(self):
        if not self.said:
            raise ProtocolError("Nothing was said.")
        self.complete = True
        self.blocks.close_all()
        return [*self.blocks.take(), DoneEvent("end_turn")]


async def wait_for_tails(http):
    """Wait until the body of every finished answer has been read to its end or abandoned."""
    async with asyncio.timeout(30):
        while http._connections.background_tasks:
            await asyncio.wait(tuple(http._connections.background_tasks))
