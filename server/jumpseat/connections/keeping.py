"""Creates the keepers of a session's turns, which save the turns, and prunes the kept conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jumpseat.chat import Message
from jumpseat.connections.session import Session
from jumpseat.engine import Keeper, TurnRequest
from jumpseat.system.threads import run_blocking

ID_RULE = "must have 1 to 128 letters, digits, dots, underscores or hyphens"


def can_be_kept(conversation_id: str) -> bool:
    """Whether a kept conversation may have this id."""
    from jumpseat.conversations import is_id  # Deferred: some clients keep nothing.

    return is_id(conversation_id)


def create_keeper(
    session: Session,
    turn_request: TurnRequest,
    turn_id: str,
    messages: Sequence[Message] | None = None,
    *,
    directory: Path | None = None,
    kept_session: tuple[str, Mapping[str, Any]] | None = None,
) -> Keeper:
    """Create the keeper of a turn that the client wants to keep.

    Args:
        session: the client's session.
        turn_request: the turn.
        turn_id: the id of the turn.
        messages: the messages to keep; None for the messages of the turn.
        directory: the conversation's working directory; None for the session's directory.
        kept_session: `session` and `choices` of `NewTurn`; None for a client without kept sessions.
    """
    from jumpseat.conversations import NewTurn, new_id  # Deferred: some clients keep nothing.

    client = session.client_info
    session_id, choices = kept_session or (None, {})
    turn = NewTurn(
        conversation_id=turn_request.conversation_id or new_id(datetime.now(UTC)),
        turn_id=turn_id,
        messages=turn_request.messages if messages is None else messages,
        system=turn_request.system,
        settings=turn_request.settings,
        directory=directory or session.directory,
        client=None if client is None else client.name,
        session=session_id,
        choices=choices,
        secrets=session.environment.secrets,
    )
    keeps = session.registry.config.conversations.keep
    keeper = Keeper(session.conversations if keeps else None, turn, session.warned_not_kept)
    session.keepers.add(keeper)
    return keeper


def record_use(session: Session, keeper: Keeper | None) -> None:
    """If a turn was kept, record that its conversation was used, and prune the store in the background."""
    if keeper is not None and keeper.conversation_id is not None:
        session.use_conversation(keeper.conversation_id)
        prune_in_background(session)


def prune_in_background(session: Session) -> None:
    """Delete the conversations that exceed the configured limits, as soon as pruning is due."""
    from jumpseat.conversations import Limits  # Deferred: some clients keep nothing.

    options, library = session.registry.config.conversations, session.library
    limits = Limits(options.max_days, options.max_megabytes)
    delay = library.prune_delay(limits)
    if delay is None:
        return

    async def prune() -> None:
        await asyncio.sleep(delay)
        await run_blocking(library.prune, limits)

    session.run_in_background("pruning the kept conversations", prune)
