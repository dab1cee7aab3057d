"""Encodes requests in the chat-completions dialect.

Source: POST /chat/completions in OpenAI's API reference; `tests/dialect_rows/chat_completions.py` for
compatible servers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, assert_never

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
)
from jumpseat.dialects import cache_marks
from jumpseat.dialects.chat_completions.reasoning import CONTENT_PART, replay_reasoning
from jumpseat.dialects.chat_completions.tool_ids import nine_character_ids
from jumpseat.dialects.context_text import render_context
from jumpseat.dialects.efforts import COMMON, nearest_effort
from jumpseat.dialects.opaque import own_id, own_ids, read_opaque
from jumpseat.dialects.parameters import join_lists, merge_parameters
from jumpseat.dialects.user_parts import (
    document_name,
    document_url,
    image_url,
    media_after_results,
    result_text,
)

STRUCTURE = frozenset({"messages", "model", "stream", "tools"})
"""The members of the body that are never dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """The properties of the endpoint that the encoder depends on."""

    provider: str
    """The configured provider's id; opaque data of another origin is left out."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    include_usage: bool = True
    """Whether to request the usage of a streamed answer; some servers reject `stream_options`."""

    roles: Mapping[str, str] = field(default_factory=dict)
    """The endpoint's names for the roles `system`, `user`, `assistant` and `tool`, if they differ."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of the body. `tools` are appended; all others override the request."""

    dropped: Collection[str] = ()
    """The parameters that the endpoint rejects."""

    efforts: Collection[str] = COMMON
    """The efforts that the model accepts."""

    tool_ids: Literal["any", "nine_characters"] = "any"
    """The form of tool call ids that the endpoint accepts; for Mistral, exactly nine letters and digits."""

    takes_text_parts: bool = True
    """Whether the endpoint accepts several texts in one message; otherwise they are joined."""

    wants_reasoning_content: bool = False
    """Whether the endpoint rejects an assistant's tool calls without `reasoning_content`, as DeepSeek does
    while it thinks. A message with calls but without reasoning then gets an empty `reasoning_content`."""

    cache_marks: Literal["none", "parts", "messages"] = "none"
    """The form of marks for the prompt cache. `parts` means `cache_control` in a part of the content, which
    gateways to Claude accept. `messages` means Copilot's `copilot_cache_control` in a message."""


