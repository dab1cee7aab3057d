"""Handles `prompts/list` and `prompts/get`. See `docs/protocol/providers.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.config import Config, FaultyConfigError, find_prompt
from jumpseat.connections.method import MethodCall
from jumpseat.connections.param_model import NoParams
from jumpseat.connections.session import Session
from jumpseat.engine import fill_prompt
from jumpseat.rpc.encode import to_wire, warnings_to_wire
from jumpseat.rpc.message_params import to_context_block
from jumpseat.rpc.params import PromptsGetParams

DID_CHANGE = "prompts/didChange"


async def prompts_list(session: Session, call: MethodCall[NoParams]) -> dict[str, Any]:
    """Return the configured and the built-in prompts, sorted by name."""
    config = session.registry.config
    rows = []
    for name, prompt in sorted(config.offered_prompts.items()):
        optional = {"description": prompt.description, "model": prompt.model}
        given = {key: value for key, value in optional.items() if value is not None}
        flags = {"usesInput": prompt.uses_input, "takesDiff": prompt.takes_diff}
        rows.append({**_identify(config, name), **given, **flags})
    return {"prompts": rows}


async def prompts_get(session: Session, call: MethodCall[PromptsGetParams]) -> dict[str, Any]:
    """Return one prompt with the input in its text, and the context blocks that fit into the same request."""
    params, config = call.params, session.registry.config
    if params.name in config.faults_of_prompts:
        raise FaultyConfigError(config.faults_of_prompts[params.name])
    prompt = find_prompt(config.offered_prompts, params.name)
    context = tuple(map(to_context_block, params.context))
    model = params.model or prompt.model or params.default_model
    filled = await fill_prompt(session.registry, prompt, params.input, context, model)
    result: dict[str, Any] = {**_identify(config, params.name), "text": filled.text}
    if prompt.system is not None:
        result["system"] = prompt.system
    if prompt.model is not None:
        result["model"] = prompt.model
    if prompt.settings:
        result["settings"] = prompt.settings
    if context:
        result["context"] = to_wire(filled.context)
    if filled.left_out:
        result["leftOut"] = to_wire(filled.left_out)
    if filled.cut_off is not None:
        result["cutOff"] = filled.cut_off
    if filled.warnings:
        result["warnings"] = warnings_to_wire(filled.warnings)
    return result


def _identify(config: Config, name: str) -> dict[str, Any]:
    return {"name": name} if name in config.prompts else {"name": name, "builtin": True}
