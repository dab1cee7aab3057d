"""The `jumpseat` command with its subcommands, and the handling of their errors."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from itertools import takewhile

import click

from jumpseat import __version__
from jumpseat.system.interrupts import raise_on_interrupt
from jumpseat_cli.command_line.first_word import CommandsOrQuestion
from jumpseat_cli.command_line.groups import rewrite_unknown_option
from jumpseat_cli.command_line.options import HELP
from jumpseat_cli.terminal.failures import (
    FAILED,
    INTERRUPTED,
    OK,
    USAGE,
    client_error,
    print_failure,
    print_json,
    say,
)


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # An answer must not fail on a character that the terminal's encoding lacks.
            stream.reconfigure(errors="replace")
    if "_JUMPSEAT_COMPLETE" in os.environ:
        from jumpseat_cli.command_line import shells

        shells.register()
    try:
        raise_on_interrupt()
        code = jumpseat.main(args=list(argv), prog_name="jumpseat", standalone_mode=False)
        # Flush here, so that the handlers below report a failure. They do not run for the flush at exit.
        sys.stdout.flush()
    except click.ClickException as error:
        _show(rewrite_unknown_option(error) if isinstance(error, click.NoSuchOption) else error, argv)
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe. Redirect stdout, so that Python's flush at exit does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        # The disk is probably full. Redirect stdout, so that Python's flush at exit does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return print_failure(f"The output cannot be written: {error.strerror or error}.")
    return code if isinstance(code, int) else OK


def _show(error: click.ClickException, argv: Sequence[str]) -> None:
    # Search the arguments, because the parser may have failed before it reached `--json`.
    if "--json" in takewhile(lambda word: word != "--", argv):
        print_json({"error": client_error(error.format_message())})
        return
    shown = io.StringIO()
    error.show(shown)
    say(shown.getvalue().rstrip("\n"))


def _replace_closed_streams() -> None:
    """Connect standard streams to the null device if the caller has closed them, as some scripts do."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - until the process ends


MODULES = {
    "accept-terms": "jumpseat_cli.commands.account:accept_terms",
    "acp": "jumpseat_cli.commands.daemon:acp",
    "attach": "jumpseat_cli.commands.daemon:attach",
    "chat": "jumpseat_cli.commands.chat:chat",
    "config": "jumpseat_cli.commands.config:config_group",
    "conversations": "jumpseat_cli.commands.conversations:conversations",
    "daemon": "jumpseat_cli.commands.daemon:daemon_group",
    "doctor": "jumpseat_cli.commands.doctor:doctor",
    "edit": "jumpseat_cli.commands.edit:edit",
    "keys": "jumpseat_cli.commands.keys:keys",
    "local": "jumpseat_cli.commands.local:local",
    "login": "jumpseat_cli.commands.account:login",
    "logout": "jumpseat_cli.commands.account:logout",
    "mcp": "jumpseat_cli.commands.mcp:mcp",
    "models": "jumpseat_cli.commands.models:models",
    "prompts": "jumpseat_cli.commands.prompts:prompts",
    "serve": "jumpseat_cli.commands.daemon:serve",
    "settings": "jumpseat_cli.commands.settings:settings",
    "status": "jumpseat_cli.commands.status:status",
    "tokens": "jumpseat_cli.commands.tokens:tokens",
    "tools": "jumpseat_cli.commands.tools:tools",
}
"""The location of each command."""


@click.group(cls=CommandsOrQuestion, modules=MODULES, context_settings=HELP, no_args_is_help=True)
@click.version_option(__version__, message="%(prog)s %(version)s")
def jumpseat() -> None:
    """Chat with any model provider, through the same daemon as editors.

    \b
    Examples:
      jumpseat "Why is the sky blue?"
      jumpseat chat
      git diff | jumpseat chat "Write a commit message"
      jumpseat login
      jumpseat models
      jumpseat status

    \b
    Shell completion, for the current shell:
      bash:  eval "$(_JUMPSEAT_COMPLETE=bash_source jumpseat)"
      zsh:   eval "$(_JUMPSEAT_COMPLETE=zsh_source jumpseat)"
      fish:  _JUMPSEAT_COMPLETE=fish_source jumpseat | source
    To keep it, put that line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.

    Exit codes: 0 success; 1 the command failed or found a problem; 2 wrong usage; 3 a call of a tool was
    denied because there was no terminal on which to ask you; 130 interrupted; 143 ended by SIGTERM.
    """
