"""Handles `prompts/list` and `prompts/get`. See `docs/protocol/providers.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.config import Config, FaultyConfigError, find_prompt
from jumpseat.connections.method import MethodCall
from jumpseat.connections.param_model import NoParams
from jumpseat.connections.session import Session
from jumpseat.rpc.params import PromptsGetParams

DID_CHANGE = "prompts/didChange"


async def prompts_list(session: Session, call: MethodCall[NoParams]) -> dict[str, Any]:
    """Return the configured and the built-in prompts, sorted by name."""
    config = session.registry.config
    rows = []
    for name, prompt in sorted(config.offered_prompts.items()):
        facts = {"description": prompt.description, "model": prompt.model}
        given = {key: value for key, value in facts.items() if value is not None}
        rows.append({**_identify(config, name), **given, "usesInput": prompt.uses_input})
    return {"prompts": rows}


async def prompts_get(session: Session, call: MethodCall[PromptsGetParams]) -> dict[str, Any]:
    """Return one prompt with the input in its text."""
    name, config = call.params.name, session.registry.config
    if name in config.faults_of_prompts:
        raise FaultyConfigError(config.faults_of_prompts[name])
    prompt = find_prompt(config.offered_prompts, name)
    result: dict[str, Any] = {**_identify(config, name), "text": prompt.fill(call.params.input)}
    if prompt.system is not None:
        result["system"] = prompt.system
    if prompt.model is not None:
        result["model"] = prompt.model
    if prompt.settings:
        result["settings"] = prompt.settings
    return result


def _identify(config: Config, name: str) -> dict[str, Any]:
    return {"name": name} if name in config.prompts else {"name": name, "builtin": True}
