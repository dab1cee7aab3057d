"""Handles `transcript/parse` and `transcript/render`. See `docs/protocol/transcripts.md`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jumpseat.chat import ChatError
from jumpseat.chat.long import is_long
from jumpseat.chat.transcript import SYNTAXES, RoleNames, parse, parse_front_matter, render
from jumpseat.connections.keeping import can_be_kept
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.engine import restore_answers
from jumpseat.providers import resolve_model
from jumpseat.rpc.encode import to_wire
from jumpseat.rpc.params import TranscriptParams, TranscriptRenderParams
from jumpseat.system.threads import compute

LONG_TEXT = 128 * 1024
"""The number of characters above which parsing needs more than a few milliseconds."""


async def transcript_parse(session: Session, call: MethodCall[TranscriptParams]) -> dict[str, Any]:
    """Parse a conversation and restore the answers that the daemon remembers."""
    text, syntax = call.params.text, SYNTAXES[call.params.format]
    takes_long = len(text) > LONG_TEXT
    front = await compute(takes_long, parse_front_matter, text, syntax)
    roles = await find_role_names(session, front.model)
    read = await compute(takes_long, parse, text, roles=roles, front=front, syntax=syntax)

    def to_result() -> dict[str, Any]:
        messages = restore_answers(read.messages, session.memory)
        return {"messages": to_wire(messages), "turns": to_wire(read.turns)}

    result = await compute(takes_long, to_result)
    if read.system is not None:
        result["system"] = read.system
    if read.model is not None:
        result["model"] = read.model
    if read.tools:
        result["daemonTools"] = list(read.tools)
    if read.settings:
        result["settings"] = dict(read.settings)
    if read.conversation is not None and can_be_kept(read.conversation):
        result["conversationId"] = read.conversation
    return result


async def transcript_render(session: Session, call: MethodCall[TranscriptRenderParams]) -> dict[str, Any]:
    """Write a conversation as text."""
    params = call.params
    text = await compute(
        is_long(params.messages),
        render,
        params.messages,
        system=params.system,
        model=params.model,
        tools=params.daemon_tools,
        settings=params.settings,
        conversation=params.conversation_id,
        roles=await find_role_names(session, params.model),
        trim_answers=params.trim_answers,
        syntax=SYNTAXES[params.format],
    )
    return {"text": text}


async def find_role_names(session: Session, model: str | None) -> RoleNames:
    """Return the role names in headings, configured for the model's provider or else standard."""
    registry, standard = session.registry, RoleNames()
    tables = {name: registry.table(name).roles for name in registry.ids}
    names = {
        name: RoleNames(roles.user or standard.user, roles.assistant or standard.assistant)
        for name, roles in tables.items()
    }
    others = tuple(each for each in names.values() if each != standard)
    if not others:
        return standard
    try:
        target = await resolve_model(registry, model, offline=True)
    except ChatError:
        # Only chats fail for an unknown model; the text can still be read.
        return replace(standard, others=others)
    return replace(names[target.provider], others=others)
