"""The command line options of `serve`, `attach` and `acp`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

EXAMPLES = """\
examples:
  jumpseat {command}                                  for an editor, which talks to it on stdin and stdout
  jumpseat {command} --log-level debug --log-file /tmp/jumpseat.log
  jumpseat {command} --config ./jumpseat.toml         with this configuration file

exit codes: {codes}; 2 for invalid options."""

EXIT_CODES = {"acp": "0 when the client closes stdin; 1 if the daemon ends"}
OTHER_EXIT_CODES = "0 if the client sent shutdown; 1 otherwise"

DESCRIPTIONS = {
    "serve": "Run the daemon: JSON-RPC 2.0 in LSP frames on stdin and stdout.",
    "acp": "Serve a client that speaks the Agent Client Protocol: JSON lines on stdin and stdout.",
    "attach": "Serve a client through the daemon that all clients share, with the same messages as serve.",
}


class Flags(argparse.Namespace):
    """The parsed options."""

    config: Path | None
    log_level: str
    log_file: Path | None
    client_process_id: int | None
    login: bool
    """Whether to sign in on this terminal instead of serving; for `acp` only."""


def parse_flags(argv: Sequence[str], command: str) -> Flags:
    """Parse the command line. If it is invalid, exit with the code 2.

    Args:
        argv: the arguments after the command's name.
        command: `serve`, `attach` or `acp`.
    """
    return build_parser(command).parse_args(argv, Flags())


def _process_id(text: str) -> int:
    number = int(text)
    if not 0 <= number < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text} is not a process id")
    return number


def build_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser for `serve`, `attach` or `acp`."""
    parser = argparse.ArgumentParser(
        prog=f"jumpseat {command}",
        description=DESCRIPTIONS[command],
        epilog=EXAMPLES.format(command=command, codes=EXIT_CODES.get(command, OTHER_EXIT_CODES)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="speak on stdin and stdout (the default)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration file to read")
    parser.add_argument(
        "--log-level",
        type=str.lower,
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="the lowest level to log (default: warning)",
    )
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file, not to stderr")
    parser.add_argument(
        "--clientProcessId",
        "--client-process-id",
        dest="client_process_id",
        type=_process_id,
        metavar="PID",
        help="exit when this process has ended",
    )
    if command == "acp":
        parser.add_argument("--login", action="store_true", help="sign in on this terminal, and exit")
    return parser
