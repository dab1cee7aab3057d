"""`jumpseat conversations`: the kept conversations, as a list, as Markdown, as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jumpseat_client.cli.chat import daemon
from jumpseat_client.cli.continuing import LARGEST_PAGE, LIST_HINT
from jumpseat_client.cli.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_client.cli.lists import print_rows
from jumpseat_client.cli.output import make_output, print_text
from jumpseat_client.cli.terminal import clean_line
from jumpseat_client.client import Client


async def list_rows(
    client: Client, *, cwd: str | None = None, query: str | None = None, limit: int
) -> list[dict[str, Any]]:
    """The conversations that changed last, at most `limit`; each once."""
    rows: dict[str, dict[str, Any]] = {}
    cursor = None
    while len(rows) < limit:
        size = min(limit - len(rows), LARGEST_PAGE)
        page = await client.list_conversations(cwd=cwd, query=query, limit=size, cursor=cursor)
        rows.update((row["id"], row) for row in page["conversations"])
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    return list(rows.values())


async def show_conversations(
    *, cwd: str | None, query: str | None, limit: int, daemon_command: Sequence[str], as_json: bool
) -> int:
    """Print the rows.

    Raises:
        ClientError: they cannot be listed.
    """
    async with daemon(daemon_command) as client:
        rows = await list_rows(client, cwd=cwd, query=query, limit=limit)
    if as_json:
        print_json({"conversations": rows})
    elif rows:
        titles = ("Id", "Changed", "Title", "Turns", "Directory")
        print_rows(titles, [_cells(row) for row in rows], stacks=True)
    else:
        say("There is no such conversation." if query or cwd else "No conversation is kept.")
    return OK


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    changed = datetime.fromisoformat(row["updatedAt"]).astimezone().strftime("%Y-%m-%d %H:%M")
    return (row["id"], changed, row["title"], str(row["turns"]), _short_path(row.get("cwd") or ""))


def _short_path(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path


async def show_conversation(conversation_id: str, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print one as Markdown, rendered on a terminal, or as JSON.

    Raises:
        ClientError: there is none.
    """
    async with daemon(daemon_command) as client:
        kept = await client.get_conversation(conversation_id)
        if as_json:
            print_json(kept)
            return OK
        text = await _transcript(client, kept)
    output = make_output()
    output.write(text)
    output.finish()
    return OK


async def export_conversation(conversation_id: str, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print one as a transcript, which is not changed in a pipe, or as JSON.

    Raises:
        ClientError: there is none.
    """
    async with daemon(daemon_command) as client:
        kept = await client.get_conversation(conversation_id)
        if as_json:
            print_json(kept)
        else:
            print_text(await _transcript(client, kept))
    return OK


async def remove_conversations(ids: Sequence[str], *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Delete conversations; those that do not exist are reported.

    Raises:
        ClientError: one cannot be deleted.
    """
    async with daemon(daemon_command) as client:
        deleted = {id_: await client.delete_conversation(id_) for id_ in ids}
    if as_json:
        print_json({"deleted": deleted})
    else:
        for id_ in (id_ for id_, existed in deleted.items() if not existed):
            print_failure(f"There is no kept conversation {clean_line(id_)}.", LIST_HINT)
    return OK if all(deleted.values()) else FAILED


async def _transcript(client: Client, kept: Mapping[str, Any]) -> str:
    return await client.render_transcript(
        kept["messages"],
        system=kept.get("system"),
        model=kept.get("model"),
        settings=kept.get("settings"),
        conversation_id=kept["id"],
    )
