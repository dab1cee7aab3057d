"""Handles `transcript/check`. See `docs/protocol/transcripts.md`."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from jumpseat.chat import InvalidRequestError, Problem
from jumpseat.chat.transcript import (
    SYNTAXES,
    FrontMatterError,
    LinePart,
    Transcript,
    parse,
    parse_front_matter,
    split_lines,
)
from jumpseat.connections.faults import to_wire_error
from jumpseat.connections.keeping import ID_RULE, can_be_kept
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.tools import open_tools
from jumpseat.connections.wording import insert_commands
from jumpseat.engine import Finding, TurnRequest, check_turn, to_finding
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.encode import to_wire
from jumpseat.rpc.handlers.transcript import LONG_TEXT, find_role_names
from jumpseat.rpc.params import ChatStartParams, TranscriptParams
from jumpseat.system.secrets import redact
from jumpseat.system.threads import compute

MAX_DIAGNOSTICS = 100
"""The maximum number of diagnostics in a response; nobody reads more."""

ERROR, WARNING = 1, 2
"""Values of LSP's DiagnosticSeverity."""

_QUESTION = [{"role": "user", "content": "?"}]
"""The messages to check if those of the text are missing or invalid, because a chat needs a message."""


async def transcript_check(session: Session, call: MethodCall[TranscriptParams]) -> dict[str, Any]:
    """Return the errors and warnings that a chat with this text would cause, with their ranges."""
    text, syntax = call.params.text, SYNTAXES[call.params.format]
    takes_long = len(text) > LONG_TEXT
    try:
        front = await compute(takes_long, parse_front_matter, text, syntax)
        roles = await find_role_names(session, front.model)
        read = await compute(
            takes_long, parse, text, roles=roles, front=front, syntax=syntax, line=call.params.line
        )
    except FrontMatterError as error:
        finding = Finding("", f"The front matter cannot be read: {error.problem}.", "front_matter")
        return {"diagnostics": _encode_diagnostics([(finding, LinePart(error.line))], text)}
    front = read.front
    turn_request, findings = await compute(takes_long, _decode_turn, read)
    findings += await check_turn(session.registry, turn_request, session.tokens)
    if front.tools:
        servers = (await open_tools(session)).servers
        findings += [
            Finding("tools", f"There is no tool server named {name}.", InvalidRequestError.kind)
            for name in dict.fromkeys(selector.partition("/")[0] for selector in front.tools)
            if name not in servers
        ]
    if "conversation" in front.places and not (front.conversation and can_be_kept(front.conversation)):
        message = f"conversation is ignored: it {ID_RULE}."
        findings.append(Finding("conversation", message, "conversation_id", is_error=False))
    placed = [(each, _find_place(each.path, read)) for each in findings[:MAX_DIAGNOSTICS]]
    diagnostics = await compute(takes_long, _encode_diagnostics, placed, text)
    return {"diagnostics": insert_commands(diagnostics, session.commands)}


def _decode_turn(read: Transcript) -> tuple[TurnRequest, list[Finding]]:
    """Return the request for a turn with this text, and a finding for each problem with its params.

    Invalid params are left out of the request.
    """
    given = {
        "messages": to_wire(read.messages) or _QUESTION,
        "model": read.front.model,
        "system": read.front.system,
        "settings": dict(read.front.settings),
    }
    params = {key: value for key, value in given.items() if value is not None}
    findings: list[Finding] = []
    while True:
        try:
            return turn_from_wire(ChatStartParams.model_validate(params)), findings
        except ValidationError as error:
            problems = [
                Problem(each["path"], each["message"]) for each in to_wire_error(error).data["errors"]
            ]
            findings += map(to_finding, problems)
            wrong = params.keys() & {problem.path.partition(".")[0] for problem in problems}
            if not wrong:
                raise
            params = {key: value for key, value in params.items() if key not in wrong}
            params.setdefault("messages", _QUESTION)


def _find_place(path: str, read: Transcript) -> LinePart:
    """Return the place of a param of `chat/start` in the text.

    A problem with all messages together is placed at the last message. A problem with a param that the text
    does not contain is placed at the first line.
    """
    if path in read.front.places:
        return read.front.places[path]
    sections = [section for section in read.turns if section.message is not None]
    if not (path.startswith("messages") and sections):
        return LinePart(0)
    named = path.split(".")[1:2]
    wanted = [section for section in sections if [str(section.message)] == named]
    return LinePart((wanted or sections[-1:])[0].start_line)


def _encode_diagnostics(placed: list[tuple[Finding, LinePart]], text: str) -> list[dict[str, Any]]:
    lines = split_lines(text)
    return [
        {
            "range": to_wire(place.to_range(lines)),
            "severity": ERROR if finding.is_error else WARNING,
            "message": redact(finding.message),
            "code": finding.code,
        }
        for finding, place in placed
    ]
