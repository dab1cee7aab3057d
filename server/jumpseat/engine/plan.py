"""Plans the request for an adapter from the client's request: checks, defaults and degradation.

A feature that the model does not support is left out with a warning. If that would change the meaning of the
request (tools, images, documents), planning fails instead. Planning does not send requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import (
    THINKING_ROOM,
    ChatRequest,
    InvalidRequestError,
    Origin,
    OutputMode,
    RequestError,
    ThinkingLevel,
    WarningEvent,
)
from jumpseat.chat.media import get_document_type, has_document_type, replace_unreadable_media
from jumpseat.chat.request import default_initiator
from jumpseat.config import SettingRow, chat_params, check_settings, map_to_body
from jumpseat.dialects.reasoning_models import thinks_by_default
from jumpseat.engine.conversation import Conversation
from jumpseat.engine.generated_images import place_images
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.turn_request import TurnRequest
from jumpseat.providers import ResolvedModel


@dataclass(frozen=True, slots=True)
class Plan:
    """The request to send, and the warnings about it."""

    request: ChatRequest
    warnings: Sequence[WarningEvent]
    fallback_max_tokens: int | None = None
    """The lower output limit to retry with if the provider refuses the request's default limit."""


def plan_turn(
    turn_request: TurnRequest,
    target: ResolvedModel,
    capabilities: Capabilities,
    rows: Mapping[str, SettingRow],
    default_settings: Mapping[str, Any],
    default_max_tokens: int | None,
    *,
    memory: BlockMemory | None = None,
) -> Plan:
    """Plan a turn for one model.

    Args:
        rows: the rows of the provider's settings.
        default_settings: saved settings; the request's settings override them.
        default_max_tokens: the limit of the answer for requests without a limit.
        memory: restores the blocks that the client could not preserve.

    Raises:
        InvalidRequestError: a setting violates its row, or the conversation is invalid (see
            `Conversation`).
        RequestError: the request has tools, images or documents that the model is known not to support.
    """
    problems = check_settings(dict(rows), dict(turn_request.settings))
    if problems:
        raise InvalidRequestError(f"{problems[0].path} {problems[0].message}.", problems)
    origin = Origin(target.provider, target.model)
    if memory is None:
        conversation = Conversation(turn_request.messages, origin)
    else:
        completed = memory.restore(turn_request.messages, origin)
        conversation = Conversation(completed, origin, memory.refusals)
    _refuse_unsupported(turn_request, target, capabilities, conversation)

    warnings = list(turn_request.warnings)
    warnings += turn_request.rules.warnings if turn_request.rules is not None else ()
    settings = _merge_settings(turn_request.settings, default_settings, rows)
    defaults = chat_params(settings, rows)
    placed = place_images(
        conversation.arrange(warnings, user_begins=target.adapter.traits.user_begins),
        sees=capabilities.vision and target.info is not None and target.info.supports_vision is True,
        warnings=warnings,
    )
    readable, dropped = replace_unreadable_media(
        placed,
        f"The model {target.model} of {target.provider}",
        images=not _lacks_vision(target, capabilities),
        documents=target.adapter.traits.document_types,
    )
    warnings += dropped
    thinking = turn_request.thinking or defaults.get("thinking")
    output_mode, thinking = _degrade(turn_request.output_mode, thinking, target, capabilities, warnings)
    named = turn_request.max_tokens or defaults.get("max_tokens") or default_max_tokens
    limits = _limit_tokens(named, thinking, target, capabilities, turn_request.max_tokens_default)
    request = ChatRequest(
        messages=readable if turn_request.paths is None else turn_request.paths.apply(readable),
        model=target.model,
        system=turn_request.full_system,
        tools=turn_request.tools,
        tool_choice=turn_request.tool_choice,
        max_tokens=limits.max_tokens,
        answer_tokens=limits.answer_tokens,
        stop_sequences=turn_request.stop_sequences,
        stream=turn_request.stream,
        output_mode=output_mode,
        thinking=thinking,
        settings=map_to_body(settings, rows),
        conversation_id=turn_request.conversation_id,
        # Use the client's own messages: a tool result that planning added must not make an agent the
        # initiator.
        initiator=turn_request.initiator or default_initiator(turn_request.messages),
    )
    return Plan(request, warnings, limits.fallback)


class _Limits(NamedTuple):
    """The output limits of a request; see `ChatRequest` and `Plan`."""

    max_tokens: int
    answer_tokens: int | None = None
    fallback: int | None = None


