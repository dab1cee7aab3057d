"""The canonical vocabulary as wire objects: camelCase keys, `type` discriminators, absent for None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import THINKING_ROOM, ChatError, ModelInfo, Response
from jumpseat.chat.json_form import camel, to_json_form
from jumpseat.config import SettingRow
from jumpseat.providers import ProviderDescription
from jumpseat.rpc.faults import wire_error


def to_wire(value: Any) -> Any:
    """Any value of the vocabulary as JSON-ready objects.

    Raises:
        TypeError: the value has no wire form.
    """
    return to_json_form(value, _error_to_wire)


def _error_to_wire(value: Any) -> dict[str, Any]:
    if isinstance(value, ChatError):
        return wire_error(value).as_dict()
    raise TypeError(f"{type(value).__name__} has no wire form")


def object_to_wire(value: Any) -> dict[str, Any]:
    """As `to_wire`, for a value whose form is an object: an event, a status, a row."""
    shaped: dict[str, Any] = to_wire(value)
    return shaped


def result_to_wire(response: Response, turn_id: str) -> dict[str, Any]:
    """A response as the result of a chat, or as the `data.partial` of a failed one."""
    shaped: dict[str, Any] = {"turnId": turn_id, "provider": response.provider, "model": response.model}
    if response.conversation_id is not None:
        shaped["conversationId"] = response.conversation_id
    if response.response_id is not None:
        shaped["responseId"] = response.response_id
    shaped["content"] = to_wire(response.content)
    shaped["text"] = response.text
    shaped["toolCalls"] = to_wire(response.tool_calls)
    if response.stop_reason is not None:
        shaped["stopReason"] = response.stop_reason
    if response.raw_stop_reason is not None:
        shaped["rawStopReason"] = response.raw_stop_reason
    if response.usage is not None:
        shaped["usage"] = to_wire(response.usage)
    if response.warnings:
        shaped["warnings"] = [
            {"code": warning.code, "message": warning.message} for warning in response.warnings
        ]
    return shaped


def model_to_wire(
    model: ModelInfo, *, is_default: bool, capabilities: Capabilities | None = None
) -> dict[str, Any]:
    """A row of `models/list`.

    Args:
        model: the provider's row.
        is_default: whether a chat that names no model gets this one.
        capabilities: the provider's stated ones, for abilities that the row does not have; without them such
            an ability is false.
    """
    assumed = {
        "supportsVision": capabilities is not None and capabilities.vision,
        "supportsToolUse": capabilities is not None and capabilities.tool_calls,
        "supportsThinking": capabilities is not None and capabilities.thinking,
        "supportsJson": capabilities is not None and capabilities.json_mode,
    }
    row = {"id": model.id, **assumed, **to_wire(model), "isDefault": is_default}
    if model.thinking_levels is not None:
        row["thinkingLevels"] = _thinking_levels(model.thinking_levels)
    return row


def _thinking_levels(efforts: Sequence[str]) -> list[str]:
    """The levels that a chat may request, for efforts in the provider's words."""
    highest = {} if "max" in efforts else {"xhigh": "max"}
    levels = [{"none": "off", **highest}.get(effort, effort) for effort in efforts]
    return [level for level in levels if level in THINKING_ROOM]


def setting_to_wire(key: str, row: SettingRow) -> dict[str, Any]:
    """A row of a settings schema."""
    return {"key": key, **row.model_dump(exclude_none=True, exclude=set(row.model_extra or ()))}


def provider_to_wire(row: ProviderDescription) -> dict[str, Any]:
    """A row of `providers/list`."""
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
        "capabilitySources": {camel(key): source for key, source in row.capability_sources.items()},
        "settingsSchema": schema,
    }
