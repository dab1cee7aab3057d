"""From validated params to the canonical vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    NamedTool,
    Origin,
    OtherBlock,
    Position,
    Range,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    WarningEvent,
)
from jumpseat.engine import TurnAsk
from jumpseat.rpc import params as wire
from jumpseat.rpc.unknown_keys import warnings_of_unknown
from jumpseat.wire import read_json, write_json


def ask_from_wire(params: wire.ChatStartParams) -> TurnAsk:
    """What `chat/start` asks."""
    return _turn(params, messages_from_wire(params.messages))


def edit_from_wire(params: wire.EditStartParams) -> tuple[TurnAsk, ContextBlock]:
    """What `edit/start` asks, without messages, and the text to rewrite."""
    return _turn(params, ()), _context(params.target)


def messages_from_wire(params: Sequence[wire.MessageParam]) -> tuple[Message, ...]:
    """A conversation."""
    return tuple(Message(each.role, tuple(_block(block) for block in each.content)) for each in params)


def _turn(params: wire.TurnParams, messages: Sequence[Message]) -> TurnAsk:
    choice, output = params.tool_choice, params.output_mode
    return TurnAsk(
        messages=messages,
        system=params.system,
        model=params.model,
        tools=tuple(ToolDefinition(tool.name, tool.description, tool.parameters) for tool in params.tools),
        tool_choice=NamedTool(choice.name) if isinstance(choice, wire.NamedToolParam) else choice,
        max_tokens=params.max_tokens,
        stop_sequences=tuple(params.stop_sequences),
        stream=params.stream,
        output_mode=JsonSchemaOutput(output.schema_)
        if isinstance(output, wire.SchemaOutputParam)
        else output,
        thinking=params.thinking,
        # Null is absent here too, though the params' own models do not look into settings.
        settings={key: value for key, value in params.settings.items() if value is not None},
        conversation_id=params.conversation_id,
        initiator=params.initiator,
        warnings=tuple(_warnings(params)),
    )


def _warnings(params: wire.TurnParams) -> list[WarningEvent]:
    names = [field.alias or name for name, field in type(params).model_fields.items()]
    return warnings_of_unknown(params.model_extra, names) if params.model_extra else []


def _block(param: wire.BlockOfAMessage) -> ContentBlock:
    origin = Origin(param.origin.provider, param.origin.model) if param.origin else None
    opaque = param.opaque
    match param:
        case wire.TextParam():
            return TextBlock(param.text, origin=origin, opaque=opaque)
        case wire.ImageParam():
            return ImageBlock(param.source, param.media_type, origin=origin, opaque=opaque)
        case wire.ContextParam():
            return _context(param)
        case wire.ToolUseParam():
            return _tool_use(param, origin)
        case wire.ToolResultParam():
            content = param.content
            text = content if isinstance(content, str) else "".join(block.text for block in content)
            return ToolResultBlock(param.tool_use_id, text, param.is_error, origin=origin, opaque=opaque)
        case wire.ThinkingParam():
            return ThinkingBlock(param.thinking, param.signature, origin=origin, opaque=opaque)
        case wire.RedactedThinkingParam():
            return RedactedThinkingBlock(param.data, origin=origin, opaque=opaque)
        case wire.OtherParam():
            return OtherBlock(param.kind, param.text, origin=origin, opaque=opaque)
        case _:
            assert_never(param)


def _context(param: wire.ContextParam) -> ContextBlock:
    return ContextBlock(
        param.text,
        param.uri,
        param.language_id,
        _range(param.range) if param.range else None,
        param.label,
        origin=Origin(param.origin.provider, param.origin.model) if param.origin else None,
        opaque=param.opaque,
    )


def _tool_use(param: wire.ToolUseParam, origin: Origin | None) -> ToolUseBlock:
    """A tool call; where a client kept only one of `raw` and `arguments`, the other is made from it."""
    arguments, raw = param.arguments, param.raw
    written_by_lua = raw is not None and raw.strip() == "[]" and param.error is None
    if raw is None or written_by_lua:  # An empty array there is Lua's empty object.
        raw = write_json(arguments or {}).decode()
        arguments = arguments or {}
    elif arguments is None and param.error is None:
        try:
            parsed = read_json(raw or "{}")
        except ValueError:
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else None
    return ToolUseBlock(param.id, param.name, arguments, raw, param.error, origin=origin, opaque=param.opaque)


def _range(param: wire.RangeParam) -> Range:
    return Range(
        Position(param.start.line, param.start.character), Position(param.end.line, param.end.character)
    )
