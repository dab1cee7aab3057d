"""A first argument with white space is a question; a mistyped command is an error, never a question."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from jumpseat_cli.command_line.first_word import CommandsOrQuestion


@click.group(cls=CommandsOrQuestion)
@click.version_option("1")
def program() -> None:
    """A program."""


@program.command()
@click.argument("question", nargs=-1)
@click.option("-m")
def chat(question: tuple[str, ...], m: str | None) -> None:
    """Chat."""
    click.echo(f"chat {question} {m}")


@program.command()
def models() -> None:
    """List."""
    click.echo("models")


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(program, arguments)
    return done.exit_code, done.output.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["Why is it?"], "chat ('Why is it?',) None"),
        (["Why is it?", "-m", "x", "really"], "chat ('Why is it?', 'really') x"),
        (["models of cars"], "chat ('models of cars',) None"),
        (["one\nline"], "chat ('one\\nline',) None"),
        (["models"], "models"),
        (["chat", "hello"], "chat ('hello',) None"),
        (["--version"], "program, version 1"),
    ],
)
def test_a_question_is_asked_and_a_command_is_run(arguments: list[str], output: str) -> None:
    assert run(*arguments) == (0, output)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["modles"], "Error: No such command 'modles'. Did you mean 'models'?"),
        (["modles", "what is it?"], "Error: No such command 'modles'. Did you mean 'models'?"),
        (["hello"], "Error: No such command 'hello'. To ask a question: jumpseat chat \"hello\""),
        (["why", "is", "-m"], "Error: No such command 'why'. To ask a question: jumpseat \"why is\""),
        (["models "], "Error: No such command 'models '. Did you mean 'models'?"),
        ([""], "Error: No such command ''. To ask a question: jumpseat chat \"\""),
    ],
)
def test_a_mistyped_command_is_never_a_question(arguments: list[str], output: str) -> None:
    assert run(*arguments) == (2, output)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["-m", "x", "Why is it?"], "chat ('Why is it?',) x"),
        (["-mx", "Why is it?", "really"], "chat ('Why is it?', 'really') x"),
        (["-m", "x"], "chat () x"),
        (["-m", "x", "--", "Why is it?"], "chat ('Why is it?',) x"),
    ],
)
def test_options_may_precede_the_question(arguments: list[str], output: str) -> None:
    assert run(*arguments) == (0, output)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["-m", "x", "models"], "Error: Put the options after 'models'."),
        (["-m", "x", "modles"], "Error: No such command 'modles'. Did you mean 'models'?"),
        (["-m", "x", "hello"], "Error: No such command 'hello'. To ask a question: jumpseat chat \"hello\""),
        (["-q", "Why is it?"], "Error: No such option '-q'."),
    ],
)
def test_a_single_word_after_an_option_is_not_a_question(arguments: list[str], output: str) -> None:
    assert run(*arguments) == (2, output)
