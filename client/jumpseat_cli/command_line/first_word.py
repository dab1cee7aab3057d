"""The first word of a command line: a command, a whole question, or an option of `chat` before a question."""

from __future__ import annotations

import click

from jumpseat_cli.command_line.groups import LazyGroup


class CommandsOrQuestion(LazyGroup):
    """Runs `chat` for a first argument with white space in it, which no command has.

    So a mistyped command is never sent to a model, and a question of one word needs `chat`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `chat` before its options if no other word follows them than a question."""
        if args and args[0].startswith("-") and self._begins_chat(ctx, args):
            args = ["chat", *args]
        return super().parse_args(ctx, args)

    def _begins_chat(self, ctx: click.Context, args: list[str]) -> bool:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        chat = self.get_command(ctx, "chat")
        if chat is None or args[0] in own:
            return False
        short = args[0][:2]  # `-mNAME` is `-m NAME`.
        name = short if not args[0].startswith("--") else args[0].partition("=")[0]
        if name not in {name for parameter in chat.params for name in parameter.opts}:
            return False
        if ctx.resilient_parsing:
            return True
        # Without words click gives a marker of its own.
        match chat.make_parser(ctx).parse_args(list(args))[0]["question"]:
            case (str(word), *_) if self.get_command(ctx, word) is not None:
                raise click.UsageError(f"Put the options after {word!r}.", ctx)
            case (str(word), *more) if not is_question(word):
                raise click.UsageError(self.no_such_command(ctx, word, more), ctx)
        return True

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command for these arguments, and its own arguments."""
        if is_question(args[0]):
            return "chat", self.get_command(ctx, "chat"), args
        return super().resolve_command(ctx, args)

    def no_such_command(self, ctx: click.Context, word: str, more: list[str]) -> str:
        """The message for a word that is no command; it may be a question."""
        if self.nearest(ctx, word) is not None:
            return super().no_such_command(ctx, word, more)
        question = " ".join([word, *(each for each in more if not each.startswith("-"))])
        command = "jumpseat" if " " in question else "jumpseat chat"
        return f'No such command {word!r}. To ask a question: {command} "{question}"'


def is_question(word: str) -> bool:
    """Whether a first argument is a question: no command has white space in it."""
    return any(map(str.isspace, word.strip()))