def _limit_tokens(
    named: int | None,
    thinking: ThinkingLevel | None,
    target: ResolvedModel,
    capabilities: Capabilities,
    default: Literal["model"] | None,
) -> _Limits:
    """Return the limits for a turn.

    Args:
        named: the limit that the request or the user's settings set, if any.
        default: the field `max_tokens_default` of `TurnRequest`.
    """
    limit = target.info.max_output_tokens if target.info else None
    if named is not None:
        return _Limits(min(named, limit or named))
    answer_tokens = target.adapter.traits.default_max_tokens
    can_think = capabilities.thinking and target.info is not None and target.info.supports_thinking is True
    by_default: ThinkingLevel = "medium" if thinks_by_default(target.model, can_think) else "off"
    tokens = answer_tokens + THINKING_ROOM[thinking or by_default]
    if limit is not None:
        tokens = limit if default == "model" else min(tokens, limit)
    return _Limits(tokens, answer_tokens, answer_tokens if tokens > answer_tokens else None)


def _merge_settings(
    requested: Mapping[str, Any], saved: Mapping[str, Any], rows: Mapping[str, SettingRow]
) -> dict[str, Any]:
    """Merge the settings; those of the request override saved ones, which override defaults."""
    values = {key: row.default for key, row in rows.items() if row.default is not None}
    # Rows change with the configuration, so a value that was valid when it was saved may be invalid now.
    values |= {
        key: value for key, value in saved.items() if key in rows and rows[key].problem_with(value) is None
    }
    return {**values, **requested}


def accepts_tools(target: ResolvedModel, capabilities: Capabilities) -> bool:
    """Whether a request with tools may be sent to a model."""
    info = target.info
    return capabilities.tool_calls and (info is None or info.supports_tool_use is not False)


def _refuse_unsupported(
    turn_request: TurnRequest, target: ResolvedModel, capabilities: Capabilities, conversation: Conversation
) -> None:
    wants_tools = turn_request.tools and turn_request.tool_choice != "none"
    if wants_tools and not accepts_tools(target, capabilities):
        raise RequestError(
            f"The model {target.model} of {target.provider} does not accept tools.",
            provider=target.provider,
            hint="Send the chat without tools, or choose a model that supports them.",
        )
    if conversation.has_images and _lacks_vision(target, capabilities):
        raise RequestError(
            f"The model {target.model} of {target.provider} does not accept images.",
            provider=target.provider,
            hint="Remove the images from the conversation, or choose a model that supports them.",
        )

    types = target.adapter.traits.document_types
    for document in conversation.documents:
        if not has_document_type(document, types):
            raise RequestError(
                f"The model {target.model} of {target.provider} does not accept documents of the type "
                f"{get_document_type(document)}.",
                provider=target.provider,
                hint="Attach the document's text, or choose a model of another provider.",
            )


def _lacks_vision(target: ResolvedModel, capabilities: Capabilities) -> bool:
    return not capabilities.vision or (target.info is not None and target.info.supports_vision is False)


def _degrade(
    output_mode: OutputMode,
    thinking: ThinkingLevel | None,
    target: ResolvedModel,
    capabilities: Capabilities,
    warnings: list[WarningEvent],
) -> tuple[OutputMode, ThinkingLevel | None]:
    """Return the output mode and the thinking level; replace any that is unsupported and warn about it."""
    info = target.info
    if output_mode != "text":
        lacking = _describe_lack(target, capabilities.json_mode, info.supports_json if info else None)
        if lacking is not None:
            message = f"{lacking} does not support JSON mode; the output mode was left out."
            warnings.append(WarningEvent("json_mode_dropped", message))
            output_mode = "text"
    if thinking not in (None, "off"):
        lacking = _describe_lack(target, capabilities.thinking, info.supports_thinking if info else None)
        if lacking is not None:
            message = f"{lacking} does not support thinking levels; the level was left out."
            warnings.append(WarningEvent("thinking_dropped", message))
            thinking = None
    return output_mode, thinking


def _describe_lack(target: ResolvedModel, provider_has: bool, model_has: bool | None) -> str | None:
    """Describe the provider or model that lacks an ability; None if neither is known to lack it."""
    if not provider_has:
        return f"The provider {target.provider}"
    return f"The model {target.model} of {target.provider}" if model_has is False else None
