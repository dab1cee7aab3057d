"""Writes the answers of POST /chat/completions in the manner of three vendors.

- Azure sends a chunk of prompt filter results, and null roles.
- Claude sends no arguments in the first delta of a call, every call at index 0, and two choices in an
  answer that is not streamed.
- Gemini sends a usage of zero in every chunk, and reasoning with an opaque value.

The quirks of a model change its answers further.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from typing import Any

from jumpseat.testing.upstream import Piece, Reply
from tests.emulator.catalogue import Model
from tests.emulator.chat_completions import OPAQUE
from tests.emulator.conversation import Answer, Prompt
from tests.emulator.costs import copilot_usage
from tests.emulator.refusals import html_safe_json
from tests.emulator.seals import Sealer

_SAFE = {
    name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")
}
_CALL_IDS = {"azure": "call_", "claude": "tooluse_", "gemini": "call_"}
_ARGUMENT_PIECE = 7
"""The number of characters in a piece of a call's arguments. A piece is too short to be valid JSON."""

Delta = dict[str, Any]


def write(
    prompt: Prompt, answer: Answer, model: Model, body: dict[str, Any], seals: Sealer, now: float
) -> Reply:
    """Return the answer, streamed if the body requests it."""
    ids = [_CALL_IDS[model.flavour] + secrets.token_urlsafe(16) for _ in answer.calls]
    usage = _usage(answer, model)
    if not prompt.stream:
        return Reply.raw(
            html_safe_json(_whole(answer, model, ids, usage, seals, now)).encode(),
            content_type="application/json",
        )
    shared = {"created": int(now), "id": _response_id(model), "model": model.version or model.id}
    chunks = [
        chunk if "created" in chunk else {**shared, **chunk}
        for chunk in _STREAMS[model.flavour](answer, model, ids, usage, seals)
    ]
    own_usage = model.flavour == "azure" and (body.get("stream_options") or {}).get("include_usage")
    if own_usage or "usage_chunk" in model.quirks:
        _move_usage(chunks, shared)
    return Reply(
        tuple(_frame(chunks, model)),
        headers={"content-type": "text/event-stream", "cache-control": "no-cache"},
        chunked=True,
    )


def _response_id(model: Model) -> str:
    match model.flavour:
        case "azure":
            return f"chatcmpl-{secrets.token_urlsafe(21)}"
        case "claude":
            return str(uuid.uuid4())
        case "gemini":
            return secrets.token_urlsafe(17)


def _usage(answer: Answer, model: Model) -> dict[str, Any]:
    thinking = answer.thinking_tokens
    prompt, said = answer.prompt_tokens, answer.output_tokens
    usage = {
        "completion_tokens": said,
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": answer.cache_read},
        "total_tokens": prompt + said + thinking,
        "reasoning_tokens": thinking,
    }
    if model.flavour == "gemini":
        return usage
    details = {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}
    # Reasoning counts as completion tokens, except for Gemini.
    return usage | {"completion_tokens": said + thinking, "completion_tokens_details": details}


def _finish(answer: Answer) -> str:
    return "length" if answer.cut else "tool_calls" if answer.calls else "stop"


def _chunk(delta: Delta, **more: Any) -> dict[str, Any]:
    finish = {"finish_reason": more.pop("finish")} if "finish" in more else {}
    filters = more.pop("filters", {})
    return {"choices": [{**finish, "index": 0, **filters, "delta": delta}], **more}


def _arguments(text: str) -> list[str]:
    return [text[start : start + _ARGUMENT_PIECE] for start in range(0, len(text), _ARGUMENT_PIECE)]


