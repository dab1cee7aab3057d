"""Transcripts after a change: by an editor, by hand, and by the removal of white space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings

from jumpseat.chat import Message, TextBlock, ThinkingBlock, ToolUseBlock
from jumpseat.chat.transcript import Syntax, parse, render
from jumpseat.rpc.encode import to_wire
from tests.unit.chat import conversations
from tests.unit.chat.conversations import any_size, in_both_formats


def strip_line_ends(text: str) -> str:
    return "\n".join([line.rstrip(" \t\r") for line in text.split("\n")])


HABITS: dict[str, Callable[[str], str]] = {
    "white space at the ends of lines is removed": strip_line_ends,
    "the file ends with one line ending": lambda text: f"{text.rstrip(chr(10))}\n",
    "lines end with CRLF": lambda text: text.replace("\n", "\r\n"),
    "trimmed lines end with CRLF": lambda text: strip_line_ends(text).replace("\n", "\r\n"),
}


@pytest.mark.requirement("5:transcript-by-hand", "5:transcript-org-round-trip")
@in_both_formats
@pytest.mark.parametrize("habit", HABITS.values(), ids=HABITS)
@settings(any_size, max_examples=40)
@given(conversations.conversations)
@example([Message("user", (TextBlock(" \nx\n"), TextBlock("")))])
def test_an_editors_changes_of_white_space_do_not_affect_the_rest(
    syntax: Syntax, habit: Callable[[str], str], messages: list[Message]
) -> None:
    read = parse(habit(render(messages, syntax=syntax)), syntax=syntax).messages

    assert [skeleton(each) for each in read] == [skeleton(each) for each in messages]


@pytest.mark.requirement("5:transcript-trimmed", "5:transcript-org-round-trip")
@in_both_formats
@settings(any_size)
@given(conversations.conversations)
@example([Message.assistant("\n\n")])
def test_trimmed_answers_differ_only_in_white_space_at_the_ends_of_texts(
    syntax: Syntax, messages: list[Message]
) -> None:
    read = parse(render(messages, trim_answers=True, syntax=syntax), syntax=syntax).messages

    assert [each for each in read if each.role == "user"] == [
        each for each in messages if each.role == "user"
    ]
    assert [strip_blanks(each) for each in read] == [strip_blanks(each) for each in messages]


def strip_blanks(message: Message) -> Any:
    """Return a message without carriage returns, white space around texts, and blank texts."""
    blocks = [
        {
            key: value.replace("\r", "").strip() if key in ("text", "thinking") else value
            for key, value in block.items()
        }
        for block in to_wire(message)["content"]
        if block["type"] != "text" or block["text"].strip()
    ]
    return message.role, blocks


@pytest.mark.requirement("5:transcript-trimmed")
def test_a_trimmed_answer_has_no_lines_with_a_backslash() -> None:
    call = ToolUseBlock("a", "b", {}, "{}")
    blocks = (ThinkingBlock("Hm.\n"), TextBlock("\n\n"), TextBlock("\n  Hi.  \n\nThere.\n\n"), call)
    messages = [Message.user("Hi.\n"), Message("assistant", blocks)]

    assert render(messages, trim_answers=True) == (
        "## Me\n\nHi.\n\\\n\n## Assistant\n\n<details><summary>Thinking</summary>\n\nHm.\n\n</details>\n\n"
        "  Hi.  \n\nThere.\n\n```tool_use id=a name=b\n{}\n```\n"
    )


def skeleton(message: Message) -> Any:
    """Return the message's wire form without any white space in its texts."""
    keys_of_texts = ("text", "thinking", "content", "raw", "source", "data")

    def normalize_block(block: dict[str, Any]) -> dict[str, Any]:
        files = (
            [normalize_block(part) for part in block["content"]]
            if isinstance(block.get("content"), list)
            else []
        )
        # Before the files of a result, a blank text cannot be distinguished from a missing one.
        files = [part for part in files if part.get("text") != ""]
        texts = {key: "".join(block[key].split()) for key in keys_of_texts if isinstance(block.get(key), str)}
        return {**block, **texts, **({"content": files} if files else {})}

    return message.role, [normalize_block(block) for block in to_wire(message)["content"]]


def test_a_text_that_is_edited_by_hand_keeps_its_lines() -> None:
    text = render([Message.user("a\n\n## Me\n\nb")])
    read = parse(text.replace("\nb", "\n  b\n\n\nc  "))

    assert read.messages == (Message.user("a\n\n## Me\n\n  b\n\n\nc  "),)


@pytest.mark.parametrize(
    "change", ["tool_use id=a", "tool_use name=b", "tool_use id=a name", 'tool_use id="a name=b']
)
def test_a_call_whose_attributes_an_edit_has_broken_becomes_text(change: str) -> None:
    text = render([Message("assistant", (ToolUseBlock("a", "b", {}, "{}"),))])
    (message,) = parse(text.replace("tool_use id=a name=b", change)).messages

    assert message.content == (TextBlock(f"```{change}\n{{}}\n```"),)


def test_a_call_with_an_unknown_attribute_is_kept() -> None:
    text = render([Message("assistant", (ToolUseBlock("a", "b", {}, "{}"),))])
    (message,) = parse(text.replace("name=b", 'name=b later="1 2"')).messages

    assert message.content == (ToolUseBlock("a", "b", {}, "{}"),)
