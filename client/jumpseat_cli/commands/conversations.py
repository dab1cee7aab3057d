"""`jumpseat conversations`: lists, searches, shows, exports, names and removes kept conversations."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_conversation
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_async
from jumpseat_cli.command_line.question_options import model_option
from jumpseat_cli.daemon.conversations import find_conversation, find_conversations, list_rows
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import FAILED, OK, error_document, print_failure, print_json, say
from jumpseat_cli.terminal.output import make_output, make_spinner, print_text
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError

LIMIT = 50
"""Number of conversations listed on a terminal without --limit."""

MAX_TITLES = 20
"""Number of conversations that are listed before the question whether to delete them."""

_id_argument = click.argument("conversation", metavar="ID", shell_complete=complete_conversation)
_limit_option = click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"List at most N conversations; by default {LIMIT} on a terminal, and all in a pipe.",
)
_directory_option = click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="List only conversations from this directory and below.",
)


@click.group("conversations", cls=ListByDefault, context_settings=HELP)
def conversations() -> None:
    """List, show, search, export, name and remove the conversations kept on this machine.

    Without a command, this is 'jumpseat conversations list'. An ID can be shortened to its beginning or its
    end if only one conversation matches. To stop keeping conversations, set 'keep = false' in the table
    [conversations] of the configuration file.

    \b
    Examples:
      jumpseat conversations
      jumpseat conversations search sqlite trigram
      jumpseat conversations show 3f2a
      jumpseat chat --conversation 3f2a "And now in Rust"

    Exit codes: 0 success; 1 there is no such conversation; 2 wrong usage.
    """


@conversations.command("list")
@_directory_option
@_limit_option
@daemon_options
@json_option
@run_async
async def list_conversations(
    directory: Path | None, limit: int | None, daemon_command: list[str], as_json: bool
) -> int:
    """List conversations, most recently changed first.

    In a pipe, each line is a conversation: id, time of the last change, title, turns and directory, separated
    by tabs.

    \b
    Examples:
      jumpseat conversations list
      jumpseat conversations list --directory . --limit 10
      jumpseat conversations list --json | jq -r '.conversations[].id'
    """
    return await _show_list((), directory, limit, daemon_command, as_json)


@conversations.command("search")
@click.argument("words", nargs=-1, required=True)
@_directory_option
@_limit_option
@daemon_options
@json_option
@run_async
async def search(
    words: tuple[str, ...],
    directory: Path | None,
    limit: int | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """List the conversations that contain all WORDS in the title or the messages, ignoring case.

    \b
    Examples:
      jumpseat conversations search sqlite trigram
      jumpseat conversations search --directory ~/work "race condition"
    """
    return await _show_list(words, directory, limit, daemon_command, as_json)


async def _show_list(
    words: tuple[str, ...],
    directory: Path | None,
    limit: int | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    cwd = None if directory is None else str(directory)
    query = " ".join(words) or None
    limit = limit or (LIMIT if sys.stdout.isatty() else None)
    async with daemon(daemon_command) as client:
        rows, has_more = await list_rows(client, cwd=cwd, query=query, limit=limit)
    if as_json:
        print_json({"conversations": rows})
    elif rows:
        titles = ("Id", "Changed", "Title", "Turns", "Directory")
        print_rows(titles, [_cells(row) for row in rows], stacks=True)
    else:
        say("No kept conversation matches." if query or cwd else "There are no kept conversations.")
    if has_more:
        say(f"These are the last {len(rows)} conversations. To list more, add --limit N.")
    return OK


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    changed = datetime.fromisoformat(row["updatedAt"]).astimezone().strftime("%Y-%m-%d %H:%M")
    return (row["id"], changed, row["title"], str(row["turns"]), _short_path(row.get("cwd") or ""))


def _short_path(path: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - stays "~" if there is no home directory
    return f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path


@conversations.command("show")
@_id_argument
@daemon_options
@json_option
@run_async
async def show(conversation: str, daemon_command: list[str], as_json: bool) -> int:
    """Show one conversation as Markdown.

    \b
    Examples:
      jumpseat conversations show 3f2a | less
      jumpseat conversations show --json 3f2a | jq '.messages | length'
    """
    async with daemon(daemon_command) as client:
        kept = await find_conversation(client, conversation)
        if as_json:
            print_json(kept)
            return OK
        text = await _render_transcript(client, kept)
    output = make_output()
    output.write(text)
    output.finish()
    return OK


@conversations.command("export")
@_id_argument
@daemon_options
@json_option
@run_async
async def export(conversation: str, daemon_command: list[str], as_json: bool) -> int:
    """Print one conversation as a transcript, which editors can open, or as JSON.

    \b
    Examples:
      jumpseat conversations export 3f2a > chat.md
      jumpseat conversations export --json 3f2a > chat.json
    """
    async with daemon(daemon_command) as client:
        kept = await find_conversation(client, conversation)
        if as_json:
            print_json(kept)
        else:
            print_text(await _render_transcript(client, kept))
    return OK


@conversations.command("title")
@_id_argument
@model_option("The model to ask. Default: the conversation's model.")
@click.option("--apply", "applies", is_flag=True, help="Rename the conversation to the suggested title.")
@daemon_options
@json_option
@run_async
async def suggest_title(
    conversation: str, model: str | None, applies: bool, daemon_command: list[str], as_json: bool
) -> int:
    """Ask a model for a title of one conversation, and print it.

    The conversation keeps its title, unless you add --apply.

    \b
    Examples:
      jumpseat conversations title 3f2a
      jumpseat conversations title --apply 3f2a
      jumpseat conversations title --model local:smollm2-135m-instruct 3f2a
    """
    spinner = make_spinner("Starting")
    try:
        async with daemon(daemon_command) as client:
            (row,) = await find_conversations(client, [conversation])
            spinner.show("Waiting for the model")
            title = await client.suggest_title(row["id"], model=model)
            if applies:
                await client.rename_conversation(row["id"], title)
    finally:
        spinner.stop()
    if as_json:
        print_json({"id": row["id"], "title": title, "applied": applies})
    else:
        print(clean_line(title))
    return OK


@conversations.command("remove")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_conversation)
@click.option("--search", "query", metavar="WORDS", help="Delete all conversations that contain these words.")
@click.option("-y", "--yes", is_flag=True, help="Delete without asking.")
@daemon_options
@json_option
@run_async
async def remove(
    ids: tuple[str, ...], query: str | None, yes: bool, daemon_command: list[str], as_json: bool
) -> int:
    """Delete conversations from this machine. This cannot be undone.

    If an ID matches no conversation, or several, nothing is deleted. On a terminal, the command asks first.
    It prints the conversations that it deleted.

    \b
    Examples:
      jumpseat conversations remove 3f2a
      jumpseat conversations remove --search "sqlite trigram"
      jumpseat conversations remove --yes --search secret

    Exit codes: 0 deleted; 1 there is no such conversation, a failure, or you answered no; 2 wrong usage.
    """
    if query is not None and not query.strip():
        raise click.UsageError("--search requires words.")
    if bool(ids) == (query is not None):
        raise click.UsageError("Choose the conversations either by ID or with --search WORDS.")
    async with daemon(daemon_command) as client:
        if query is None:
            rows = await find_conversations(client, ids)
        else:
            rows = (await list_rows(client, query=query)).rows
        if not rows:
            return print_failure(f"No kept conversation contains all these words: {query}.")
        if not yes and sys.stdin.isatty() and await _confirm_removal(rows) != OK:
            say("Nothing was deleted.")
            return FAILED
        return await _remove(client, rows, as_json=as_json)


async def _confirm_removal(rows: Sequence[Mapping[str, Any]]) -> int:
    for row in rows[:MAX_TITLES]:
        say(f"  {_name_of(row)}")
    if len(rows) > MAX_TITLES:
        say(f"  and {len(rows) - MAX_TITLES} more")
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


async def _render_transcript(client: Client, kept: Mapping[str, Any]) -> str:
    return await client.render_transcript(
        kept["messages"],
        system=kept.get("system"),
        model=kept.get("model"),
        settings=kept.get("settings"),
        conversation_id=kept["id"],
    )
