"""How the command line says that something went wrong, and its exit codes."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from jumpseat_client.cli.terminal import clean, clean_line
from jumpseat_client.errors import ClientError, RequestFailed

OK = 0
FAILED = 1
"""The daemon or a provider said no."""
USAGE = 2
INTERRUPTED = 130

# JSON may hold these as they are, but a terminal would obey some of them.
_UNSAFE = re.compile("[\x7f-\x9f]")


def say(text: str) -> None:
    """Write one line for the person to stderr."""
    print(clean(text), file=sys.stderr, flush=True)


def print_failure(message: str, hint: str | None) -> None:
    """Say what went wrong, and on a second line what to do about it."""
    say(f"jumpseat: {message}")
    if hint:
        say(f"hint: {clean_line(hint)}")


def print_client_error(error: ClientError, *, as_json: bool) -> None:
    """Report a failed request: to stderr for a person, or to stdout as `{"error": ...}` for a program."""
    if not as_json:
        print_failure(str(error), error.hint)
    elif isinstance(error, RequestFailed):
        print_json({"error": error.as_dict()})
    else:
        print_json({"error": {"code": None, "message": str(error), "data": {"kind": "client"}}})


def print_json(document: Any) -> None:
    """Print one JSON document that is safe on a terminal."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    print(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)
