"""The first word of a command line: a command, or a whole question."""

from __future__ import annotations

import click

from jumpseat_client.cli.lazy_group import LazyGroup


class CommandsOrQuestion(LazyGroup):
    """Runs `chat` for a first argument with white space in it, which no command has.

    So a mistyped command is never sent to a model, and a question of one word needs `chat`.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command for these arguments, and its own arguments."""
        first = args[0]
        if any(map(str.isspace, first.strip())):
            return "chat", self.get_command(ctx, "chat"), args
        return super().resolve_command(ctx, args)

    def no_such_command(self, ctx: click.Context, word: str, more: list[str]) -> str:
        """The message for a word that is no command; it may be a question."""
        if self.nearest(ctx, word) is not None:
            return super().no_such_command(ctx, word, more)
        question = " ".join([word, *(each for each in more if not each.startswith("-"))])
        command = "jumpseat" if " " in question else "jumpseat chat"
        return f'No such command {word!r}. To ask a question: {command} "{question}"'