def encode(request: ChatRequest, facts: EndpointFacts) -> dict[str, Any]:
    """Return the JSON body of the request.

    Blocks that the dialect does not support (`redacted_thinking`, `other`) and opaque data of another
    provider or model are left out.
    """
    body: dict[str, Any] = {"model": request.model, "messages": _encode_messages(request, facts)}
    if request.stream:
        body["stream"] = True
        if facts.include_usage:
            body["stream_options"] = {"include_usage": True}
    extra = merge_parameters(facts.parameters, request.settings)
    tools = join_lists(map(_encode_tool, request.tools), extra.pop("tools", ()))
    if tools:
        body["tools"] = tools
        if isinstance(request.tool_choice, NamedTool):
            body["tool_choice"] = {"type": "function", "function": {"name": request.tool_choice.name}}
        elif request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    body[facts.max_tokens_field] = request.max_tokens
    if request.stop_sequences:
        body["stop"] = list(request.stop_sequences)
    if request.thinking is not None:
        effort = nearest_effort(request.thinking, facts.efforts)
        if effort is not None:
            body["reasoning_effort"] = effort
    if isinstance(request.output_mode, JsonSchemaOutput):
        # `strict` is not set, because the API rejects it for schemas with an optional property.
        schema = {"name": "output", "schema": dict(request.output_mode.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.output_mode == "json":
        body["response_format"] = {"type": "json_object"}
    body |= extra
    return {name: value for name, value in body.items() if name in STRUCTURE or name not in facts.dropped}


def _encode_tool(tool: ToolDefinition) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
    }
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _encode_messages(request: ChatRequest, facts: EndpointFacts) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": facts.system_role, "content": request.system})
    origin = Origin(facts.provider, request.model)
    ids = own_ids(request.messages, origin)
    sent = [message for message in request.messages if message.role == "user" or _can_be_sent(message)]
    # Some chat templates reject consecutive messages of one role.
    for role, group in groupby(sent, lambda message: message.role):
        run = list(group)
        is_user = role == "user"
        messages += (
            _encode_user(run, ids, facts.takes_text_parts) if is_user else [_encode_assistant(run, origin)]
        )
    if facts.wants_reasoning_content:
        for message in messages:
            if "tool_calls" in message:
                message.setdefault("reasoning_content", "")
    if facts.tool_ids == "nine_characters":
        _rename_calls(messages)
    if facts.cache_marks != "none":
        _mark(messages, facts)
    if facts.roles:
        # Rename the roles last, because the code above uses the dialect's own names.
        for message in messages:
            role = "system" if message["role"] == "developer" else message["role"]
            message["role"] = facts.roles.get(role, message["role"])
    return messages


def _mark(messages: Sequence[dict[str, Any]], facts: EndpointFacts) -> None:
    """Mark the system prompt and the ends of the user's last two turns, which include tool results."""
    systems = [message for message in messages[:1] if message["role"] == facts.system_role]
    for message in [*systems, *cache_marks.ends_of_user_turns(messages, ["user", "tool"])]:
        if facts.cache_marks == "parts":
            cache_marks.mark_part(message)
        else:
            message[cache_marks.COPILOT_NAME] = cache_marks.MARK


def _can_be_sent(message: Message) -> bool:
    """Whether an assistant's message has a tool call, an image or a non-empty text."""
    return any(_can_stand_alone(block) for block in message.content)


def _can_stand_alone(block: ContentBlock) -> bool:
    match block:
        case ToolUseBlock():
            return True
        case TextBlock():
            return block.text != ""
        case ImageBlock():
            return True  # The engine has removed images that the endpoint did not generate.
        case ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
            return False
        case DocumentBlock() | ContextBlock() | ToolResultBlock():
            return False  # These occur only in a user's message.
        case _:
            assert_never(block)


def _rename_calls(messages: Sequence[dict[str, Any]]) -> None:
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    ids = nine_character_ids(call["id"] for call in calls)
    for call in calls:
        call["id"] = ids[call["id"]]
    for message in messages:
        if message["role"] == "tool":
            message["tool_call_id"] = ids.get(message["tool_call_id"], message["tool_call_id"])


def _encode_user(
    run: Sequence[Message], ids: Mapping[str, str], takes_text_parts: bool
) -> Iterable[dict[str, Any]]:
    # Tool results must follow their calls directly.
    blocks = [block for message in run for block in message.content]
    for block in blocks:
        if isinstance(block, ToolResultBlock):
            call_id = ids.get(block.tool_use_id, block.tool_use_id)
            yield {"role": "tool", "tool_call_id": call_id, "content": result_text(block)}
    blocks_to_send = [*media_after_results(blocks), *blocks]
    encoded = map(_encode_part, blocks_to_send)
    parts = [part for part in encoded if part is not None and part.get("text") != ""]
    if any(part["type"] != "text" for part in parts) or (len(parts) > 1 and takes_text_parts):
        yield {"role": "user", "content": parts}
    elif parts or not any(isinstance(block, ToolResultBlock) for block in blocks):
        # Send a plain string if possible, because every server accepts it.
        yield {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}


def _encode_part(block: ContentBlock) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ContextBlock():
            return {"type": "text", "text": render_context(block)}
        case ImageBlock():
            return {"type": "image_url", "image_url": {"url": image_url(block)}}
        case DocumentBlock():
            return {"type": "file", "file": _encode_file(block)}
        case ToolResultBlock():
            return None  # A result becomes a separate message.
        case ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
            return None  # These occur only in an assistant's message.
        case _:
            assert_never(block)


def _encode_file(block: DocumentBlock) -> dict[str, str]:
    if block.source.startswith("https:"):
        raise RequestError(
            "Chat completions do not accept a document by its URL.",
            hint="Attach the document itself, as base64 or as a data: URL.",
        )
    return {"filename": document_name(block), "file_data": document_url(block)}


def _encode_assistant(run: Sequence[Message], origin: Origin) -> dict[str, Any]:
    blocks = [block for message in run for block in message.content]
    texts = ("".join(b.text for b in message.content if isinstance(b, TextBlock)) for message in run)
    text = "\n\n".join(filter(None, texts))
    calls: list[dict[str, Any]] = []
    thoughts: list[ThinkingBlock] = []
    images: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case ToolUseBlock():
                calls.append(_encode_call(block, origin))
            case ThinkingBlock():
                if block.origin == origin:
                    thoughts.append(block)
            case ImageBlock():
                images.append({"type": "image_url", "image_url": {"url": image_url(block)}})
            case TextBlock():
                pass  # It is part of `text`.
            case RedactedThinkingBlock() | OtherBlock():
                pass  # The dialect does not support these.
            case DocumentBlock() | ContextBlock() | ToolResultBlock():
                pass  # These occur only in a user's message.
            case _:
                assert_never(block)
    # Null is valid only with tool calls. Without calls and text, the message has images: see below.
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if any(_is_part(block) for block in thoughts):
        message["content"] = _encode_thinking_parts(blocks, origin)
    message |= replay_reasoning((block.thinking, block.opaque) for block in thoughts)
    if images:
        message |= {"content": message["content"] or "", "images": images}
    if calls:
        message["tool_calls"] = calls
    return message


def _is_part(block: ThinkingBlock) -> bool:
    return read_opaque(block.opaque).get("field") == CONTENT_PART


def _encode_thinking_parts(blocks: Iterable[ContentBlock], origin: Origin) -> list[dict[str, Any]]:
    """Return thinking and text as parts of the content, in the format of Mistral's reasoning models."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock) and block.text:
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ThinkingBlock) and block.origin == origin and _is_part(block):
            thinking = [{"type": "text", "text": block.thinking}]
            parts.append({"type": "thinking", "thinking": thinking})
    return parts


def _encode_call(block: ToolUseBlock, origin: Origin) -> dict[str, Any]:
    # Arguments are sent as the model wrote them, even if they are malformed. Only an empty text or `null` is
    # replaced with an object, because the templates of local servers require one.
    raw = block.raw
    if raw.strip() in ("", "null"):
        raw = json.dumps(block.arguments or {}, ensure_ascii=False)
    known = read_opaque(block.opaque) if block.origin == origin else {}
    call: dict[str, Any] = {"id": own_id(block, origin)}
    if known.get("type") == "custom":
        call |= {"type": "custom", "custom": {"name": block.name, "input": block.raw}}
    else:
        call |= {"type": "function", "function": {"name": block.name, "arguments": raw}}
    if extra := known.get("extra_content"):
        call["extra_content"] = extra
    return call
