"""Converts validated params to the types of `chat/` and `engine/`."""

from __future__ import annotations

from jumpseat.chat import JsonSchemaOutput, NamedTool, ToolDefinition, WarningEvent
from jumpseat.context.rules import WorkspaceRules
from jumpseat.engine import ShownPaths, TurnRequest
from jumpseat.rpc import params as wire
from jumpseat.rpc.unknown_keys import warn_about_unknown_keys


def turn_from_wire(
    params: wire.TurnParams, paths: ShownPaths | None = None, rules: WorkspaceRules | None = None
) -> TurnRequest:
    """Return the turn that a client requests. The turn of an edit does not have messages yet."""
    choice, output = params.tool_choice, params.output_mode
    warnings: list[WarningEvent] = []
    if params.model_extra:
        names = [field.alias or name for name, field in type(params).model_fields.items()]
        warnings += warn_about_unknown_keys(params.model_extra, names)
    if params.daemon_tools and type(params) is not wire.ChatStartParams:
        message = "The daemon runs tools only in chats, so daemonTools was ignored."
        warnings.append(WarningEvent("tools_ignored", message))
    return TurnRequest(
        messages=params.messages if isinstance(params, wire.ChatStartParams) else (),
        system=params.system,
        model=params.model,
        tools=tuple(ToolDefinition(tool.name, tool.description, tool.parameters) for tool in params.tools),
        tool_choice=NamedTool(choice.name) if isinstance(choice, wire.NamedToolParam) else choice,
        max_tokens=params.max_tokens,
        max_tokens_default=params.max_tokens_default,
        stop_sequences=tuple(params.stop_sequences),
        stream=params.stream,
        output_mode=JsonSchemaOutput(output.schema_)
        if isinstance(output, wire.SchemaOutputParam)
        else output,
        thinking=params.thinking,
        # Null means absent, as in other params, but the params models do not look into `settings`.
        settings={key: value for key, value in params.settings.items() if value is not None},
        conversation_id=params.conversation_id,
        initiator=params.initiator,
        rules=rules,
        paths=paths,
        warnings=tuple(warnings),
    )
