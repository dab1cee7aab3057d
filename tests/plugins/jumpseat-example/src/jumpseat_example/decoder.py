"""Decodes answers in the parlour's dialect, streamed or whole."""

from __future__ import annotations

import json
from typing import Any

from jumpseat.chat import (
    DoneEvent,
    ProtocolError,
    RequestError,
    ResponseEvent,
    ServerError,
    StopReason,
    StreamEvent,
    Usage,
    UsageEvent,
)
from jumpseat.dialects import BlockAssembler

STOPS: dict[str, StopReason] = {
    "finished": "end_turn",
    "errands": "tool_use",
    "cut": "max_tokens",
    "declined": "refusal",
}


class ParlourDecoder:
    """Decodes one answer."""

    def __init__(self, provider: str, model: str) -> None:
        self.complete = False
        self._provider = provider
        self._model = model
        self._seal: str | None = None
        self._begun = False
        self._answer = BlockAssembler(provider, model, thinking_opaque=self._take_seal)

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one line."""
        if self.complete or not data.strip():
            return []
        try:
            line = json.loads(data)
        except ValueError:
            self._answer.skip_event(data)
            return self._answer.take()
        if not isinstance(line, dict):
            self._answer.skip_event(data)
            return self._answer.take()
        if not self._begun:
            self._begun = True
            self._answer.emit(ResponseEvent(model=line.get("voice") or self._model, id=line.get("visit")))
        self._take(line)
        return self._answer.take()

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode an answer that is not streamed. Its parts look like the lines of a streamed one."""
        try:
            answer = json.loads(body)
        except ValueError:
            raise ProtocolError("The parlour's answer is not JSON.", provider=self._provider) from None
        if not isinstance(answer, dict):
            raise ProtocolError("The parlour's answer is not an object.", provider=self._provider)
        head = {key: value for key, value in answer.items() if key in ("voice", "visit")}
        tail = {key: value for key, value in answer.items() if key in ("stop", "spent", "trouble")}
        lines = [head, *answer.get("parts", []), tail]
        return [event for line in lines for event in self.feed_event("message", json.dumps(line))]

    def finish(self) -> list[StreamEvent]:
        """Raise the error of an answer that ends without its last line."""
        raise self._answer.early_end_error()

    def _take(self, line: dict[str, Any]) -> None:
        if "trouble" in line:
            raise self._error(line["trouble"])
        if "ponder" in line or "seal" in line:
            self._seal = self._text(line, "seal") or self._seal
            self._answer.open_thinking()
            self._answer.add_thinking(self._text(line, "ponder"))
        if "say" in line:
            self._answer.add_text(self._text(line, "say"))
        if "errand" in line:
            ref, name, piece = (self._text(line, key) for key in ("ref", "errand", "input"))
            self._answer.add_tool_call(ref, id=ref, name=name, arguments=piece)
        if "stop" in line:
            self._end(line)

    def _text(self, line: dict[str, Any], key: str) -> str:
        text = line.get(key, "")
        if not isinstance(text, str):
            raise ProtocolError(f"The parlour's {key} is not a string.", provider=self._provider)
        return text

    def _end(self, line: dict[str, Any]) -> None:
        self._answer.close_all()
        spent = line.get("spent") or {}
        usage = Usage(input_tokens=spent.get("heard", 0), output_tokens=spent.get("said", 0))
        if spent:
            self._answer.emit(UsageEvent(usage))
        stop = str(line["stop"])
        self._answer.emit(DoneEvent(STOPS.get(stop, "end_turn"), usage, stop))
        self.complete = True

    def _take_seal(self) -> str | None:
        seal, self._seal = self._seal, None
        return seal

    def _error(self, trouble: dict[str, Any]) -> ServerError | RequestError:
        kind = RequestError if trouble.get("whose") == "guest" else ServerError
        words = trouble.get("words") or "no reason was given"
        return kind(
            f"The parlour gave up: {words}", provider=self._provider, provider_code=trouble.get("code")
        )
