"""Encodes requests in the Messages dialect.

Source: POST /v1/messages in Anthropic's API reference; `tests/dialect_rows/anthropic_messages.py` for the
limits of models and compatible endpoints.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never
from urllib.parse import unquote_to_bytes

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    NamedTool,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)
from jumpseat.chat.media import has_document_type
from jumpseat.dialects import cache_marks
from jumpseat.dialects.anthropic_messages.blocks import (
    drop_cut_off_calls,
    encode_assistant_part,
    encode_tool_id,
)
from jumpseat.dialects.anthropic_messages.models import ModelRules, rules_of
from jumpseat.dialects.anthropic_messages.thinking import (
    apply_thinking,
    drop_refused_effort,
    drop_refused_sampling,
)
from jumpseat.dialects.context_text import render_context
from jumpseat.dialects.opaque import own_ids
from jumpseat.dialects.parameters import join_lists, merge_parameters

JSON_ONLY = "Answer with one JSON value and nothing else: no explanation, no code fence."

GO_ON = "Go on."
"""The user message to append if the model cannot continue its own message."""

_THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesFacts:
    """The properties of the endpoint that the encoder depends on."""

    provider: str
    """The configured provider's id; data that another origin signed is left out."""

    rules: ModelRules | None = None
    """The rules of the model; None to derive them from its name."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of the body. `tools` are appended; all others override the request."""

    marks_cache: bool = False
    """Whether to mark the request for the prompt cache, unless `parameters` already contains marks."""


class _Encoded(NamedTuple):
    """A message, and its parts on the wire."""

    message: Message
    parts: Sequence[dict[str, Any]]


def encode(request: ChatRequest, facts: MessagesFacts) -> dict[str, Any]:
    """Return the JSON body of the request, without the warnings."""
    return encode_with_warnings(request, facts)[0]


def encode_with_warnings(
    request: ChatRequest, facts: MessagesFacts
) -> tuple[dict[str, Any], list[WarningEvent]]:
    """Return the JSON body of the request, and a warning for each part that the model does not accept."""
    rules = facts.rules or rules_of(request.model)
    warnings: list[WarningEvent] = []
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": min(request.max_tokens, rules.max_output_tokens or request.max_tokens),
        "messages": _encode_messages(request, facts, rules, warnings),
    }
    if request.system and request.system.strip():
        body["system"] = request.system
    if request.stream:
        body["stream"] = True
    extra = merge_parameters(facts.parameters, request.settings)
    tools = join_lists(map(_encode_tool, request.tools), extra.pop("tools", ()))
    if tools:
        body["tools"] = tools
        _choose_tool(body, request, rules, warnings)
    stops = [each for each in request.stop_sequences if each.strip()]
    if stops:
        body["stop_sequences"] = stops
    if len(stops) < len(request.stop_sequences):
        message = "A stop sequence was left out because the API does not accept one that is only whitespace."
        warnings.append(WarningEvent("parameter_dropped", message))
    if request.thinking is not None:
        apply_thinking(body, request.thinking, request.answer_tokens, rules, warnings)
    if request.output_mode != "text":
        _ask_for_json(body, request, rules, warnings)
    for name, value in extra.items():
        is_merged = name == "output_config" and isinstance(value, Mapping)
        body[name] = {**body.get(name, {}), **value} if is_merged else value
    drop_refused_effort(body, warnings)
    drop_refused_sampling(body, rules, warnings)
    if facts.marks_cache and not _is_marked(body):
        _mark(body)
    return body, warnings


def _is_marked(body: Mapping[str, Any]) -> bool:
    """Whether the configured parameters already contain marks. The API accepts at most four in total."""
    rows = [body, *body.get("tools", ())]
    if isinstance(body.get("system"), list):
        rows += body["system"]
    return any(cache_marks.NAME in row for row in rows)


