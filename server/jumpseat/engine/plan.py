"""Plans the request for an adapter from the client's request: checks, defaults and degradation.

Each change causes a warning. A feature that cannot be dropped without a change of meaning (tools, images)
causes an error. Planning does not send requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import (
    THINKING_ROOM,
    ChatRequest,
    InvalidRequestError,
    Origin,
    RequestError,
    ThinkingLevel,
    WarningEvent,
)
from jumpseat.chat.media import document_type, takes_document, without_unreadable_results
from jumpseat.config import SettingRow, chat_params, check_settings, mapped
from jumpseat.dialects.thinks_by_default import thinks_by_default
from jumpseat.engine.ask import TurnAsk
from jumpseat.engine.conversation import Conversation
from jumpseat.engine.generated_images import with_placed_images
from jumpseat.engine.memory import BlockMemory
from jumpseat.providers import ResolvedModel


@dataclass(frozen=True, slots=True)
class Plan:
    """The request to send, and the warnings about it."""

    request: ChatRequest
    warnings: Sequence[WarningEvent]
    fallback_max_tokens: int | None = None
    """The lower limit of the answer that applies if the provider refuses the request's default limit."""


def plan(
    ask: TurnAsk,
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
        ask: the client's request.
        target: the model.
        capabilities: the provider's capabilities.
        rows: the rows of the provider's settings.
        default_settings: saved settings; the request's settings override them.
        default_max_tokens: the limit for requests without one.
        memory: restores the blocks that the client could not preserve.

    Raises:
        InvalidRequestError: a setting violates its row, or the conversation is invalid (see
            `conversation`).
        RequestError: the request has tools, images or documents, which the model is known not to support.
    """
    problems = check_settings(dict(rows), dict(ask.settings))
    if problems:
        raise InvalidRequestError(f"{problems[0].path} {problems[0].message}.", problems)
    origin = Origin(target.provider, target.model)
    if memory is None:
        conversation = Conversation(ask.messages, origin)
    else:
        completed = memory.restore(ask.messages, origin)
        conversation = Conversation(completed, origin, memory.refusals)
    _refuse_unsupported(ask, target, capabilities, conversation)

    warnings = list(ask.warnings)
    settings = _with_defaults(ask.settings, default_settings, rows)
    defaults = chat_params(settings, rows)
    placed = with_placed_images(
        conversation.arranged(warnings, user_begins=target.adapter.traits.user_begins),
        sees=capabilities.vision and target.info is not None and target.info.supports_vision is True,
        warnings=warnings,
    )
    readable, dropped = without_unreadable_results(
        placed,
        f"The model {target.model} of {target.provider}",
        images=not _takes_no_images(target, capabilities),
        documents=target.adapter.traits.document_types,
    )
    warnings += dropped
    request = ChatRequest(
        messages=readable if ask.paths is None else ask.paths.applied_to(readable),
        model=target.model,
        system=ask.system,
        tools=ask.tools,
        tool_choice=ask.tool_choice,
        stop_sequences=ask.stop_sequences,
        stream=ask.stream,
        output_mode=ask.output_mode,
        thinking=ask.thinking or defaults.get("thinking"),
        settings=mapped(settings, rows),
        conversation_id=ask.conversation_id,
        # Use the client's own messages: a result that was added to them does not come from an agent.
        initiator=ask.initiator or ChatRequest(messages=ask.messages, model="").effective_initiator(),
    )
    request = _degraded(request, target, capabilities, warnings)
    named = ask.max_tokens or defaults.get("max_tokens") or default_max_tokens
    limit = target.info.max_output_tokens if target.info else None
    if named is not None:
        return Plan(replace(request, max_tokens=min(named, limit or named)), warnings)
    answer_tokens = target.adapter.traits.default_max_tokens
    can_think = capabilities.thinking and target.info is not None and target.info.supports_thinking is True
    by_default: ThinkingLevel = "medium" if thinks_by_default(target.model, can_think) else "off"
    tokens = answer_tokens + THINKING_ROOM[request.thinking or by_default]
    if limit is not None:
        tokens = limit if ask.max_tokens_default == "model" else min(tokens, limit)
    request = replace(request, max_tokens=tokens, answer_tokens=answer_tokens)
    return Plan(request, warnings, answer_tokens if tokens > answer_tokens else None)


def _with_defaults(
    requested: Mapping[str, Any], saved: Mapping[str, Any], rows: Mapping[str, SettingRow]
) -> dict[str, Any]:
    """Merge the settings; those of the request override saved ones, which override defaults."""
    values = {key: row.default for key, row in rows.items() if row.default is not None}
    # Rows change with the configuration, so a value that was valid when it was saved may be invalid now.
    values |= {
        key: value for key, value in saved.items() if key in rows and rows[key].problem_with(value) is None
    }
    return {**values, **requested}


def _refuse_unsupported(
    ask: TurnAsk, target: ResolvedModel, capabilities: Capabilities, conversation: Conversation
) -> None:
    info = target.info
    no_tools = not capabilities.tool_calls or (info is not None and info.supports_tool_use is False)
    if ask.tools and ask.tool_choice != "none" and no_tools:
        raise RequestError(
            f"The model {target.model} of {target.provider} does not take tools.",
            provider=target.provider,
            hint="Send the chat without tools, or choose a model that supports them.",
        )
    if conversation.has_images and _takes_no_images(target, capabilities):
        raise RequestError(
            f"The model {target.model} of {target.provider} does not take images.",
            provider=target.provider,
            hint="Remove the images from the conversation, or choose a model that supports them.",
        )

    types = target.adapter.traits.document_types
    for document in conversation.documents:
        if not takes_document(document, types):
            raise RequestError(
                f"The model {target.model} of {target.provider} does not take documents of the type "
                f"{document_type(document)}.",
                provider=target.provider,
                hint="Attach the document's text, or choose a model of another provider.",
            )


def _takes_no_images(target: ResolvedModel, capabilities: Capabilities) -> bool:
    return not capabilities.vision or (target.info is not None and target.info.supports_vision is False)


def _degraded(
    request: ChatRequest, target: ResolvedModel, capabilities: Capabilities, warnings: list[WarningEvent]
) -> ChatRequest:
    info = target.info

    def lacks(provider_has: bool, model_has: bool | None) -> str | None:
        """Name the provider or model that is known to lack an ability; an unlisted ability is unknown."""
        if not provider_has:
            return f"The provider {target.provider}"
        return f"The model {target.model} of {target.provider}" if model_has is False else None

    subject = lacks(capabilities.json_mode, info.supports_json if info else None)
    if request.output_mode != "text" and subject:
        warnings.append(
            WarningEvent("json_mode_dropped", f"{subject} has no JSON mode; the output mode was left out.")
        )
        request = replace(request, output_mode="text")
    subject = lacks(capabilities.thinking, info.supports_thinking if info else None)
    if request.thinking not in (None, "off") and subject:
        warnings.append(
            WarningEvent("thinking_dropped", f"{subject} has no thinking levels; the level was left out.")
        )
        request = replace(request, thinking=None)
    return request
