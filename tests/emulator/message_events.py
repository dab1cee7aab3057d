"""Writes the answers of POST /v1/messages: Anthropic's events with the additions of the service.

The additions: the model's name has dashes, `copilot_usage` is inside `message_delta`, and a bare
`data: [DONE]` follows `message_stop`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

from jumpseat.testing.upstream import Reply
from tests.emulator.catalogue import Model
from tests.emulator.conversation import Answer, Prompt
from tests.emulator.costs import copilot_usage
from tests.emulator.messages import SIGNATURE
from tests.emulator.refusals import html_safe_json
from tests.emulator.seals import Sealer

_PIECE = 7
"""The number of characters in a piece of a call's arguments."""

Block = dict[str, Any]


def write(
    prompt: Prompt, answer: Answer, model: Model, body: dict[str, Any], seals: Sealer, now: float
) -> Reply:
    """Return the answer, streamed if the body requests it."""
    del body, now
    blocks = list(_blocks(answer, seals))
    if not prompt.stream:
        usage = _initial_usage(answer) | _final_usage(answer)
        ended = {"stop_reason": _stop_reason(answer), "stop_sequence": answer.stopped_by}
        whole = _message(model, blocks, usage) | ended
        whole["copilot_usage"] = copilot_usage(model, answer)
        return Reply.raw(html_safe_json(whole).encode(), content_type="application/json")
    pieces = [
        f"event: {event['type']}\ndata: {html_safe_json(event)}\n\n".encode()
        for event in _events(answer, model, blocks)
    ]
    return Reply(
        (*pieces, b"data: [DONE]\n\n"),
        headers={"content-type": "text/event-stream", "cache-control": "no-cache"},
        chunked=True,
    )


def _blocks(answer: Answer, seals: Sealer) -> Iterator[Block]:
    if answer.thoughts:
        signature = seals.seal(SIGNATURE, answer.thinking)
        yield {"type": "thinking", "thinking": answer.thinking, "signature": signature}
    if answer.pieces:
        yield {"type": "text", "text": answer.text}
    for call in answer.calls:
        call_id = f"toolu_vrtx_{secrets.token_hex(12)}"
        yield {"type": "tool_use", "id": call_id, "name": call.name, "input": json.loads(call.arguments)}


def _message(model: Model, content: list[Block], usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "content": content,
        "id": f"msg_vrtx_{secrets.token_hex(12)}",
        "model": model.id.replace(".", "-"),
        "role": "assistant",
        "stop_details": None,
        "stop_reason": None,
        "stop_sequence": None,
        "type": "message",
        "usage": usage,
    }


def _initial_usage(answer: Answer) -> dict[str, Any]:
    written = {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": answer.cache_written}
    return {
        "cache_creation": written,
        "cache_creation_input_tokens": answer.cache_written,
        "cache_read_input_tokens": answer.cache_read,
        "input_tokens": answer.uncached_tokens,
        "output_tokens": 1,
    }


def _final_usage(answer: Answer) -> dict[str, Any]:
    thought = answer.thinking_tokens
    return {
        "cache_creation_input_tokens": answer.cache_written,
        "cache_read_input_tokens": answer.cache_read,
        "input_tokens": answer.uncached_tokens,
        "output_tokens": answer.output_tokens + thought,
        "output_tokens_details": {"thinking_tokens": thought},
    }


def _stop_reason(answer: Answer) -> str:
    if answer.cut or answer.calls:
        return "max_tokens" if answer.cut else "tool_use"
    return "stop_sequence" if answer.stopped_by is not None else "end_turn"


def _events(answer: Answer, model: Model, blocks: list[Block]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message(model, [], _initial_usage(answer))}
    for index, block in enumerate(blocks):
        empty, deltas = _deltas(block, answer)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {
            "stop_details": None,
            "stop_reason": _stop_reason(answer),
            "stop_sequence": answer.stopped_by,
        },
        "usage": _final_usage(answer),
        "copilot_usage": copilot_usage(model, answer),
    }
    yield {"type": "message_stop"}


def _deltas(block: Block, answer: Answer) -> tuple[Block, list[dict[str, Any]]]:
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in answer.thoughts]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": each} for each in answer.pieces]
        case _:
            text = json.dumps(block["input"])
            pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)
            ]
