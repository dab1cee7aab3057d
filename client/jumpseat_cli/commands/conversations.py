"""`jumpseat conversations`: the kept conversations, as a list, as Markdown, as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jumpseat_cli.chat.answering import daemon
from jumpseat_cli.daemon.conversations import find_conversation, find_conversations, list_rows
from jumpseat_cli.terminal.failures import FAILED, OK, error_document, print_failure, print_json, say
from jumpseat_cli.terminal.output import make_output, print_text
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError

MOST_SHOWN = 20
"""How many titles a question about deleting shows."""


async def show_conversations(
    *, cwd: str | None, query: str | None, limit: int | None, daemon_command: Sequence[str], as_json: bool
) -> int:
    """Print the rows; say if the limit left some out.

    Raises:
        ClientError: they cannot be listed.
    """
    async with daemon(daemon_command) as client:
        rows, has_more = await list_rows(client, cwd=cwd, query=query, limit=limit)
    if as_json:
        print_json({"conversations": rows})
    elif rows:
        titles = ("Id", "Changed", "Title", "Turns", "Directory")
        print_rows(titles, [_cells(row) for row in rows], stacks=True)
    else:
        say("There is no such conversation." if query or cwd else "No conversation is kept.")
    if has_more:
        say(f"These are the last {len(rows)}. There are more; --limit N shows more.")
    return OK


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    changed = datetime.fromisoformat(row["updatedAt"]).astimezone().strftime("%Y-%m-%d %H:%M")
    return (row["id"], changed, row["title"], str(row["turns"]), _short_path(row.get("cwd") or ""))


def _short_path(path: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - stays "~" if there is none
    return f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path


async def show_conversation(conversation_id: str, *, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print one as Markdown, rendered on a terminal, or as JSON.

    Raises:
        ClientError: there is none.
    """
    async with daemon(daemon_command) as client:
        kept = await find_conversation(client, conversation_id)
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
        kept = await find_conversation(client, conversation_id)
        if as_json:
            print_json(kept)
        else:
            print_text(await _transcript(client, kept))
    return OK


async def remove_conversations(
    ids: Sequence[str], query: str | None, *, asks: bool, daemon_command: Sequence[str], as_json: bool
) -> int:
    """Delete conversations, after all of them were found; name each that was deleted.

    Args:
        ids: the ids, which may be shortened; ignored with a query.
        query: delete the conversations with all these words instead.
        asks: ask before the first is deleted.
        daemon_command: the daemon's command line.
        as_json: print the result as JSON.

    Raises:
        ClientError: nothing was deleted, because an id fits no conversation or several.
    """
    async with daemon(daemon_command) as client:
        if query is None:
            rows = await find_conversations(client, ids)
        else:
            rows = (await list_rows(client, query=query)).rows
        if not rows:
            print_failure(f"No kept conversation has all these words: {query}.", None)
            return FAILED
        if asks and await _confirm_removal(rows) != OK:
            say("Nothing was deleted.")
            return FAILED
        return await _remove(client, rows, as_json=as_json)


async def _confirm_removal(rows: Sequence[Mapping[str, Any]]) -> int:
    for row in rows[:MOST_SHOWN]:
        say(f"  {_name_of(row)}")
    if len(rows) > MOST_SHOWN:
        say(f"  and {len(rows) - MOST_SHOWN} more")
    these = "this conversation" if len(rows) == 1 else f"these {len(rows)} conversations"
    return await confirm(f"Delete {these}? This cannot be undone.")


async def _remove(client: Client, rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> int:
    deleted: dict[str, bool] = {}
    try:
        for row in rows:
            deleted[row["id"]] = await client.delete_conversation(row["id"])
            if not as_json:
                before = "Deleted" if deleted[row["id"]] else "Already deleted"
                print(f"{before}: {_name_of(row)}", flush=True)
    except ClientError as error:
        if not as_json:
            raise
        print_json({"deleted": deleted, "error": error_document(error)})
        return FAILED
    if as_json:
        print_json({"deleted": deleted})
    return OK if all(deleted.values()) else FAILED


def _name_of(row: Mapping[str, Any]) -> str:
    return f"{row['id']}  {clean_line(row['title'])}"


async def _transcript(client: Client, kept: Mapping[str, Any]) -> str:
    return await client.render_transcript(
        kept["messages"],
        system=kept.get("system"),
        model=kept.get("model"),
        settings=kept.get("settings"),
        conversation_id=kept["id"],
    )
