"""A line of input is a question, a command or an unknown command."""

from __future__ import annotations

import pytest

from jumpseat_cli.repl.commands import (
    COMMANDS,
    OTHER_NAMES,
    CommandCall,
    Question,
    UnknownCommand,
    find_command,
    find_near_name,
    parse,
)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Why?", "Why?"),
        ("  Why?  ", "Why?"),
        ("one\ntwo\n", "one\ntwo"),
        ("/usr/bin/env: what is it?", "/usr/bin/env: what is it?"),
        (" /model is a word", "/model is a word"),
        ("\n/model", "/model"),
        ("// a comment", "// a comment"),
        ("/ alone", "/ alone"),
        ("/2 of it", "/2 of it"),
        ("a /model", "a /model"),
        ("/a,b", "/a,b"),
    ],
)
def test_text_that_is_not_a_command_is_a_question_without_outer_white_space(line: str, text: str) -> None:
    assert parse(line) == Question(text)


@pytest.mark.parametrize("line", ["", " ", "\n\t\n"])
def test_a_blank_line_is_ignored(line: str) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "name", "argument"),
    [
        ("/help", "help", ""),
        ("/HELP ", "help", ""),
        ("/?", "help", ""),
        ("/exit", "quit", ""),
        ("/model  fake:m ", "model", "fake:m"),
        ("/system Be brief.\nAnd kind.", "system", "Be brief.\nAnd kind."),
        ("/system\nBe brief.", "system", "Be brief."),
        ("/file a b.py:3-7", "file", "a b.py:3-7"),
    ],
)
def test_a_command_has_the_rest_as_its_argument(line: str, name: str, argument: str) -> None:
    call = parse(line)

    assert isinstance(call, CommandCall)
    assert (call.command.name, call.argument) == (name, argument)


def test_an_unknown_command_is_not_sent_as_a_question() -> None:
    assert parse("/modl fake:m") == UnknownCommand("modl", "fake:m")
    assert find_near_name("modl") == "model"
    assert find_near_name("reveiw", ["review"]) == "review"
    assert find_near_name("xyzzy") is None


def test_every_alias_belongs_to_exactly_one_command() -> None:
    names = [command.name for command in COMMANDS]

    assert set(OTHER_NAMES.values()) <= set(names)
    assert not set(OTHER_NAMES) & set(names)
    assert len(set(names)) == len(names)
    assert [find_command(name) for name in names] == list(COMMANDS)
