"""The first word of a command line: a command, a whole question, or an option of `chat`."""

from __future__ import annotations

import click

from jumpseat_cli.command_line.groups import LazyGroup


class CommandsOrQuestion(LazyGroup):
    """A group that runs `chat` if the first argument contains white space. Command names never do.

    A mistyped command is therefore never sent to a model, and a question of one word needs `chat`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `chat` before options of `chat`. The first word after them, if any, must be a question."""
        if args and args[0].startswith("-") and self._is_for_chat(ctx, args):
            args = ["chat", *args]
        return super().parse_args(ctx, args)

    def _is_for_chat(self, ctx: click.Context, args: list[str]) -> bool:
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
        # If there are no words, click returns a marker that matches neither case.
        match chat.make_parser(ctx).parse_args(list(args))[0]["question"]:
            case (str(word), *_) if self.get_command(ctx, word) is not None:
                raise click.UsageError(f"Put the options after {word!r}.", ctx)
            case (str(word), *following) if not is_question(word):
                raise click.UsageError(self.describe_unknown_word(ctx, word, following), ctx)
        return True

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command for these arguments, and the arguments to pass to it."""
        if is_question(args[0]):
            return "chat", self.get_command(ctx, "chat"), args
        return super().resolve_command(ctx, args)

    def describe_unknown_word(self, ctx: click.Context, word: str, following: list[str]) -> str:
        """Return the message for a word that is not a command but may be a question."""
        if self.find_nearest(ctx, word) is not None:
            return super().describe_unknown_word(ctx, word, following)
        question = " ".join([word, *(each for each in following if not each.startswith("-"))])
        command = "jumpseat" if " " in question else "jumpseat chat"
        return f'No such command {word!r}. To ask a question: {command} "{question}"'


def is_question(word: str) -> bool:
    """Whether a first argument is a question: command names never contain white space."""
    return any(map(str.isspace, word.strip()))
