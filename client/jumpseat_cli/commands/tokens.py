"""`jumpseat tokens`: counts the tokens that a chat with a text would use."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jumpseat_cli.command_line.options import daemon_options, json_option, rules_option
from jumpseat_cli.command_line.question_options import files_option, model_option
from jumpseat_cli.daemon.rows import short_count
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json
from jumpseat_cli.terminal.running import run_work
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError

if TYPE_CHECKING:
    from jumpseat_cli.chat.question import AskedQuestion

HOW = {"provider": "counted by the provider", "estimate": "estimated"}


@click.command()
@click.argument("text", nargs=-1)
@files_option(
    "Count a file, some of its lines, all files that match a quoted pattern, a page (https://…), or - for "
    "piped input. Repeatable."
)
@model_option("The model to count for; 'jumpseat models' lists them.")
@click.option("-s", "--system", metavar="TEXT", help="Also count this system prompt.")
@rules_option
@click.option("--exact", is_flag=True, help="Fail instead of estimating if the provider cannot count.")
@daemon_options
@json_option
def tokens(
    text: tuple[str, ...],
    files: tuple[str, ...],
    model: str | None,
    system: str | None,
    workspace_rules: bool,
    exact: bool,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """Count the tokens that a chat with TEXT, files and piped input would use.

    The provider counts if it can; otherwise the number is estimated. In a pipe, only the number is printed.

    \b
    Examples:
      jumpseat tokens "How long is this?"
      git diff | jumpseat tokens
      jumpseat tokens -f main.py -f README.md -m copilot:gpt-4.1
      jumpseat tokens --json -f main.py | jq .tokens

    Exit codes: 0 success; 1 a failure, or --exact and the provider cannot count; 2 wrong usage.
    """
    from jumpseat_cli.chat.question import STDIN, read_question

    # If there are files, read stdin only for `-`: in a `while read` loop, stdin may be the list of files.
    asked = read_question(text, files, with_stdin=not files or STDIN in (*text, *files))
    if asked.lacks_input:
        raise click.UsageError("There is no text. Try: jumpseat tokens -f README.md")
    options = {"model": model, "system": system, "workspace_rules": workspace_rules}
    work = _show_tokens(asked, options, exact=exact, daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)


async def _show_tokens(
    asked: AskedQuestion,
    options: Mapping[str, Any],
    *,
    exact: bool,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Print how many tokens a chat would use, and return the exit code.

    Args:
        asked: the chat's question.
        options: options for `Client.count_tokens`.
        exact: whether to fail instead of estimating.
        daemon_command: the daemon's command line.
        as_json: whether to print the result as JSON.

    Raises:
        ClientError: the daemon cannot be used, a page cannot be read, or the model is rejected.
    """
    async with daemon(daemon_command) as client:
        message = (await asked.with_pages(client)).message()
        counted = await client.count_tokens([message], allow_estimate=not exact, **options)
        shows_limit = sys.stdout.isatty() and not as_json
        limit = await _find_limit(client, options.get("model")) if shows_limit else None
    tokens = counted.get("tokens", -1)
    if as_json:
        print_json(counted)
    elif tokens < 0:
        print_failure("The provider cannot count tokens.", "Leave out --exact for an estimate.")
    elif shows_limit:
        how = HOW.get(str(counted.get("method")), "")
        share = f", {tokens / limit:.1%} of {short_count(limit)}" if limit else ""
        print(f"{tokens} tokens, {how}{share}")
    else:
        print(tokens)
    return OK if tokens >= 0 else FAILED


async def _find_limit(client: Client, name: str | None) -> int | None:
    """Return the model's limit for a prompt, in tokens; None if the limit is unknown."""
    try:
        models = (await client.list_models(provider=_provider_of(name)))["models"]
    except ClientError:
        return None
    for model in models:
        if name in (model["id"], model.get("model")) or (name is None and model.get("isDefault")):
            limit = model.get("maxPromptTokens") or model.get("maxContextTokens")
            return limit if isinstance(limit, int) else None
    return None


def _provider_of(name: str | None) -> str | None:
    provider, colon, _ = (name or "").partition(":")
    return provider if colon else None
