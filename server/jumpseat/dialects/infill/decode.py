"""Decodes answers that contain the text to fill in.

The formats differ only in the names of their members, so one decoder reads them all. A part of a streamed
answer has the same shape as the body of an answer that is not streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jumpseat.chat import ResponseEvent, StreamEvent, Usage, UsageEvent
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.dialects.base import read_answer, read_whole_answer
from jumpseat.dialects.chat_completions.usage import usage_in
from jumpseat.dialects.loose_values import count_in, mapping_in, mappings_in, text_in
from jumpseat.dialects.provider_errors import error_from_fault, read_fault


@dataclass(frozen=True, slots=True)
class InfillPiece:
    """The values in one part of an answer. A value that the part lacks is empty."""

    text: str
    model: str = ""
    id: str = ""
    stop_reason: str = ""
    """The provider's stop reason. Another part with the usage may follow."""

    usage: Usage | None = None
    is_last: bool = False


ReadPiece: TypeAlias = Callable[[Mapping[str, Any]], InfillPiece]


class InfillDecoder:
    """A decoder of one answer; implements `jumpseat.dialects.Decoder`."""

    def __init__(self, provider: str, model: str, read_piece: ReadPiece) -> None:
        """
        Args:
            provider: the configured provider's id, for origins and errors.
            model: the model's name in the request.
            read_piece: reads a part of an answer in the provider's format.
        """
        self.complete = False
        self._provider = provider
        self._model = model
        self._read_piece = read_piece
        self._blocks = BlockAssembler(provider, model)
        self._is_begun = False
        self._stop_reason = ""
        self._usage: Usage | None = None

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        """Decode one server-sent event, or one line of NDJSON."""
        if self.complete or not data or data.isspace():
            return []
        if data.strip() == "[DONE]":
            return self._finish_answer()
        try:
            part = read_answer(data)
        except ValueError:
            self._blocks.skip_event(data)
            return self._blocks.take()
        if name == "error" or not isinstance(part, dict):
            raise error_from_fault(read_fault(part), self._provider)
        if self._decode_part(part).is_last:
            return self._finish_answer()
        return self._blocks.take()

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        """Decode the whole body of an answer that was not streamed."""
        self._decode_part(read_whole_answer(body, self._provider))
        return [*self._blocks.take(), *self.finish()]

    def finish(self) -> list[StreamEvent]:
        """Return the remaining events when the input has ended.

        Raises:
            ProtocolError: the answer has no stop reason.
        """
        # `feed_event` does not end an answer at its stop reason, because OpenAI sends the usage after that.
        # The answer ends here if the server also omits `[DONE]`.
        return [] if self.complete else self._finish_answer()

    def _decode_part(self, part: Mapping[str, Any]) -> InfillPiece:
        if part.get("error"):
            raise error_from_fault(read_fault(part), self._provider)
        piece = self._read_piece(part)
        if not self._is_begun:
            self._is_begun = True
            self._blocks.emit(ResponseEvent(piece.model or self._model, piece.id or None))
        self._blocks.add_text(piece.text)
        self._stop_reason = piece.stop_reason or self._stop_reason
        self._usage = piece.usage or self._usage
        return piece

    def _finish_answer(self) -> list[StreamEvent]:
        if not self._is_begun or not self._stop_reason:
            raise self._blocks.early_end_error()
        self.complete = True
        self._blocks.close_all()
        if self._usage is not None:
            self._blocks.emit(UsageEvent(self._usage))
        self._blocks.end(self._stop_reason, self._usage)
        return self._blocks.take()


def read_openai_piece(part: Mapping[str, Any]) -> InfillPiece:
    """Read a part of an answer from `/completions`, or from Mistral's `/fim/completions`.

    Mistral's answers have the shape of chat completions.
    """
    choice = next(iter(mappings_in(part.get("choices"))), {})
    message = mapping_in(choice.get("delta")) or mapping_in(choice.get("message"))
    return InfillPiece(
        text_in(choice.get("text")) or text_in(message.get("content")),
        text_in(part.get("model")),
        text_in(part.get("id")),
        text_in(choice.get("finish_reason")),
        usage_in(part, choice),
    )


def read_llama_piece(part: Mapping[str, Any]) -> InfillPiece:
    """Read a part of an answer from llama.cpp's `/infill`."""
    text, model = text_in(part.get("content")), text_in(part.get("model"))
    if part.get("stop") is not True:
        return InfillPiece(text, model)
    reason = text_in(part.get("stop_type"))
    usage = _read_usage(part, "tokens_evaluated", "tokens_predicted")
    word = _LLAMA_REASONS.get(reason, reason) or "stop"
    return InfillPiece(text, model, stop_reason=word, usage=usage, is_last=True)


def read_ollama_piece(part: Mapping[str, Any]) -> InfillPiece:
    """Read a line of an answer from Ollama's `/api/generate`."""
    text, model = text_in(part.get("response")), text_in(part.get("model"))
    if part.get("done") is not True:
        return InfillPiece(text, model)
    usage = _read_usage(part, "prompt_eval_count", "eval_count")
    word = text_in(part.get("done_reason")) or "stop"
    return InfillPiece(text, model, stop_reason=word, usage=usage, is_last=True)


_LLAMA_REASONS = {"limit": "length", "word": "stop"}
"""The usual words for stop reasons that only llama.cpp sends; `word` means that a stop sequence was found."""


def _read_usage(part: Mapping[str, Any], sent: str, generated: str) -> Usage | None:
    counts = count_in(part.get(sent)), count_in(part.get(generated))
    # Ollama omits a count of zero.
    return None if counts == (None, None) else Usage(counts[0] or 0, counts[1] or 0)
