"""The config options of a conversation: its model, thinking level and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.models import list_models, resolve_choice, thinking_levels
from jumpseat.chat import InvalidRequestError, ThinkingLevel
from jumpseat.config import SettingRow
from jumpseat.providers import ResolvedModel

MODEL, THINKING = "model", "thought_level"
SETTING = "settings."
"""The prefix of the ids of settings."""

DEFAULT = "default"
"""The value of an option that the user has not set."""

SHOWN_TYPES = ("enum", "boolean")


async def list_options(client: AcpClient, conversation: AcpConversation) -> Sequence[Mapping[str, Any]]:
    """Return the options with their current values, for a response to the client."""
    conversation.options = await _encode_options(client, conversation)
    return conversation.options


async def announce_options(client: AcpClient, conversation: AcpConversation) -> None:
    """Send the options to the client if they have changed since they were last sent."""
    options = await _encode_options(client, conversation)
    if options != conversation.options:
        conversation.options = options
        client.update(conversation.id, "config_option_update", configOptions=options)


async def _encode_options(client: AcpClient, conversation: AcpConversation) -> list[dict[str, Any]]:
    models = await list_models(client.registry)
    target = await resolve_choice(client.registry, conversation.model)
    options = [_encode_model(models, target)]
    if levels := thinking_levels(client.registry, target):
        values = {DEFAULT: "Default", **{level: level.capitalize() for level in levels}}
        current = next((level for level in levels if level == conversation.thinking), DEFAULT)
        options.append({"id": THINKING, "name": "Thinking", "category": THINKING, **_select(current, values)})
    if target is not None:
        chosen = select_settings(client, conversation, target.provider)
        rows = _shown_rows(client, target)
        options += [_encode_setting(client, key, row, chosen.get(key)) for key, row in rows.items()]
    return options


async def set_option(client: AcpClient, conversation: AcpConversation, key: str, value: str | bool) -> None:
    """Change an option from the next turn on.

    Raises:
        InvalidRequestError: the conversation has no such option or value.
    """
    if key == MODEL:
        if not isinstance(value, str) or value not in await list_models(client.registry):
            raise _unknown_value(value)
        await choose_model(client, conversation, value)
        return
    target = await resolve_choice(client.registry, conversation.model)
    if key == THINKING:
        if value not in (DEFAULT, *thinking_levels(client.registry, target)):
            raise _unknown_value(value)
        conversation.thinking = next((level for level in get_args(ThinkingLevel) if level == value), None)
        return
    row = _shown_rows(client, target).get(key.removeprefix(SETTING)) if key.startswith(SETTING) else None
    if target is None or row is None:
        raise InvalidRequestError.at("configId", f"there is no option {key[:100]!r}")
    _set_setting(conversation.settings.setdefault(target.provider, {}), key.removeprefix(SETTING), row, value)


def select_settings(client: AcpClient, conversation: AcpConversation, provider: str) -> dict[str, Any]:
    """Return the chosen settings of a provider, without values that its settings schema does not allow."""
    rows = client.registry.settings_rows(provider)
    chosen = conversation.settings.get(provider, {})
    return {key: value for key, value in chosen.items() if key in rows and not rows[key].problem_with(value)}


async def choose_model(client: AcpClient, conversation: AcpConversation, model: str) -> None:
    """Use another model from the next turn on.

    If that model does not support the current thinking level, reset the level to the default.
    """
    conversation.model = model
    levels = thinking_levels(client.registry, await resolve_choice(client.registry, model))
    if conversation.thinking not in levels:
        conversation.thinking = None


def _encode_model(models: Mapping[str, str], target: ResolvedModel | None) -> dict[str, Any]:
    current = f"{target.provider}:{target.model}" if target is not None else DEFAULT
    names = {**models}
    names.setdefault(current, current if target is not None else "Choose a model")
    option = {"id": MODEL, "name": "Model", "category": MODEL, **_select(current, names)}
    # Models of several providers may have the same name, so show their ids too.
    if len({id_.partition(":")[0] for id_ in models}) > 1:
        for row in option["options"]:
            row["description"] = row["value"]
    return option


def _encode_setting(client: AcpClient, key: str, row: SettingRow, chosen: Any) -> dict[str, Any]:
    description = {"description": row.description} if row.description else {}
    shape = {"id": SETTING + key, "name": key, **description, "category": "model_config"}
    if row.type == "boolean" and client.abilities.booleans:
        return {**shape, "type": "boolean", "currentValue": bool(row.default if chosen is None else chosen)}
    values = {DEFAULT: "Default", **{_name(choice): _name(choice) for choice in _list_choices(row)}}
    return {**shape, **_select(DEFAULT if chosen is None else _name(chosen), values)}


def _set_setting(settings: dict[str, Any], key: str, row: SettingRow, value: str | bool) -> None:
    if value == DEFAULT:
        settings.pop(key, None)
        return
    for choice in _list_choices(row):
        if value is choice or value == _name(choice):
            settings[key] = choice
            return
    raise _unknown_value(value)


def _list_choices(row: SettingRow) -> Sequence[Any]:
    return (True, False) if row.type == "boolean" else row.choices or ()


def _name(choice: Any) -> str:
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def _shown_rows(client: AcpClient, target: ResolvedModel | None) -> Mapping[str, SettingRow]:
    if target is None:
        return {}
    rows = client.registry.settings_rows(target.provider)
    # The thinking level has an option of its own.
    return {key: row for key, row in rows.items() if row.type in SHOWN_TYPES and key != "thinking"}


def _select(current: str, values: Mapping[str, str]) -> dict[str, Any]:
    rows = [{"value": value, "name": label} for value, label in values.items()]
    return {"type": "select", "currentValue": current, "options": rows}


def _unknown_value(value: str | bool) -> InvalidRequestError:
    return InvalidRequestError.at("value", f"{str(value)[:100]!r} is not one of the option's values")
