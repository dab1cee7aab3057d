"""Handles `transcript/parse` and `transcript/render`. See `docs/protocol/transcripts.md`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jumpseat.chat import ChatError
from jumpseat.chat.long import is_long
from jumpseat.chat.transcript import SYNTAXES, FrontMatter, RoleNames, parse, parse_front_matter, render
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
    read = await compute(
        takes_long, parse, text, roles=roles, front=front, syntax=syntax, line=call.params.line
    )

    def to_result() -> dict[str, Any]:
        messages = restore_answers(read.messages, session.memory)
        return {"messages": to_wire(messages), "turns": to_wire(read.turns)}

    values = {key: value for key, value in _encode_front_matter(read.front).items() if value not in ([], {})}
    result = await compute(takes_long, to_result) | values
    if branch := read.branch:
        result["branch"] = {
            "startLine": branch.start_line,
            "endLine": branch.end_line,
            "level": branch.level,
            **_encode_front_matter(branch.front),
        }
    return result


def _encode_front_matter(front: FrontMatter) -> dict[str, Any]:
    """Return the values in the front matter, including empty values.

    In a branch, an empty value overrides the value of the enclosing branch.
    """
    values: dict[str, Any] = {}
    if front.system is not None:
        values["system"] = front.system
    if front.model is not None:
        values["model"] = front.model
    if "tools" in front.places:
        values["daemonTools"] = list(front.tools)
    if front.settings or "settings" in front.places:
        values["settings"] = dict(front.settings)
    if front.conversation is not None and can_be_kept(front.conversation):
        values["conversationId"] = front.conversation
    return values


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
        level=params.level,
    )
    return {"text": text}


async def find_role_names(session: Session, model: str | None) -> RoleNames:
    """Return the role names in headings: those configured for the model's provider, or the standard names.

    The result also has the names that are configured for other providers, which are recognised when reading.
    """
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
        # The text can be read even if a chat with this model would fail.
        return replace(standard, others=others)
    return replace(names[target.provider], others=others)
