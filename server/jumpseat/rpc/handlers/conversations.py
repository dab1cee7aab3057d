"""Handles `conversations/…`, and sends `conversations/didChange`. See `docs/protocol/conversations.md`."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from jumpseat.chat import ConfigError
from jumpseat.config.state_files import use_state_file
from jumpseat.connections.keeping import prune_in_background
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.conversations import conversations_directory
from jumpseat.engine import suggest_title
from jumpseat.rpc.conversation_params import (
    ConversationForkParams,
    ConversationParams,
    ConversationRenameParams,
    ConversationsListParams,
    SuggestTitleParams,
)
from jumpseat.rpc.encode import object_to_wire, to_wire
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import INTERVAL_SECONDS, Watcher

if TYPE_CHECKING:
    from jumpseat.conversations import ConversationLibrary

DID_CHANGE = "conversations/didChange"


async def conversations_list(session: Session, call: MethodCall[ConversationsListParams]) -> dict[str, Any]:
    """Return a page of the kept conversations, most recently changed first."""
    params, library = call.params, session.library
    directory = None if params.cwd is None else str(session.environment.absolute_path(params.cwd))
    # Even the access to `library.index` belongs in the thread, because its first use imports SQLite.
    page = await use_state_file(
        lambda: library.index.page(
            directory=directory, query=params.query, limit=params.limit, cursor=params.cursor
        )
    )
    result: dict[str, Any] = {"conversations": to_wire(page.conversations)}
    if page.next_cursor is not None:
        result["nextCursor"] = page.next_cursor
    return result


async def conversations_get(session: Session, call: MethodCall[ConversationParams]) -> dict[str, Any]:
    """Return a whole conversation in the form of a chat's params."""
    kept = await use_state_file(session.conversations.get, call.params.id)
    session.use_conversation(kept.row.id)
    result: dict[str, Any] = {**object_to_wire(kept.row), "messages": to_wire(kept.messages)}
    if kept.system is not None:
        result["system"] = kept.system
    if kept.settings:
        result["settings"] = to_wire(kept.settings)
    return result


async def conversations_fork(session: Session, call: MethodCall[ConversationForkParams]) -> dict[str, Any]:
    """Copy a conversation or its beginning."""
    _require_keeping(session)
    await session.registry.read_credentials()
    params, secrets = call.params, session.environment.secrets
    return object_to_wire(
        await use_state_file(session.conversations.fork, params.id, params.messages, secrets)
    )


async def conversations_rename(
    session: Session, call: MethodCall[ConversationRenameParams]
) -> dict[str, Any]:
    """Change the title of a conversation."""
    _require_keeping(session)
    await session.registry.read_credentials()
    params, secrets = call.params, session.environment.secrets
    return object_to_wire(
        await use_state_file(session.conversations.rename, params.id, params.title, secrets)
    )


async def conversations_suggest_title(
    session: Session, call: MethodCall[SuggestTitleParams]
) -> dict[str, Any]:
    """Ask a model for a title of a conversation, without changing the conversation."""
    kept = await use_state_file(session.conversations.get, call.params.id)
    return {
        "title": await suggest_title(session.registry, kept.messages, call.params.model or kept.row.model)
    }


async def conversations_delete(session: Session, call: MethodCall[ConversationParams]) -> dict[str, Any]:
    """Delete a conversation, even if keeping is switched off."""
    return {"deleted": await use_state_file(session.conversations.delete, call.params.id)}


def _require_keeping(session: Session) -> None:
    if not session.registry.config.conversations.keep:
        raise ConfigError(
            "Keeping conversations is switched off, so they cannot be changed.",
            hint="Remove keep = false from the table [conversations] of the configuration file.",
        )


def follow_conversations(session: Session) -> None:
    """Notify the client about every change to a kept conversation, whichever process makes it."""
    directory = conversations_directory(session.environment.places.state_dir)

    async def follow() -> None:
        # The number of a change is at least its time in microseconds. So every later change has a number
        # above the current time, and there is no need to read the last number from the index.
        known = time.time_ns() // 1000
        watcher = await run_blocking(lambda: Watcher([directory / "index.sqlite3"], settled=False))
        # Wait before pruning, so that pruning does not delay a short command.
        await asyncio.sleep(INTERVAL_SECONDS)
        if await run_blocking(directory.is_dir):
            prune_in_background(session)
        async for _ in watcher:
            try:
                ids, known = await run_blocking(_read_changes, session.library, known)
            except StateError:
                continue  # The file changes again when the process that locked it is done.
            for params in [{}] if ids is None else [{"id": id_} for id_ in ids]:
                session.outbox.notify(DID_CHANGE, params)

    session.run_in_background("following the kept conversations", follow)


def _read_changes(library: ConversationLibrary, known: int) -> tuple[list[str] | None, int]:
    # Call this in a thread: the first use of `index` imports SQLite and opens the file.
    return library.index.changes_since(known)
