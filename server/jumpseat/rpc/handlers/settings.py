"""Handles `settings/…`, and sends `settings/didChange`. See `docs/protocol/providers.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.config import Config, find_overridden
from jumpseat.connections.method import MethodCall
from jumpseat.connections.param_model import NoParams
from jumpseat.connections.session import Session
from jumpseat.providers import explain_default_fault, resolve_model
from jumpseat.rpc.encode import setting_to_wire
from jumpseat.rpc.params import SettingsSaveParams, SettingsSchemaParams
from jumpseat.wire import write_json

DID_CHANGE = "settings/didChange"


async def settings_schema(session: Session, call: MethodCall[SettingsSchemaParams]) -> dict[str, Any]:
    """Return the settings that a chat with a model may have, without a request to a provider."""
    target = await resolve_model(session.registry, call.params.model, offline=True)
    rows = session.registry.settings_rows(target.provider)
    return {"provider": target.provider, "settingsSchema": [setting_to_wire(*row) for row in rows.items()]}


async def settings_get(session: Session, call: MethodCall[NoParams]) -> dict[str, Any]:
    """Return the saved settings, reread because another process may have changed them."""
    saved = session.registry.saved
    await saved.refresh()
    return {"settings": saved.values}


async def settings_save(session: Session, call: MethodCall[SettingsSaveParams]) -> dict[str, Any]:
    """Merge the client's settings into the saved ones and respond with the result."""
    registry, patch = session.registry, call.params.settings
    providers = patch.get("providers")
    schemas = await registry.settings_schemas(*(providers if isinstance(providers, dict) else ()))
    fault = None
    if isinstance(model := patch.get("default_model"), str):
        provider = patch.get("default_provider")
        fault = await explain_default_fault(registry, model, provider if isinstance(provider, str) else None)
    answer: dict[str, Any] = {"settings": await registry.saved.save(patch, schemas, fault)}
    if messages := list(_describe_overridden(patch, registry.config)):
        answer["warnings"] = [{"code": "overridden", "message": message} for message in messages]
    return answer


def _describe_overridden(patch: Mapping[str, Any], config: Config) -> Iterator[str]:
    """Yield a sentence for each new value that the configuration overrides."""
    in_file = dict(find_overridden(patch, config.setting_values_of_file))
    for key, value in find_overridden(patch, config.setting_values):
        who = str(config.file) if in_file.get(key) == value else "the configuration of this editor"
        yield f"{key} was saved, but has no effect here: {who} sets it to {write_json(value).decode()}."


def forward_saved_settings(session: Session) -> None:
    """Notify the client about every change to the saved settings from now on."""
    saved = session.registry.saved
    saved.on_change(lambda: session.outbox.notify(DID_CHANGE, {"settings": saved.values}))
