"""`jumpseat edit`."""

from __future__ import annotations

import codecs
import sys
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_model
from jumpseat_cli.command_line.options import daemon_options, json_option, run_work
from jumpseat_cli.commands.chat_inputs import complete_file


def _checked_encoding(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else codecs.lookup(value).name
    except LookupError:
        raise click.BadParameter(f"There is no encoding {value!r}.") from None


@click.command()
@click.argument("file", metavar="FILE[:A-B]", shell_complete=complete_file)
@click.argument("instruction", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Change the file without a question.")
@click.option("--stdout", "prints", is_flag=True, help="Print the new text instead of changing the file.")
@click.option("-m", "--model", metavar="NAME", shell_complete=complete_model, help="The model.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), metavar="N", help="The limit for the answer, in tokens."
)
@click.option(
    "--encoding", metavar="NAME", callback=_checked_encoding, help="The file's encoding, if it is not UTF-8."
)
@daemon_options
@json_option
def edit(
    file: str,
    instruction: tuple[str, ...],
    yes: bool,
    prints: bool,
    encoding: str | None,
    daemon_command: list[str],
    as_json: bool,
    **options: Any,
) -> int:
    """Rewrite FILE, or some of its lines, following INSTRUCTION.

    Shows the change as a diff, and asks before the file is changed. A range of lines follows the name:
    main.py:10-24, main.py:10 or main.py:10-. FILE may be - for piped input; then the new text is printed.

    The file keeps its owner, access rights, links, line ends and encoding. It is left alone if the answer is
    incomplete, or if another program changes it in the meantime. A read-only file is refused before the
    model is asked.

    \b
    Examples:
      jumpseat edit main.py "Add type annotations"
      jumpseat edit main.py:10-24 --yes "Simplify this loop"
      jumpseat edit --stdout README.md "Correct the spelling" | less
      cat note.txt | jumpseat edit - "Translate to English"
      jumpseat edit --json README.md "Correct the spelling" | jq -r .replacement

    Exit codes: 0 changed, printed, or nothing to change; 1 a failure, or no; 2 wrong usage; 130 interrupted;
    143 ended by SIGTERM.
    """
    from jumpseat_cli.commands.edit import edit_piece
    from jumpseat_cli.files.editable import STDIN, CannotEdit, read_piece

    if yes and (prints or file == STDIN):
        raise click.UsageError("--yes changes a file, but here the new text is printed.")
    writes = True if yes else False if prints or as_json or file == STDIN else None
    # All this before the request, which costs money.
    try:
        piece = read_piece(file, encoding)
        if writes is not False:
            piece.check_writable()
    except CannotEdit as error:
        raise click.ClickException(str(error)) from None
    if writes is None and not sys.stdin.isatty():
        raise click.UsageError(
            "Without a terminal there is no question. Add --yes to change the file, or --stdout."
        )
    work = edit_piece(
        piece,
        " ".join(instruction),
        options,
        writes=writes,
        daemon_command=daemon_command,
        as_json=as_json,
    )
    return run_work(work, as_json=as_json)
