"""Converts the types of `chat/` to wire objects: camelCase keys, `type` discriminators, no nulls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import ChatError, ModelInfo, Response, WarningEvent
from jumpseat.chat.json_form import to_camel_case, to_json_form
from jumpseat.chat.request import thinking_levels_of
from jumpseat.config import SettingRow
from jumpseat.connections.faults import to_wire_error
from jumpseat.providers import ProviderDescription


def to_wire(value: Any) -> Any:
    """Convert a value of a type from `chat/` to values that can be written as JSON.

    Raises:
        TypeError: the value has no wire form.
    """
    return to_json_form(value, _error_to_wire)


def _error_to_wire(value: Any) -> dict[str, Any]:
    if isinstance(value, ChatError):
        return to_wire_error(value).as_dict()
    raise TypeError(f"{type(value).__name__} has no wire form")


def object_to_wire(value: Any) -> dict[str, Any]:
    """Convert a value whose wire form is an object, such as an event, a status or a row."""
    shaped: dict[str, Any] = to_wire(value)
    return shaped


def result_to_wire(response: Response, turn_id: str) -> dict[str, Any]:
    """Convert a response to the result of a chat, or to `data.partial` in the error of a failed chat."""
    shaped: dict[str, Any] = {"turnId": turn_id, "provider": response.provider, "model": response.model}
    if response.conversation_id is not None:
        shaped["conversationId"] = response.conversation_id
    if response.response_id is not None:
        shaped["responseId"] = response.response_id
    shaped["content"] = to_wire(response.content)
    shaped["text"] = response.text
    shaped["toolCalls"] = to_wire(response.tool_calls)
    shaped |= _end_to_wire(response)
    if response.rounds is not None:
        shaped["rounds"] = response.rounds
    if response.warnings:
        shaped["warnings"] = warnings_to_wire(response.warnings)
    return shaped


def completion_to_wire(response: Response, text: str) -> dict[str, Any]:
    """Return the result of a completion.

    Args:
        response: the provider's response.
        text: the text to insert.
    """
    shaped: dict[str, Any] = {"provider": response.provider, "model": response.model, "text": text}
    if response.response_id is not None:
        shaped["responseId"] = response.response_id
    shaped |= _end_to_wire(response)
    if response.warnings:
        shaped["warnings"] = warnings_to_wire(response.warnings)
    return shaped


def _end_to_wire(response: Response) -> dict[str, Any]:
    """Return the stop reason and the token usage for a result, as far as they are known."""
    shaped: dict[str, Any] = {}
    if response.stop_reason is not None:
        shaped["stopReason"] = response.stop_reason
    if response.raw_stop_reason is not None:
        shaped["rawStopReason"] = response.raw_stop_reason
    if response.usage is not None:
        shaped["usage"] = to_wire(response.usage)
    return shaped


def warnings_to_wire(warnings: Iterable[WarningEvent]) -> list[dict[str, str]]:
    """Convert the warnings of a result."""
    return [{"code": warning.code, "message": warning.message} for warning in warnings]


def model_to_wire(
    model: ModelInfo, *, is_default: bool, capabilities: Capabilities | None = None, infills: bool = True
) -> dict[str, Any]:
    """Return a row of `models/list`.

    Args:
        model: the model, as its provider lists it.
        is_default: whether a chat that does not name a model uses this one.
        capabilities: the provider's capabilities, for abilities that `model` does not mention. None means
            that those abilities are missing.
        infills: whether any model of the provider can fill in the middle of a text.
    """
    assumed = {
        "supportsVision": capabilities is not None and capabilities.vision,
        "supportsToolUse": capabilities is not None and capabilities.tool_calls,
        "supportsThinking": capabilities is not None and capabilities.thinking,
        "supportsJson": capabilities is not None and capabilities.json_mode,
    }
    row = {"id": model.id, **assumed, **to_wire(model), "isDefault": is_default}
    if not infills:
        row["supportsInfill"] = False
    if model.thinking_levels is not None:
        row["thinkingLevels"] = thinking_levels_of(model.thinking_levels)
    return row


def setting_to_wire(key: str, row: SettingRow) -> dict[str, Any]:
    """Return a row of a settings schema."""
    return {"key": key, **row.model_dump(exclude_none=True, exclude=set(row.model_extra or ()))}


def provider_to_wire(row: ProviderDescription) -> dict[str, Any]:
    """Return a row of `providers/list`."""
    schema = [setting_to_wire(key, setting) for key, setting in row.settings_schema.items()]
    return {
        "id": row.id,
        "name": row.name,
        "kind": row.kind,
        "isDefault": row.is_default,
        "configured": row.configured,
        "builtIn": row.built_in,
        **({"authMethod": row.auth_method} if row.auth_method is not None else {}),
        "auth": to_wire(row.auth),
        "capabilities": to_wire(row.capabilities),
        "capabilitySources": {to_camel_case(key): source for key, source in row.capability_sources.items()},
        "settingsSchema": schema,
    }
