"""Requests of Ollama's native dialect.

Source: POST /api/chat in Ollama's API reference, `api/types.go` of the server, and the ollama reference.
Above it is the adapter, which knows the server's facts; it does no I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar, assert_never

from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
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
from jumpseat.dialects.opaque import own_id, own_ids
from jumpseat.dialects.user_parts import result_text

_B = TypeVar("_B")

STRUCTURE = frozenset({"messages", "model", "stream", "tools"})
"""What parameters of a configuration may not replace."""

TOP_LEVEL = frozenset(
    {"format", "keep_alive", "logprobs", "options", "shift", "think", "top_logprobs", "truncate"}
)
"""Parameters of the body itself; every other one belongs into `options`. Source: `api.ChatRequest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What has to be known of the server and the model to write a request."""

    provider: str
    """The configured provider's id: thinking of another origin is left out."""

    num_ctx: int | None = None
    """Tokens of context to ask for; None leaves it to the server, whose default may be 4096."""

    thinks_in_levels: bool = False
    """`think` takes a level and cannot be switched off, as with gpt-oss; else it is on or off."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters, laid over what the request gives; those that are options go there."""

    dropped: Collection[str] = ()
    """Parameters of the body that the model refuses."""


def encode(request: ChatRequest, facts: ServerFacts) -> dict[str, Any]:
    """The request's JSON body.

    Blocks that the dialect cannot say (`redacted_thinking`, `other`) and thinking of another provider or
    model are left out; `losses` tells what else is.

    Raises:
        RequestError: an image is a URL, which the server would not fetch.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(request, facts),
        # Said in any case: the server streams unless it is told not to.
        "stream": request.stream,
    }
    tools = _offered_tools(request)
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
    if request.thinking is not None:
        body["think"] = _think(request, facts)
    if isinstance(request.output_mode, JsonSchemaOutput):
        body["format"] = dict(request.output_mode.schema)
    elif request.output_mode == "json":
        body["format"] = "json"
    # Without these two the server drops the oldest messages, or the beginning of the answer, without a
    # word where the context is full. Then it says so: by an error, and by the done reason `length`.
    body["truncate"] = False
    body["shift"] = False
    options: dict[str, Any] = {"num_predict": request.max_tokens}
    if facts.num_ctx is not None:
        options["num_ctx"] = facts.num_ctx
    if request.stop_sequences:
        options["stop"] = list(request.stop_sequences)
    for name, value in (*facts.parameters.items(), *request.settings.items()):
        if name == "options" and isinstance(value, Mapping):
            options |= value
        elif name in TOP_LEVEL:
            body[name] = value
        elif name not in STRUCTURE:
            options[name] = value
    body["options"] = options
    return {name: value for name, value in body.items() if name in STRUCTURE or name not in facts.dropped}


def losses(request: ChatRequest, facts: ServerFacts) -> list[WarningEvent]:
    """What of the request the dialect, or this model, cannot say; for the user to know."""
    here = f"{facts.provider} ({request.model})"
    told: list[WarningEvent] = []
    choice = request.tool_choice
    if request.tools and (choice == "required" or isinstance(choice, NamedTool)):
        offer = "the named one is offered alone" if isinstance(choice, NamedTool) else "it may answer without"
        told.append(WarningEvent("tool_choice_dropped", f"{here} cannot be made to call a tool; {offer}."))
    if request.thinking == "off" and facts.thinks_in_levels and "think" not in facts.dropped:
        told.append(
            WarningEvent("thinking_adjusted", f"{here} cannot stop thinking; it is asked to think little.")
        )
    if any(block.arguments is None for block in _blocks(request.messages, ToolUseBlock)):
        told.append(
            WarningEvent(
                "tool_arguments_dropped",
                "A tool call whose arguments cannot be read was sent without them: they must be an object.",
            )
        )
    return told


def _think(request: ChatRequest, facts: ServerFacts) -> bool | str:
    if not facts.thinks_in_levels:
        return request.thinking != "off"
    return "low" if request.thinking in (None, "off") else request.thinking


def _offered_tools(request: ChatRequest) -> Sequence[ToolDefinition]:
    """The dialect has no `tool_choice`: what must not be called is not offered."""
    if request.tool_choice == "none":
        return ()
    if isinstance(request.tool_choice, NamedTool):
        named = request.tool_choice.name
        return [tool for tool in request.tools if tool.name == named] or request.tools
    return request.tools


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _messages(request: ChatRequest, facts: ServerFacts) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    origin = Origin(facts.provider, request.model)
    ids = own_ids(request.messages, origin)
    names = {block.id: block.name for block in _blocks(request.messages, ToolUseBlock)}
    # Chat templates of models may refuse two messages of one role in a row.
    for role, group in groupby(request.messages, lambda message: message.role):
        run = list(group)
        messages += _user(run, names, ids, facts.provider) if role == "user" else _assistant(run, origin)
    return messages


def _user(
    run: Sequence[Message], names: Mapping[str, str], ids: Mapping[str, str], provider: str
) -> Iterable[dict[str, Any]]:
    """Tool results first: they must follow the calls before anything else does."""
    results: list[dict[str, Any]] = []
    texts: list[str] = []
    images: list[str] = []
    for block in (block for message in run for block in message.content):
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
                images.append(_image(block, provider))
            case ToolUseBlock() | ThinkingBlock() | RedactedThinkingBlock() | OtherBlock():
                pass  # Only in an assistant's message.
            case _:
                assert_never(block)
    yield from results
    text = "\n\n".join(filter(None, texts))
    if images:
        yield {"role": "user", "content": text, "images": images}
    elif text or not results:
        yield {"role": "user", "content": text}


def _image(block: ImageBlock, provider: str) -> str:
    """Bare base64, which is all that the server takes."""
    if block.source.startswith(("https:", "http:")):
        raise RequestError(
            f"{provider} takes the bytes of an image only, not an address of one.",
            provider=provider,
            hint="Attach the image itself, as base64 or as a data: URL.",
        )
    if not block.source.startswith("data:"):
        return block.source
    head, _, data = block.source.partition(",")
    if not head.endswith(";base64"):
        raise RequestError(
            f"{provider} takes images in base64 only; a data: URL of the chat is not.", provider=provider
        )
    return data


def _assistant(run: Sequence[Message], origin: Origin) -> Iterable[dict[str, Any]]:
    texts = ("".join(b.text for b in message.content if isinstance(b, TextBlock)) for message in run)
    text = "\n\n".join(filter(None, texts))
    thinking = ""
    calls: list[dict[str, Any]] = []
    for block in (block for message in run for block in message.content):
        match block:
            case ThinkingBlock():
                thinking += block.thinking if block.origin == origin else ""
            case ToolUseBlock():
                calls.append(_call(len(calls), block, origin))
            case TextBlock():
                pass  # In `text`.
            case RedactedThinkingBlock() | OtherBlock():
                pass  # The dialect has no form for these.
            case ImageBlock() | ContextBlock() | ToolResultBlock():
                pass  # Only in a user's message.
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


def _call(index: int, block: ToolUseBlock, origin: Origin) -> dict[str, Any]:
    # `arguments` is an object here, never its text; a string is refused with 400.
    arguments = dict(block.arguments or {})
    call_id = own_id(block, origin)
    return {"id": call_id, "function": {"index": index, "name": block.name, "arguments": arguments}}


def _blocks(messages: Iterable[Message], kind: type[_B]) -> list[_B]:
    return [block for message in messages for block in message.content if isinstance(block, kind)]
