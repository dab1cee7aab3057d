"""`jumpseat edit`: rewrites a file, or some of its lines, as instructed."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from jumpseat_cli.chat.printing import wait_for_result
from jumpseat_cli.chat.stop_reasons import explain_missing_replacement, warning_about
from jumpseat_cli.command_line.completion import complete_file
from jumpseat_cli.command_line.options import daemon_options, json_option, rules_option
from jumpseat_cli.command_line.question_options import max_tokens_option, model_option
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.files.editable import STDIN, Piece, read_piece
from jumpseat_cli.files.lines import CannotUse
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.output import make_spinner, print_text
from jumpseat_cli.terminal.questions import confirm
from jumpseat_cli.terminal.running import run_work
from jumpseat_cli.terminal.styles import print_diff


def _validate_encoding(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else codecs.lookup(value).name
    except LookupError:
        raise click.BadParameter(f"There is no encoding named {value!r}.") from None


@click.command()
@click.argument("file", metavar="FILE[:A-B]", shell_complete=complete_file)
@click.argument("instruction", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Change the file without asking.")
@click.option("--stdout", "prints", is_flag=True, help="Print the new text instead of changing the file.")
@model_option("The model to ask; 'jumpseat models' lists them.")
@max_tokens_option
@rules_option
@click.option(
    "--encoding", metavar="NAME", callback=_validate_encoding, help="The file's encoding, if it is not UTF-8."
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

    The file keeps its owner, access rights, links, line endings and encoding. It is not changed if the answer
    is incomplete, or if another program changes it in the meantime. A read-only file is refused before the
    model is asked.

    \b
    Examples:
      jumpseat edit main.py "Add type annotations"
      jumpseat edit main.py:10-24 --yes "Simplify this loop"
      jumpseat edit --stdout README.md "Correct the spelling" | less
      cat note.txt | jumpseat edit - "Translate to English"
      jumpseat edit --json README.md "Correct the spelling" | jq -r .replacement

    Exit codes: 0 changed, printed, or nothing to change; 1 a failure, or you answered no; 2 wrong usage; 130
    interrupted; 143 ended by SIGTERM.
    """
    if yes and (prints or file == STDIN):
        raise click.UsageError(
            "--yes cannot be combined with --stdout or piped input, which print the new text."
        )
    writes = True if yes else False if prints or as_json or file == STDIN else None
    # Check everything before the request, which costs money.
    piece = read_piece(file, encoding)
    if writes is not False:
        piece.check_writable()
    if writes is None and not sys.stdin.isatty():
        raise click.UsageError(
            "Without a terminal, jumpseat cannot ask. "
            "Add --yes to change the file, or --stdout to print the new text."
        )
    work = _edit_piece(
        piece,
        " ".join(instruction),
        options,
        writes=writes,
        daemon_command=daemon_command,
        as_json=as_json,
    )
    return run_work(work, as_json=as_json)


async def _edit_piece(
    piece: Piece,
    instruction: str,
    options: Mapping[str, Any],
    *,
    writes: bool | None,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Rewrite the piece, and return the exit code.

    Args:
        piece: the text to rewrite.
        instruction: how to rewrite it.
        options: options for `Client.edit`.
        writes: True to change the file, False to print the new text, None to show a diff and ask.
        daemon_command: the daemon's command line.
        as_json: print the result as JSON instead of text and diff.

    Raises:
        ClientError: the daemon cannot be used, or the edit failed.
    """
    spinner = make_spinner("Starting")
    try:
        async with daemon(daemon_command) as client:
            spinner.show("Waiting for the model")
            # A truncated edit has no replacement, so use the model's own output limit.
            options = {"maxTokensDefault": "model", **options}
            stream = client.edit(piece.target, instruction, on_progress=spinner.progress, **options)
            result, notes = await wait_for_result(stream, spinner)
    finally:
        spinner.stop()
    if result.replacement and piece.is_empty_file and not result.replacement.endswith("\n"):
        # The daemon copies the line ending of the old text, and an empty file has none.
        result["replacement"] += "\n"
    replacement = result.replacement
    known = warning_about(result.stop_reason) if replacement is None else None
    for note in notes if not as_json else ():
        if note != known:  # The failure below contains the same sentence.
            say(note)
    if replacement is None:
        if as_json:
            print_json(result)
        else:
            _report_missing_replacement(result)
        return FAILED
    try:
        if as_json:
            code = _write(piece, replacement) if writes else OK
            print_json(result)
            return code
        if writes is False:
            _print(piece, replacement)
            return OK
        return await _change(piece, replacement, asks=writes is None)
    except CannotUse as error:
        return print_failure(str(error))


async def _change(piece: Piece, replacement: str, *, asks: bool) -> int:
    if replacement == piece.text:
        say("The model did not change anything.")
        return OK
    # Do not ask about text that cannot be written in the file's encoding.
    piece.encode(replacement)
    print_diff(piece.diff(replacement))
    if asks and await confirm(f"Change {piece.path}?") != OK:
        say("Nothing was changed.")
        return FAILED
    return _write(piece, replacement)


def _write(piece: Piece, replacement: str) -> int:
    if replacement != piece.text:
        piece.write(replacement)
    return OK


def _print(piece: Piece, replacement: str) -> None:
    """Print the new text; in a pipe, use the file's encoding."""
    if sys.stdout.isatty():
        print_text(replacement)
        return
    # Print the byte order mark only with text from the beginning of the file.
    mark = b"" if piece.before else piece.mark
    content = mark + piece.encode(replacement)
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _report_missing_replacement(result: Any) -> None:
    why, hint = explain_missing_replacement(result.stop_reason)
    print_failure(f"There is no replacement: {why}.", hint)
