"""Builds the lines of a conversation's file, which `state` folds."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from jumpseat.chat import ChatError, ContentBlock, Message, Response, TextBlock
from jumpseat.chat.json_form import to_json_form
from jumpseat.conversations.directories import resolve_links
from jumpseat.conversations.redaction import redact_form, redact_message
from jumpseat.conversations.state import FORMAT_VERSION, State
from jumpseat.system.secrets import KnownSecrets

_STRUCTURE = frozenset(
    ("type", "id", "forkOf", "session", "turn", "owner", "at", "createdAt", "base", "turnEnds")
)
"""The keys for the structure of a file, such as types, ids and times. Their values are not redacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn as its client sent it."""

    conversation_id: str
    """The id that the client named, or one that the daemon chose."""

    turn_id: str
    messages: Sequence[Message]
    """The messages of the whole conversation, oldest first."""

    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    provider: str = ""
    model: str = ""
    directory: Path | None = None
    """The client's working directory, absolute."""

    client: str | None = None
    session: str | None = None
    """The id of the kept session that continues this conversation; both may have the same id."""

    choices: Mapping[str, Any] = field(default_factory=dict)
    """The session's choices, such as its model. They are restored with the session."""

    secrets: KnownSecrets = field(default_factory=KnownSecrets, repr=False)
    """The client's secrets, which are redacted in all that is saved of the turn."""


@dataclass(frozen=True, slots=True)
class BegunTurn:
    """A turn whose messages are in a file."""

    id: str
    """The id of the conversation to which the turn belongs."""

    key: str
    turn: NewTurn
    forked_from: str | None = None
    """The conversation that the client named, if the turn starts a fork of it."""


def build_header(turn: NewTurn, conversation_id: str, now: datetime) -> dict[str, Any]:
    """Return the first line of a new conversation."""
    return _build_line(
        turn.secrets,
        version=FORMAT_VERSION,
        id=conversation_id,
        createdAt=now,
        cwd=_resolve_directory(turn),
        client=turn.client,
    )


def build_fork_header(
    parent: State,
    messages: Sequence[Message],
    turn_ends: Sequence[int],
    turn: NewTurn | None,
    conversation_id: str,
    now: datetime,
    secrets: KnownSecrets,
) -> dict[str, Any]:
    """Return the first line of a fork. It contains the messages, so that the parent can be deleted.

    `turn` is the turn with which the fork starts, and whose client may differ from the parent's client. It is
    None if the fork is only a copy.
    """
    return _build_line(
        secrets,
        version=FORMAT_VERSION,
        id=conversation_id,
        createdAt=now,
        cwd=parent.directory if turn is None else _resolve_directory(turn),
        client=parent.client if turn is None else turn.client,
        forkOf=parent.id,
        # Without common messages, the parent's title does not describe the fork.
        title=parent.title if messages else None,
        system=parent.system,
        settings=parent.settings,
        model=parent.model,
        turnEnds=turn_ends,
        messages=messages,
    )


def build_begin_line(
    turn: NewTurn,
    key: str,
    base: int,
    new: Sequence[Message],
    state: State | None,
    now: datetime,
    *,
    forks: bool = False,
) -> dict[str, Any]:
    """Return the line for the start of a turn after `base` messages of the conversation with this `state`.

    If the turn forks the conversation, the line belongs to the fork. It then contains the session's choices,
    because the fork's header does not.
    """
    line = _build_line(
        turn.secrets,
        type="begin",
        turn=key,
        turnId=turn.turn_id,
        owner={"pid": os.getpid(), "host": platform.node()},
        at=now,
        base=base,
        messages=new,
        provider=turn.provider,
        model=turn.model,
        session=turn.session,
    )
    system = redact_form(turn.system, turn.secrets)
    settings = redact_form(to_json_form(turn.settings), turn.secrets)
    if system != (state.system if state else None):
        line["system"] = system
    if settings != (state.settings if state else {}):
        line["settings"] = settings
    if turn.session is not None:
        choices = redact_form(to_json_form(turn.choices), turn.secrets)
        use = state.sessions.get(turn.session) if state and not forks else None
        if choices != (use.choices if use else {}):
            line["choices"] = choices
    return line


def build_partial_line(
    begun: BegunTurn, known: Sequence[ContentBlock], content: Sequence[ContentBlock], now: datetime
) -> dict[str, Any] | None:
    """Return the line that continues the answer of a running turn; None if there is nothing new.

    The line keeps the first `blocks` blocks of the answer, appends `text` to the last of them, and adds the
    blocks in `content`.

    Args:
        begun: the turn.
        known: the answer according to the previous lines.
        content: the answer so far.
        now: the time.
    """
    secrets = begun.turn.secrets
    # A text may end within a secret. Leave out the beginning of the secret, because only a whole secret is
    # redacted.
    whole = [
        replace(block, text=secrets.without_open_end(block.text)) if isinstance(block, TextBlock) else block
        for block in content
    ]
    blocks = redact_message(Message("assistant", whole), secrets).content
    if blocks == tuple(known):
        return None
    kept = 0
    while kept < min(len(known), len(blocks)) and known[kept] == blocks[kept]:
        kept += 1
    text = None
    if kept < min(len(known), len(blocks)):
        before, after = known[kept], blocks[kept]
        if (
            isinstance(before, TextBlock)
            and isinstance(after, TextBlock)
            and after.text.startswith(before.text)
            and replace(after, text=before.text) == before
        ):
            text = after.text.removeprefix(before.text)
            kept += 1
    return _build_line(
        secrets, type="partial", turn=begun.key, at=now, blocks=kept, text=text, content=blocks[kept:]
    )


def build_end_line(
    begun: BegunTurn, response: Response, error: ChatError | None, now: datetime
) -> dict[str, Any]:
    """Return the line for the end of a turn; `response` is its complete or partial answer."""
    return _build_line(
        begun.turn.secrets,
        type="end",
        turn=begun.key,
        at=now,
        provider=response.provider,
        model=response.model,
        responseId=response.response_id,
        content=response.content,
        stopReason=response.stop_reason,
        rawStopReason=response.raw_stop_reason,
        usage=response.usage,
        warnings=response.warnings or None,
        error=None if error is None else {"kind": error.kind, "message": error.message},
    )


def build_title_line(title: str, now: datetime, secrets: KnownSecrets) -> dict[str, Any]:
    """Return the line for a new title."""
    return _build_line(secrets, type="title", title=title, at=now)


def _resolve_directory(turn: NewTurn) -> str | None:
    # Lists are filtered by directory without links, so links in the client's directory must be resolved.
    return None if turn.directory is None else resolve_links(str(turn.directory))


def _build_line(secrets: KnownSecrets, **values: Any) -> dict[str, Any]:
    """Return the values that are not None, redacted."""
    form: dict[str, Any] = to_json_form({key: value for key, value in values.items() if value is not None})
    return {key: value if key in _STRUCTURE else redact_form(value, secrets) for key, value in form.items()}
