"""`jumpseat serve`: the command's options, and what has to be settled before the daemon is imported.

An editor's user waits for the daemon's start, so the daemon itself (`process`) is imported only once the
options are read, and with its most expensive import made lean.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from pathlib import Path

from jumpseat.rpc.lean_dataclasses import compile_lazily
from jumpseat.rpc.lean_lsprotocol import import_lean
from jumpseat.rpc.lean_pydantic import look_for_no_plugins

EXAMPLES = """\
examples:
  jumpseat serve                                  started by an editor, speaks on stdin and stdout
  jumpseat serve --log-level debug --log-file /tmp/jumpseat.log
  jumpseat serve --config ./jumpseat.toml         this configuration file and no other

exit codes: 0 after shutdown and exit; 1 when the client left otherwise; 2 for wrong options."""


def main(argv: Sequence[str]) -> int:
    """Run the daemon with these command line options; does not return once it has begun to serve."""
    options = _parser().parse_args(argv)
    gc.disable()
    look_for_no_plugins()
    import_lean()
    compile_lazily()
    from jumpseat.rpc.process import run
    from jumpseat.rpc.serving import SessionOptions

    # What was imported stays; the collector need not look at it again.
    gc.freeze()
    # A chat with a long history makes tens of thousands of objects, none of them garbage before its end.
    gc.set_threshold(20_000)
    gc.enable()
    return run(SessionOptions(options.config, options.log_level, options.log_file, options.client_process_id))


def _process_id(text: str) -> int:
    number = int(text)
    if not 0 <= number < 1 << 32:
        raise argparse.ArgumentTypeError(f"{text} is no process id")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jumpseat serve",
        description="Run the daemon: JSON-RPC 2.0 in LSP frames on stdin and stdout.",
        epilog=EXAMPLES,
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
        help="what is logged (default: warning)",
    )
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file, not to stderr")
    parser.add_argument(
        "--clientProcessId",
        "--client-process-id",
        dest="client_process_id",
        type=_process_id,
        metavar="PID",
        help="end when this process is gone",
    )
    return parser
