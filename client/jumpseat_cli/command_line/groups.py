"""Command groups: the base class, one that imports commands lazily, and one that lists by default."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

SYNONYMS = (
    ("list", "ls"),
    ("remove", "rm", "delete", "unset", "uninstall"),
    ("show", "get", "cat"),
    ("set", "add"),
    ("--help", "help"),
    ("--version", "version"),
)
"""Each row has words for one action. A group has at most one of them, but users may type any of them."""


class CommandGroup(click.Group):
    """A group that lists commands with the first sentence of their help, and suggests a name after a typo."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; click would truncate long sentences."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(limit=1000)) for name, command in commands if command]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command for these arguments, and the arguments to pass to it."""
        word = args[0]
        is_command = self.get_command(ctx, word) is not None
        if not is_command and not word.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(self.describe_unknown_word(ctx, word, args[1:]), ctx)
        return super().resolve_command(ctx, args)

    def describe_unknown_word(self, ctx: click.Context, word: str, following: list[str]) -> str:
        """Return the message for a word that is not a command; `following` are the arguments after it."""
        del following
        near = self.find_nearest(ctx, word)
        return f"No such command {word!r}." + (f" Did you mean {near!r}?" if near else "")

    def find_nearest(self, ctx: click.Context, word: str) -> str | None:
        """Return the command or option that was probably meant; None if none is similar."""
        from difflib import get_close_matches

        names = self.list_commands(ctx)
        options = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        for words in SYNONYMS:
            if word in words:
                return next((name for name in words if name in {*names, *options}), None)
        return next(iter(get_close_matches(word, names, 1)), None)


class LazyGroup(CommandGroup):
    """A group that imports each command only when it is used, because most runs use a single command."""

    def __init__(self, *arguments: Any, modules: Mapping[str, str] | None = None, **more: Any) -> None:
        """
        Args:
            arguments: as for `click.Group`.
            modules: the location of each command, as `module:name`.
            more: as for `click.Group`.
        """
        super().__init__(*arguments, **more)
        self._modules = dict(modules or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, and import it if necessary."""
        if (place := self._modules.pop(cmd_name, None)) is not None:
            module, _, name = place.partition(":")
            self.add_command(getattr(import_module(module), name), cmd_name)
        return super().get_command(ctx, cmd_name)


class ListByDefault(CommandGroup):
    """A group that runs `list` if the first argument is not a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `list` if the arguments do not start with a command."""
        is_help = len(args) == 1 and args[0] in ("-h", "--help")
        # If no word has been typed yet, `shell_complete` completes the commands and the options of `list`.
        is_completed_here = ctx.resilient_parsing and not args
        if not is_help and not is_completed_here and self._is_for_list(ctx, args):
            args = ["list", *args]
        return super().parse_args(ctx, args)

    def _is_for_list(self, ctx: click.Context, args: list[str]) -> bool:
        """Whether the arguments belong to `list`.

        They do if there are no arguments, or if the first one is an option. If `list` takes words, or during
        shell completion, any first argument except a command belongs to `list`.

        Raises:
            click.UsageError: a command follows the options.
        """
        listing = self.commands["list"]
        takes_words = any(isinstance(each, click.Argument) for each in listing.params)
        if not args or takes_words or ctx.resilient_parsing:
            return not args or args[0] not in self.commands
        if not args[0].startswith("-"):
            return False
        _, words, _ = listing.make_parser(ctx).parse_args(list(args))
        if words and words[0] in self.commands:
            raise click.UsageError(f"Put the options after '{words[0]}'.", ctx)
        return True

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the commands and the options of `list`."""
        listing = self.commands["list"]
        return [*super().shell_complete(ctx, incomplete), *listing.shell_complete(ctx, incomplete)]


def rewrite_unknown_option(error: click.NoSuchOption) -> click.UsageError:
    """Suggest the most similar options first; click would sort its suggestions by name."""
    from difflib import get_close_matches

    # With the dashes, all options would be similar to each other.
    names = {name.lstrip("-"): name for name in error.possibilities or ()}
    near = [repr(names[each]) for each in get_close_matches(error.option_name.lstrip("-"), names)]
    message = f"{error.message} Did you mean {' or '.join(near)}?" if near else error.message
    return click.UsageError(message, error.ctx)
