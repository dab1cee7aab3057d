"""Error messages of the command line, and its exit codes."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

from jumpseat_cli.terminal.text import clean, clean_line
from jumpseat_client.errors import ClientError, RequestFailed

OK = 0
FAILED = 1
"""The command failed, or found a problem."""
USAGE = 2
DENIED = 3
"""A call of a tool was denied because nobody could be asked for an approval."""
INTERRUPTED = 130
TERMINATED = 143
"""The code that a shell reports for a program that SIGTERM has ended."""

BY_SIGTERM = "SIGTERM"
"""The argument of a CancelledError that SIGTERM causes. Ctrl-C causes one without an argument."""

# These are valid in JSON strings, but terminals interpret control characters, and UTF-8 has no surrogates.
_UNSAFE = re.compile("[\x7f-\x9f\ud800-\udfff]")


def say(text: str, indent: str = "") -> None:
    """Write lines to stderr, for the user.

    Args:
        text: the lines.
        indent: the indent of continuation lines on a terminal.
    """
    text = clean(text)
    if sys.stderr.isatty():
        from jumpseat_cli.terminal.wrapping import wrap

        text = "\n".join(wrap(line, indent) for line in text.split("\n"))
    print(text, file=sys.stderr, flush=True)


def print_failure(message: str, hint: str | None = None) -> int:
    """Print an error message, and a hint on a second line; return the exit code.

    With `--json` the failure is printed as `{"error": ...}`.
    """
    import click  # An import at the top would delay the start of the daemon.

    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("as_json"):
        print_json({"error": client_error(message, hint)})
        return FAILED
    say(f"jumpseat: {message}")
    if hint:
        say(f"hint: {clean_line(hint)}")
    return FAILED


def print_client_error(error: ClientError, *, as_json: bool) -> None:
    """Print the error to stderr as text, or to stdout as `{"error": ...}`."""
    if as_json:
        print_json({"error": error_document(error)})
    else:
        print_failure(str(error), error.hint)


def error_document(error: ClientError) -> dict[str, Any]:
    """Return the error in wire form."""
    if isinstance(error, RequestFailed):
        return error.as_dict()
    return client_error(str(error), error.hint)


def exit_code_of(error: asyncio.CancelledError) -> int:
    """Return the exit code of a command whose task was cancelled by Ctrl-C or SIGTERM."""
    return TERMINATED if BY_SIGTERM in error.args else INTERRUPTED


def cancelled_error(code: int) -> dict[str, Any]:
    """Return the error for a command that Ctrl-C or SIGTERM ended, according to its exit code."""
    by = "SIGTERM" if code == TERMINATED else "Ctrl-C"
    return {"code": None, "message": f"{by} ended the command.", "data": {"kind": "cancelled"}}


def client_error(message: str, hint: str | None = None) -> dict[str, Any]:
    """Return an error of the command line itself in wire form."""
    data = {"kind": "client"} | ({"hint": hint} if hint else {})
    return {"code": None, "message": message, "data": data}


def print_json(document: Any) -> None:
    """Print a JSON document. Characters that are unsafe on a terminal are escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    print(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)
