"""The smallest provider: it repeats the user's message."""

from jumpseat.adapters.base import Adapter
from jumpseat.chat import DoneEvent, TextBlock
from jumpseat.dialects import BlockAssembler


class Echo(Adapter):
    async def stream(self, request):
        answer = BlockAssembler(self.provider_name, request.model)
        for block in request.messages[-1].content:
            answer.add_text(block.text if isinstance(block, TextBlock) else "")
        answer.close_all()
        for event in answer.take():
            yield event
        yield DoneEvent("end_turn")
