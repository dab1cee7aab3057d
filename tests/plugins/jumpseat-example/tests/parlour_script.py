"""Scripted answers of a parlour, for the contract suite and other tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jumpseat.testing import FakeUpstream, Gate, RecordedRequest, Reply, Script

Line = dict[str, Any] | Gate | bytes

SPENT = {"heard": 7, "said": 3}
END = {"stop": "finished", "spent": SPENT}


def lines(*what: Line) -> Reply:
    """Return an answer in lines of JSON, each in a separate write."""
    pieces = [each if isinstance(each, Gate | bytes) else json.dumps(each).encode() + b"\n" for each in what]
    return Reply(tuple(pieces), 200, {"content-type": "application/x-ndjson"}, chunked=True)


def whole(*parts: dict[str, Any], stop: str = "finished") -> Reply:
    """Return an answer that is not streamed."""
    return Reply.json({"voice": "alto", "visit": "v1", "parts": parts, "stop": stop, "spent": SPENT})


class ParlourScript(Script):
    """Scripts answers in the parlour's dialect."""

    def __init__(self) -> None:
        super().__init__(chat_path="/converse")

    def text_answer(self, pieces: Sequence[str], *, streamed: bool) -> Reply:
        if not streamed:
            return whole({"say": "".join(pieces)})
        return lines(*({"say": piece} for piece in pieces), END)

    def tool_call_answer(self, call_id: str, name: str, arguments: str, *, streamed: bool) -> Reply:
        call = {"errand": name, "ref": call_id}
        if not streamed:
            return whole({**call, "input": arguments}, stop="errands")
        half = len(arguments) // 2
        halves = ({**call, "input": piece} for piece in (arguments[:half], arguments[half:]))
        return lines(*halves, {**END, "stop": "errands"})

    def error_answer(self, status: int, message: str, **headers: str) -> Reply:
        return Reply.json({"error": {"message": message}}, status, **headers)

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        return self.parse_request(request)["live"] is True

    def prepare(self, upstream: FakeUpstream, models: Sequence[str]) -> None:
        voices = [{"id": model, "title": model.title(), "hears": 4000} for model in models]
        upstream.default(Reply.json({"voices": voices}), "/voices")
        upstream.default(Reply.json({"tokens": 42}), "/measure")
        upstream.default(Reply.json({"lease": "l1"}), "/leases")
        upstream.default(Reply.json({}), "/leases/l1/return")