def _azure(
    answer: Answer, model: Model, ids: list[str], usage: Delta, seals: Sealer
) -> Iterator[dict[str, Any]]:
    offsets = {"check_offset": 1, "start_offset": 1, "end_offset": 1 + len(answer.text)}
    filters = {"content_filter_offsets": offsets, "content_filter_results": _SAFE}
    results = [{"content_filter_results": _SAFE, "prompt_index": 0}]
    yield {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": results}
    yield _chunk({"content": "", "role": "assistant"}, filters=filters)
    if "cot" in model.quirks:
        for thought in answer.thoughts:
            yield _chunk({"content": None, "role": None, "cot_summary": thought})
    for piece in answer.pieces:
        padding = {"padding": "abcdefghij"[: 1 + len(piece) % 10]} if "padding" in model.quirks else {}
        yield _chunk({"content": piece, "role": None, **padding}, filters=filters)
    for index, (call, call_id) in enumerate(zip(answer.calls, ids, strict=True)):
        start = {"function": {"arguments": "", "name": call.name}, "id": call_id, "type": "function"}
        yield _chunk({"content": None, "role": None, "tool_calls": [{**start, "index": index}]})
        for piece in _arguments(call.arguments):
            continued = {"function": {"arguments": piece}, "index": index}
            yield _chunk({"content": None, "role": None, "tool_calls": [continued]})
    bill = {"usage": usage, "copilot_usage": copilot_usage(model, answer)}
    yield _chunk({"content": None, "role": None}, finish=_finish(answer), filters=filters, **bill)
    if "cot" in model.quirks and answer.thoughts:
        yield _chunk({"content": None, "role": None, "cot_id": f"cot_{uuid.uuid4()}"})


def _claude(
    answer: Answer, model: Model, ids: list[str], usage: Delta, seals: Sealer
) -> Iterator[dict[str, Any]]:
    safe = {"content_filter_offsets": {"check_offset": 0, "start_offset": 0, "end_offset": 0}}
    safe["content_filter_results"] = {name: {"filtered": False, "severity": "0"} for name in _SAFE}
    for thought in answer.thoughts:
        yield _chunk({"content": None, "role": "assistant", "reasoning_text": thought})
    if answer.thoughts:
        yield _chunk(
            {"content": None, "role": "assistant", "reasoning_opaque": seals.seal(OPAQUE, answer.thinking)}
        )
    for piece in answer.pieces:
        yield _chunk({"content": piece, "role": "assistant"}, filters=safe)
    for call, call_id in zip(answer.calls, ids, strict=True):
        named = {"function": {"name": call.name}, "id": call_id, "index": 0, "type": "function"}
        yield _chunk({"content": None, "tool_calls": [named]})
        for piece in ("", *_arguments(call.arguments)):
            continued = {"function": {"arguments": piece}, "index": 0, "type": "function"}
            yield _chunk({"content": None, "tool_calls": [continued]})
    bill = {"usage": usage, "copilot_usage": copilot_usage(model, answer)}
    yield _chunk({"content": None}, finish=_finish(answer), **bill)


def _gemini(
    answer: Answer, model: Model, ids: list[str], usage: Delta, seals: Sealer
) -> Iterator[dict[str, Any]]:
    opaque = {"reasoning_opaque": seals.seal(OPAQUE, answer.thinking)} if answer.thoughts else {}
    deltas: list[Delta] = [{"content": None, "reasoning_text": thought} for thought in answer.thoughts]
    deltas += [{"content": piece} for piece in answer.pieces]
    for index, (call, call_id) in enumerate(zip(answer.calls, ids, strict=True)):
        function = {"arguments": call.arguments, "name": call.name}
        whole = {"function": function, "id": call_id, "index": index, "type": "function"}
        deltas.append({"content": None, "tool_calls": [whole]})
    # The opaque value comes with the first call, or else with the last piece of text.
    deltas[-len(ids) if ids else -1] |= opaque
    none = {**dict.fromkeys(usage, 0), "prompt_tokens_details": {"cached_tokens": 0}}
    for delta in deltas[:-1]:
        yield _chunk({"role": "assistant", **delta}, usage=none)
    bill = {"usage": usage, "copilot_usage": copilot_usage(model, answer)}
    yield _chunk({"role": "assistant", **deltas[-1]}, finish=_finish(answer), **bill)


_STREAMS = {"azure": _azure, "claude": _claude, "gemini": _gemini}


def _move_usage(chunks: list[dict[str, Any]], shared: Delta) -> None:
    moved: dict[str, Any] = {"choices": []}
    for chunk in chunks:
        for name in ("usage", "copilot_usage"):
            if name in chunk:
                moved[name] = chunk.pop(name)
    chunks.append({**shared, **moved})


def _frame(chunks: list[dict[str, Any]], model: Model) -> Iterator[Piece]:
    quirks = model.quirks
    if "comments" in quirks:
        yield b": the connection is open\n\n"
    if "references" in quirks:
        yield b'data: {"choices":null,"copilot_references":[],"id":null}\n\n'
    for number, chunk in enumerate(chunks):
        if "no_finish" in quirks and any("finish_reason" in choice for choice in chunk["choices"]):
            continue
        if "stray_line" in quirks and number == len(chunks) // 2:
            yield b"data: this is not JSON\n\n"
        yield f"data: {html_safe_json(chunk)}\n\n".encode()
        if "comments" in quirks:
            yield b":\n\n"
    if "no_done" not in quirks:
        yield b"data: [DONE]\n\n"


def _whole(
    answer: Answer, model: Model, ids: list[str], usage: Delta, seals: Sealer, now: float
) -> dict[str, Any]:
    message: dict[str, Any] = {"content": answer.text, "role": "assistant"}
    if answer.thoughts and model.flavour != "azure":
        opaque = seals.seal(OPAQUE, answer.thinking)
        message |= {"reasoning_text": answer.thinking, "reasoning_opaque": opaque}
    calls = [
        {"function": {"arguments": call.arguments, "name": call.name}, "id": call_id, "type": "function"}
        for call, call_id in zip(answer.calls, ids, strict=True)
    ]
    finish = _finish(answer)
    if model.flavour == "claude":
        # Text and calls are two choices, neither of which has an index.
        choices: list[dict[str, Any]] = [{"finish_reason": finish, "message": message}]
        if calls:
            choices.append({"finish_reason": finish, "message": {"role": "assistant", "tool_calls": calls}})
        more = {"created": int(now), "model": model.name}
    else:
        message |= {"tool_calls": calls} if calls else {}
        message |= {"padding": "abcdefghijklmn"} if model.flavour == "azure" else {}
        choices = [{"finish_reason": finish, "index": 0, "content_filter_results": {}, "message": message}]
        more = {"model": model.version or model.id}
    if model.flavour == "azure":
        more |= {"service_tier": "default", "system_fingerprint": f"fp_{secrets.token_hex(5)}"}
    return {
        "choices": choices,
        "id": _response_id(model),
        "usage": usage,
        "copilot_usage": copilot_usage(model, answer),
        **more,
    }
