"""The commands of `jumpseat conversations`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from jumpseat_cli.command_line.completion import complete_conversation
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_work

LIMIT = 50
"""How many conversations a terminal shows without --limit."""

_id_argument = click.argument("conversation", metavar="ID", shell_complete=complete_conversation)
_limit_option = click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"At most this many conversations; on a terminal {LIMIT} by default, in a pipe all.",
)
_directory_option = click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False, resolve_path=True, path_type=Path),
    metavar="DIR",
    help="Only conversations of this directory and those below it.",
)


@click.group("conversations", cls=ListByDefault, context_settings=HELP)
def conversations() -> None:
    """List, show, search, export and remove the conversations that are kept on this machine.

    Without a command it is 'jumpseat conversations list', with its options. An ID may be shortened to its
    beginning or its end if that fits only one conversation. 'keep = false' in the table
    [conversations] of the configuration file switches keeping off.

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
def list_conversations(
    directory: Path | None, limit: int | None, daemon_command: list[str], as_json: bool
) -> int:
    """List the conversations that changed last.

    In a pipe each line is a conversation: id, time of the last change, title, turns and directory, separated
    by tabs.

    \b
    Examples:
      jumpseat conversations list
      jumpseat conversations list --directory . --limit 10
      jumpseat conversations list --json | jq -r '.conversations[].id'
    """
    return _show_list((), directory, limit, daemon_command, as_json)


@conversations.command("search")
@click.argument("words", nargs=-1, required=True)
@_directory_option
@_limit_option
@daemon_options
@json_option
def search(
    words: tuple[str, ...],
    directory: Path | None,
    limit: int | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """List the conversations that have all these WORDS, in any case, in their titles and texts.

    \b
    Examples:
      jumpseat conversations search sqlite trigram
      jumpseat conversations search --directory ~/work "race condition"
    """
    return _show_list(words, directory, limit, daemon_command, as_json)


def _show_list(
    words: tuple[str, ...],
    directory: Path | None,
    limit: int | None,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    from jumpseat_cli.commands.conversations import show_conversations

    work = show_conversations(
        cwd=None if directory is None else str(directory),
        query=" ".join(words) or None,
        limit=limit or (LIMIT if sys.stdout.isatty() else None),
        daemon_command=daemon_command,
        as_json=as_json,
    )
    return run_work(work, as_json=as_json)


@conversations.command("show")
@_id_argument
@daemon_options
@json_option
def show(conversation: str, daemon_command: list[str], as_json: bool) -> int:
    """Show one conversation as Markdown.

    \b
    Examples:
      jumpseat conversations show 3f2a | less
      jumpseat conversations show --json 3f2a | jq '.messages | length'
    """
    from jumpseat_cli.commands.conversations import show_conversation

    work = show_conversation(conversation, daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)


@conversations.command("export")
@_id_argument
@daemon_options
@json_option
def export(conversation: str, daemon_command: list[str], as_json: bool) -> int:
    """Print one conversation unchanged: as a transcript, which editors can read back, or as JSON.

    \b
    Examples:
      jumpseat conversations export 3f2a > chat.md
      jumpseat conversations export --json 3f2a > chat.json
    """
    from jumpseat_cli.commands.conversations import export_conversation

    work = export_conversation(conversation, daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)


@conversations.command("remove")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_conversation)
@click.option("--search", "query", metavar="WORDS", help="Delete all conversations with these words.")
@click.option("-y", "--yes", is_flag=True, help="Delete without a question.")
@daemon_options
@json_option
def remove(
    ids: tuple[str, ...], query: str | None, yes: bool, daemon_command: list[str], as_json: bool
) -> int:
    """Delete conversations from this machine. This cannot be undone.

    Nothing is deleted if one of the IDs fits no conversation, or several. On a terminal the command asks
    first. It prints what it deleted.

    \b
    Examples:
      jumpseat conversations remove 3f2a
      jumpseat conversations remove --search "sqlite trigram"
      jumpseat conversations remove --yes --search secret

    Exit codes: 0 deleted; 1 there is no such conversation, a failure, or no; 2 wrong usage.
    """
    from jumpseat_cli.commands.conversations import remove_conversations

    if query is not None and not query.strip():
        raise click.UsageError("--search needs words.")
    if bool(ids) == (query is not None):
        raise click.UsageError("Name the conversations either by ID or by --search WORDS.")
    work = remove_conversations(
        ids, query, asks=not yes and sys.stdin.isatty(), daemon_command=daemon_command, as_json=as_json
    )
    return run_work(work, as_json=as_json)
