"""`jumpseat status` and `jumpseat tokens`."""

from __future__ import annotations

import click

from jumpseat_cli.command_line.completion import complete_model
from jumpseat_cli.command_line.options import daemon_options, json_option, run_work
from jumpseat_cli.commands.chat_inputs import complete_file


@click.command()
@click.option("--probe", is_flag=True, help="Request each provider: is its key accepted, what can it do?")
@daemon_options
@json_option
def status(probe: bool, daemon_command: list[str], as_json: bool) -> int:
    """Show the providers, whether they are ready, the account's quotas, and what to do next.

    \b
    Examples:
      jumpseat status
      jumpseat status --probe
      jumpseat status --json | jq '.providers[] | {id, state: .auth.state}'

    Exit codes: 0 success; 1 the daemon cannot be used, or the configured default provider does not exist;
    2 wrong usage.
    """
    from jumpseat_cli.commands.status import show_status

    work = show_status(probe=probe, daemon_command=daemon_command, as_json=as_json)
    return run_work(work, as_json=as_json)


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="PATH[:A-B]",
    shell_complete=complete_file,
    help="Count this file or some of its lines, a pattern's files, or - for piped input. Repeatable.",
)
@click.option("-m", "--model", metavar="NAME", shell_complete=complete_model, help="The model that counts.")
@click.option("-s", "--system", metavar="TEXT", help="Count this system prompt too.")
@click.option("--exact", is_flag=True, help="Fail if the provider does not count, instead of estimating.")
@daemon_options
@json_option
def tokens(
    text: tuple[str, ...],
    files: tuple[str, ...],
    model: str | None,
    system: str | None,
    exact: bool,
    daemon_command: list[str],
    as_json: bool,
) -> int:
    """Count the tokens of TEXT, of files and of piped input, as a chat with them would have.

    The provider counts where it can; else the number is estimated. In a pipe only the number is printed.

    \b
    Examples:
      jumpseat tokens "How long is this?"
      git diff | jumpseat tokens
      jumpseat tokens -f main.py -f README.md -m copilot:gpt-4.1
      jumpseat tokens --json -f main.py | jq .tokens

    Exit codes: 0 success; 1 a failure, or with --exact no count; 2 wrong usage.
    """
    from jumpseat_cli.chat.question import STDIN, read_question
    from jumpseat_cli.commands.tokens import show_tokens

    # With files, only `-` reads stdin: in a loop of a script it has the names of the files.
    asked = read_question(text, files, with_stdin=not files or STDIN in (*text, *files))
    if asked.is_empty and not asked.blocks:
        raise click.UsageError("There is no text. Try: jumpseat tokens -f README.md")
    options = {"model": model, "system": system}
    work = show_tokens(
        [asked.message()], options, exact=exact, daemon_command=daemon_command, as_json=as_json
    )
    return run_work(work, as_json=as_json)