def _mark(body: dict[str, Any]) -> None:
    if "tools" in body:
        cache_marks.mark_last_tool(body["tools"])
    if "system" in body:
        cache_marks.mark_part(body, "system")
    for message in cache_marks.ends_of_user_turns(body["messages"], ["user"]):
        cache_marks.mark_part(message)


def _encode_tool(tool: ToolDefinition) -> dict[str, Any]:
    schema = {"type": "object", **tool.parameters}
    if len(schema) == 1:
        schema["properties"] = {}
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": schema}


def _choose_tool(
    body: dict[str, Any], request: ChatRequest, rules: ModelRules, warnings: list[WarningEvent]
) -> None:
    choice = request.tool_choice
    if choice == "auto":
        return
    if choice == "none":
        body["tool_choice"] = {"type": "none"}
    elif not rules.takes_forced_tools:
        message = f"{request.model} cannot be forced to call a tool, so it might answer without one."
        warnings.append(WarningEvent("tool_choice_dropped", message))
    elif isinstance(choice, NamedTool):
        body["tool_choice"] = {"type": "tool", "name": choice.name}
    else:
        body["tool_choice"] = {"type": "any"}


def _ask_for_json(
    body: dict[str, Any], request: ChatRequest, rules: ModelRules, warnings: list[WarningEvent]
) -> None:
    """Request JSON in `output_config.format` if the model takes a schema there, else in the system prompt."""
    mode = request.output_mode
    if isinstance(mode, JsonSchemaOutput) and rules.takes_schemas:
        form = {"type": "json_schema", "schema": _close_schema(mode.schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": form}
        return
    instruction = JSON_ONLY
    if isinstance(mode, JsonSchemaOutput):
        schema = json.dumps(mode.schema, ensure_ascii=False)
        instruction = f"{JSON_ONLY} It must be valid against this JSON Schema:\n{schema}"
    body["system"] = f"{body['system']}\n\n{instruction}" if "system" in body else instruction
    message = f"{request.model} does not support this JSON mode. The system prompt asks for JSON instead."
    warnings.append(WarningEvent("json_mode_emulated", message))


def _close_schema(schema: Any) -> Any:
    """Return the schema with `additionalProperties: false` in every object, which the API requires."""
    if isinstance(schema, Mapping):
        closed = {name: _close_schema(value) for name, value in schema.items()}
        if closed.get("type") == "object" and "additionalProperties" not in closed:
            closed["additionalProperties"] = False
        return closed
    return [_close_schema(each) for each in schema] if isinstance(schema, list | tuple) else schema


def _encode_messages(
    request: ChatRequest, facts: MessagesFacts, rules: ModelRules, warnings: list[WarningEvent]
) -> list[dict[str, Any]]:
    """Return the wire messages; consecutive messages of one role are merged, as the API would do."""
    origin = Origin(facts.provider, request.model)
    ids = own_ids(request.messages, origin)
    runs: list[list[_Encoded]] = []
    for message in request.messages:
        is_user = message.role == "user"
        parts = [
            part
            for block in message.content
            if (part := _encode_user_part(block, ids) if is_user else encode_assistant_part(block, origin))
        ]
        # The API rejects an empty message, and thinking at the end of a message.
        if all(part["type"] in _THINKING for part in parts):
            continue
        if runs and runs[-1][0].message.role == message.role:
            runs[-1].append(_Encoded(message, parts))
        else:
            runs.append([_Encoded(message, parts)])
    messages: list[dict[str, Any]] = []
    for run in runs:
        role = run[0].message.role
        content = _join_user(run) if role == "user" else _join_assistant(run, origin, warnings)
        messages.append({"role": role, "content": content})
    messages = drop_cut_off_calls(messages, warnings)
    if messages and messages[-1]["role"] == "assistant":
        parts = messages[-1]["content"]
        # A turn with blocks of the provider's own tools may be paused. The API continues it as it is.
        if not rules.takes_prefill and all(part["type"] in ("text", *_THINKING) for part in parts):
            messages.append({"role": "user", "content": [{"type": "text", "text": GO_ON}]})
            text = f"{request.model} cannot continue its own message, so a user message {GO_ON!r} was added."
            warnings.append(WarningEvent("prefill_replaced", text))
        elif parts[-1]["type"] == "text":
            # The API rejects a prefill that ends in whitespace.
            parts[-1]["text"] = parts[-1]["text"].rstrip()
    return messages


def _join_user(run: Sequence[_Encoded]) -> list[dict[str, Any]]:
    # The API requires tool results before other parts of the message.
    parts = (part for each in run for part in each.parts)
    return sorted(parts, key=lambda part: part["type"] != "tool_result")


def _encode_user_part(block: ContentBlock, ids: Mapping[str, str]) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            # The API rejects a text block that is only whitespace.
            return {"type": "text", "text": block.text} if block.text.strip() else None
        case ContextBlock():
            return {"type": "text", "text": render_context(block)}
        case ImageBlock():
            return {"type": "image", "source": _encode_image(block)}
        case DocumentBlock():
            title = {"title": block.name} if block.name else {}
            return {"type": "document", "source": _encode_document(block), **title}
        case ToolResultBlock():
            call_id = encode_tool_id(ids.get(block.tool_use_id, block.tool_use_id))
            part: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id}
            if isinstance(block.content, tuple):
                inner = (_encode_user_part(each, ids) for each in block.content)
                part["content"] = [each for each in inner if each is not None]
            elif block.content.strip():
                part["content"] = block.content
            if block.is_error:
                part |= {"content": part.get("content", "Error"), "is_error": True}
            return part
        case ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
            return None  # These occur only in an assistant's message.
        case _:
            assert_never(block)


def _encode_document(block: DocumentBlock) -> dict[str, Any]:
    if has_document_type(block, ("text/",)) and not block.source.startswith("https:"):
        # The only text type that the API accepts is plain text, which must not be encoded in base64.
        try:
            text = base64.b64decode(block.source.rpartition(",")[2]).decode("utf-8", "replace")
        except ValueError:
            raise RequestError("A document in the chat is not valid base64.") from None
        return {"type": "text", "media_type": "text/plain", "data": text}
    return _encode_source(block, "application/pdf")


def _encode_image(block: ImageBlock) -> dict[str, Any]:
    return _encode_source(block, "image/png")


def _encode_source(block: ImageBlock | DocumentBlock, usual_type: str) -> dict[str, Any]:
    if block.source.startswith(("https:", "http:")):
        return {"type": "url", "url": block.source}
    data, media_type = block.source, block.media_type or usual_type
    if data.startswith("data:"):
        head, _, data = data.removeprefix("data:").partition(",")
        media_type, *options = head.split(";")
        if "base64" not in options:
            data = base64.b64encode(unquote_to_bytes(data)).decode()
    return {"type": "base64", "media_type": media_type or usual_type, "data": data}


def _join_assistant(
    run: Sequence[_Encoded], origin: Origin, warnings: list[WarningEvent]
) -> list[dict[str, Any]]:
    blocks = (block for each in run for block in each.message.content)
    thoughts = sum(isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in blocks)
    # A signature covers its turn, so merging two turns invalidates it.
    keeps_thinking = len(run) == 1
    kept = [part for each in run for part in each.parts if keeps_thinking or part["type"] not in _THINKING]
    sent = len(kept)
    lost = thoughts - sum(part["type"] in _THINKING for part in kept)
    if lost:
        message = f"Reasoning that {origin.model} cannot accept was left out of the request ({lost} blocks)."
        warnings.append(WarningEvent("foreign_data_dropped", message))
    # The API rejects thinking at the end of a message, as in a truncated answer.
    while kept and kept[-1]["type"] in _THINKING:
        kept.pop()
    if trailing := sent - len(kept):
        message = (
            f"Reasoning at the end of an answer was left out ({trailing} blocks): {origin.model} refuses it."
        )
        warnings.append(WarningEvent("unfinished_dropped", message))
    return kept
