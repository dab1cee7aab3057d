"""Encodes requests in Ollama's native dialect.

Source: POST /api/chat in Ollama's API reference, `api/types.go` of the server, and
`tests/dialect_rows/ollama_chat.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar, assert_never

from jumpseat.chat import (
    ChatRequest,
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
from jumpseat.dialects.context_text import render_context
from jumpseat.dialects.efforts import effort_warning, nearest_effort
from jumpseat.dialects.opaque import own_id, own_ids
from jumpseat.dialects.parameters import join_lists, merge_parameters
from jumpseat.dialects.user_parts import media_after_results, result_text

_B = TypeVar("_B")

STRUCTURE = frozenset({"messages", "model", "stream", "tools"})
"""The members of the body that are never dropped."""

LEVELS = ("low", "medium", "high")
"""The levels of models that think in levels (gpt-oss). These models cannot turn thinking off."""

TOP_LEVEL = frozenset(
    {"format", "keep_alive", "logprobs", "options", "shift", "think", "top_logprobs", "truncate"}
)
"""The parameters of the body itself; all others are members of `options`. Source: `api.ChatRequest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The properties of the server and the model that the encoder depends on."""

    provider: str
    """The configured provider's id; thinking blocks from another origin are left out."""

    num_ctx: int | None = None
    """The context size to request, in tokens; None for the server's default, which may be 4096."""

    thinks_in_levels: bool = False
    """Whether the model takes a level in `think` and cannot turn thinking off, like gpt-oss.

    For other models, `think` is a boolean.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of the body or of `options`. `tools` are appended; others override the request."""

    dropped: Collection[str] = ()
    """The parameters of the body that the model rejects."""


def encode(request: ChatRequest, facts: ServerFacts) -> dict[str, Any]:
    """Return the JSON body of the request.

    Blocks that the dialect does not support (`redacted_thinking`, `other`) and thinking blocks from another
    provider or model are left out. `find_losses` returns a warning for anything else that is left out.

    Raises:
        RequestError: an image is not base64, or is a URL, which the server does not fetch.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": _encode_messages(request, facts),
        # This must be sent, because the server's default is true.
        "stream": request.stream,
    }
    extra = merge_parameters(facts.parameters, request.settings)
    added = extra.pop("tools", ())
    # The dialect does not have `tool_choice`, so a tool that must not be called is not offered.
    if request.tool_choice != "none" and (
        tools := join_lists(map(_encode_tool, _select_tools(request)), added)
    ):
        body["tools"] = tools
    if request.thinking is not None:
        thinks = request.thinking != "off"
        body["think"] = nearest_effort(request.thinking, LEVELS) if facts.thinks_in_levels else thinks
    if isinstance(request.output_mode, JsonSchemaOutput):
        body["format"] = dict(request.output_mode.schema)
    elif request.output_mode == "json":
        body["format"] = "json"
    # When the context is full, the server would by default drop the oldest messages (`truncate`) or the
    # beginning of the answer (`shift`) silently. With these values, it returns an error for a prompt that is
    # too long, and reports the done reason `length` for an answer that is too long.
    body["truncate"] = False
    body["shift"] = False
    options: dict[str, Any] = {"num_predict": request.max_tokens}
    if facts.num_ctx is not None:
        options["num_ctx"] = facts.num_ctx
    if request.stop_sequences:
        options["stop"] = list(request.stop_sequences)
    for name, value in extra.items():
        if name == "options" and isinstance(value, Mapping):
            options |= value
        elif name in TOP_LEVEL:
            body[name] = value
        else:
            options[name] = value
    body["options"] = options
    return {name: value for name, value in body.items() if name in STRUCTURE or name not in facts.dropped}


def find_losses(request: ChatRequest, facts: ServerFacts) -> list[WarningEvent]:
    """Return a warning for each part of the request that the dialect or the model does not support."""
    model = f"{facts.provider} ({request.model})"
    warnings: list[WarningEvent] = []
    choice = request.tool_choice
    if request.tools and (choice == "required" or isinstance(choice, NamedTool)):
        offer = (
            "so only the named tool is offered"
            if isinstance(choice, NamedTool)
            else "so it might answer without one"
        )
        message = f"{model} cannot be forced to call a tool, {offer}."
        warnings.append(WarningEvent("tool_choice_dropped", message))
    if request.thinking is not None and facts.thinks_in_levels and "think" not in facts.dropped:
        level = nearest_effort(request.thinking, LEVELS)
        warning = effort_warning(model, request.thinking, level)
        warnings += [warning] if warning is not None else []
    if any(block.arguments is None for block in _blocks(request.messages, ToolUseBlock)):
        message = "A tool call was sent without its arguments, because they are not a JSON object."
        warnings.append(WarningEvent("tool_arguments_dropped", message))
    return warnings


def _select_tools(request: ChatRequest) -> Sequence[ToolDefinition]:
    if isinstance(request.tool_choice, NamedTool):
        named = request.tool_choice.name
        return [tool for tool in request.tools if tool.name == named] or request.tools
    return request.tools


def _encode_tool(tool: ToolDefinition) -> dict[str, Any]:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _encode_messages(request: ChatRequest, facts: ServerFacts) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    origin = Origin(facts.provider, request.model)
    ids = own_ids(request.messages, origin)
    names = {block.id: block.name for block in _blocks(request.messages, ToolUseBlock)}
    # Some chat templates reject consecutive messages of one role.
    for role, group in groupby(request.messages, lambda message: message.role):
        run = list(group)
        messages += (
            _encode_user(run, names, ids, facts.provider)
            if role == "user"
            else _encode_assistant(run, origin)
        )
    return messages


def _encode_user(
    run: Sequence[Message], names: Mapping[str, str], ids: Mapping[str, str], provider: str
) -> Iterable[dict[str, Any]]:
    # Tool results must follow their calls directly.
    results: list[dict[str, Any]] = []
    texts: list[str] = []
    images: list[str] = []
    blocks = [block for message in run for block in message.content]
    for block in (*media_after_results(blocks), *blocks):
        match block:
            case ToolResultBlock():
                call_id = ids.get(block.tool_use_id, block.tool_use_id)
                result = {"role": "tool", "content": result_text(block), "tool_call_id": call_id}
                if block.tool_use_id in names:
                    result["tool_name"] = names[block.tool_use_id]
                results.append(result)
            case TextBlock():
                texts.append(block.text)
            case ContextBlock():
                texts.append(render_context(block))
            case ImageBlock():
                images.append(_encode_image(block, provider))
            case DocumentBlock():
                pass  # The adapter's traits list no document types, so the engine rejects documents.
            case ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
                pass  # These occur only in an assistant's message.
            case _:
                assert_never(block)
    yield from results
    text = "\n\n".join(filter(None, texts))
    if images:
        yield {"role": "user", "content": text, "images": images}
    elif text or not results:
        yield {"role": "user", "content": text}


def _encode_image(block: ImageBlock, provider: str) -> str:
    """Return the base64 text without a prefix."""
    if block.source.startswith(("https:", "http:")):
        raise RequestError(
            f"{provider} does not accept an image by its URL.",
            provider=provider,
            hint="Attach the image itself, as base64 or as a data: URL.",
        )
    if not block.source.startswith("data:"):
        return block.source
    head, _, data = block.source.partition(",")
    if not head.endswith(";base64"):
        raise RequestError(
            f"{provider} accepts images in base64 only. A data: URL in the chat is not base64.",
            provider=provider,
        )
    return data


def _encode_assistant(run: Sequence[Message], origin: Origin) -> Iterable[dict[str, Any]]:
    texts = ("".join(b.text for b in message.content if isinstance(b, TextBlock)) for message in run)
    text = "\n\n".join(filter(None, texts))
    thinking = ""
    calls: list[dict[str, Any]] = []
    for block in (block for message in run for block in message.content):
        match block:
            case ThinkingBlock():
                thinking += block.thinking if block.origin == origin else ""
            case ToolUseBlock():
                calls.append(_encode_call(len(calls), block, origin))
            case TextBlock():
                pass  # It is part of `text`.
            case RedactedThinkingBlock() | OtherBlock():
                pass  # The dialect does not support these.
            case ImageBlock() | DocumentBlock() | ContextBlock() | ToolResultBlock():
                pass  # These occur only in a user's message.
            case _:
                assert_never(block)
    if not text and not calls:
        return
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if thinking:
        message["thinking"] = thinking
    if calls:
        message["tool_calls"] = calls
    yield message


def _encode_call(index: int, block: ToolUseBlock, origin: Origin) -> dict[str, Any]:
    # `arguments` must be an object, not JSON text: the server answers a string with an error 400.
    arguments = dict(block.arguments or {})
    call_id = own_id(block, origin)
    return {"id": call_id, "function": {"index": index, "name": block.name, "arguments": arguments}}


def _blocks(messages: Iterable[Message], kind: type[_B]) -> list[_B]:
    return [block for message in messages for block in message.content if isinstance(block, kind)]
