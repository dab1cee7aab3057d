"""Conversations survive rendering and parsing without loss."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jumpseat.chat import BLOCK_CLASSES, Message, Origin, TextBlock, ThinkingBlock, ToolUseBlock
from jumpseat.chat.transcript import MARKDOWN, SYNTAXES, RoleNames, Syntax, parse, render
from jumpseat.chat.transcript.syntax import FENCED_KINDS
from jumpseat.rpc.encode import to_wire
from tests.unit.chat import conversations
from tests.unit.chat.conversations import any_size, in_both_formats
from tests.unit.chat.editor_scans import settings_in
from tests.unit.pages import PROTOCOL, fences

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "transcripts.json").read_text("utf-8"))
ROLES = (RoleNames(), RoleNames("Ich", "KI (v2.*)"), RoleNames("Me", "Me too"))
BIG = 1_000_000
"""The approximate length of a long text, in characters."""

SLOWEST = 10.0
"""The limit in CPU seconds for 1 MB, which takes half a second. Quadratic time would be many minutes."""


@pytest.mark.requirement("5:transcript", "5:transcript-by-hand")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_a_text_is_read_and_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    read = parse(vector["text"])

    assert to_wire(read.messages) == vector["messages"]
    assert (read.front.system, read.front.model) == (vector.get("system"), vector.get("model"))
    assert read.front.settings == vector.get("settings", {})
    # Compare the text too, because 1 == 1.0 and True == 1 in Python.
    assert repr(read.front.settings) == repr(vector.get("settings", {}))
    if "turns" in vector:
        assert to_wire(read.turns) == vector["turns"]
    written = render(
        read.messages, system=read.front.system, model=read.front.model, settings=read.front.settings
    )
    assert written == vector.get("rendered", vector["text"])


@pytest.mark.requirement("5:transcript")
def test_the_example_of_the_protocol_page_is_what_would_be_written() -> None:
    (text,) = fences(PROTOCOL, "markdown")
    read = parse(text)

    assert [block.type for message in read.messages for block in message.content] == [
        "context",
        "text",
        "thinking",
        "text",
        "tool_use",
        "tool_result",
    ]
    assert (read.front.model, read.front.system, read.front.settings) == (
        "fake:m",
        "Be brief.",
        {"temperature": 0.2},
    )
    assert (
        render(read.messages, system=read.front.system, model=read.front.model, settings=read.front.settings)
        == text
    )


@pytest.mark.requirement(
    "5:transcript-round-trip", "5:transcript-front-matter", "5:transcript-org-round-trip"
)
@in_both_formats
@any_size
@given(
    st.lists(conversations.messages, max_size=5),
    st.none() | conversations.texts,
    st.none() | conversations.texts,
    conversations.settings,
    st.none() | conversations.texts,
    st.sampled_from(ROLES),
)
@example([Message.user("\n"), Message.user("")], "0\n", None, {}, "20260101", ROLES[0])
def test_a_written_conversation_is_read_back_unchanged(
    syntax: Syntax,
    messages: list[Message],
    system: str | None,
    model: str | None,
    values: dict[str, Any],
    conversation: str | None,
    roles: RoleNames,
) -> None:
    text = render(
        messages,
        system=system,
        model=model,
        settings=values,
        conversation=conversation,
        roles=roles,
        syntax=syntax,
    )
    read = parse(text, roles=roles, syntax=syntax)

    assert list(read.messages) == messages
    assert (read.front.system, read.front.model, read.front.conversation) == (system, model, conversation)
    # Compare the JSON, because 1 == 1.0 and True == 1 in Python.
    assert json.dumps(read.front.settings, sort_keys=True) == json.dumps(values, sort_keys=True)
    assert [turn.message for turn in read.turns] == list(range(len(messages)))
    assert [turn.role for turn in read.turns] == [message.role for message in messages]


@pytest.mark.requirement("5:transcript-editors", "5:transcript-org-editors")
@in_both_formats
@any_size
@given(
    st.lists(conversations.messages, max_size=5),
    st.none() | conversations.texts,
    st.none() | conversations.texts,
    conversations.settings,
    st.booleans(),
)
@example([], "Hi vim: set x:", "Local Variables: ", {"ex": {"a vi": ["local variables\\:"]}}, False)
def test_editors_do_not_find_settings_in_a_written_conversation(
    syntax: Syntax,
    messages: list[Message],
    system: str | None,
    model: str | None,
    values: dict[str, Any],
    trim: bool,
) -> None:
    text = render(messages, system=system, model=model, settings=values, trim_answers=trim, syntax=syntax)

    assert settings_in(text) == []


@pytest.mark.requirement("5:transcript-editors")
@any_size
@given(conversations.texts)
def test_the_expressions_of_the_page_restore_copied_code(text: str) -> None:
    (block,) = fences(PROTOCOL, "js")
    # In a fenced block, only headings and settings get backslashes. Without `#`, there are no headings.
    call = ToolUseBlock("a", "b", None, text.replace("#", ""), "?")
    # Leave out the heading, the blank line, the fences and the empty string after the last line ending.
    copied = "\n".join(render([Message("assistant", (call,))]).split("\n")[3:-2])
    for expression in block.splitlines():
        _, pattern, flags = expression.split("/")
        copied = re.sub(pattern, r"\1:", copied, flags=re.ASCII | (re.IGNORECASE if "i" in flags else 0))

    assert copied == call.raw


MODELINES = (
    "vim: set x:", "\tvi:x", "# vim:x", "/* vim: set x: */", "a ex: x", "Vim: set x", "vim700: x",
    "vim>700: x", "vim<8:x", "vim=704: x", "a vim: b vi:c", "x\rvi: y", "x\x0bvim:z",
    "Local Variables:", "# LOCAL variables: #", "eLocal variables:",
)  # fmt: skip
HARMLESS = ("navi: x", "index: 1", "vim9script", "a/vim: x", "vi :x", "neovim: x", "local  variables:")


@pytest.mark.requirement("5:transcript-editors")
@pytest.mark.parametrize("line", [*MODELINES, *HARMLESS])
def test_only_lines_that_an_editor_would_obey_get_a_backslash(line: str) -> None:
    assert bool(settings_in(line)) == (line in MODELINES), "the scan does not do what the manuals say"
    text = render([Message.assistant(f"Sure:\n```\n{line}\n```")])

    assert ("\\" in text) == (line in MODELINES)
    assert settings_in(text) == []
    assert parse(text).messages == (Message.assistant(f"Sure:\n```\n{line}\n```"),)


@pytest.mark.requirement("5:transcript-conversation")
@pytest.mark.parametrize("written", ["3", "true", "[a]", "{a: b}", "null", ""])
def test_a_value_of_conversation_that_is_not_text_is_ignored(written: str) -> None:
    read = parse(f"---\nconversation: {written}\ntemperature: 1\n---\n\nHi.\n")

    assert read.front.conversation is None
    assert (read.front.settings, read.messages) == ({"temperature": 1}, (Message.user("Hi."),))


@pytest.mark.requirement("5:transcript-thinking")
def test_a_section_has_the_lines_of_its_thinking() -> None:
    thought = "<details><summary>Thinking</summary>\n\nHm.\n\n</details>\n"
    unclosed = thought.removesuffix("\n</details>\n")
    text = f"## Me\n\nHi.\n\n## Assistant\n\n{thought}\nHello.\n\n{thought}\n## Assistant\n\n{unclosed}"
    lines = text.split("\n")
    turns = to_wire(parse(text).turns)

    assert "thinking" not in turns[0]
    assert turns[1]["thinking"] == [{"startLine": 6, "endLine": 11}, {"startLine": 14, "endLine": 19}]
    assert (lines[6], lines[10]) == ("<details><summary>Thinking</summary>", "</details>")
    assert "thinking" not in turns[2], "thinking that is not closed is text"


@pytest.mark.requirement("5:transcript-round-trip", "5:transcript-org-round-trip")
@in_both_formats
@any_size
@given(conversations.texts)
def test_any_text_that_is_read_and_written_is_read_back_unchanged(syntax: Syntax, text: str) -> None:
    read = parse(f"{syntax.heading}Me\n{text}", syntax=syntax)

    assert parse(render(read.messages, syntax=syntax), syntax=syntax).messages == read.messages


@pytest.mark.requirement("5:transcript-by-hand", "5:transcript-org-round-trip")
@in_both_formats
@any_size
@given(conversations.texts)
def test_unfinished_input_does_not_swallow_answers(syntax: Syntax, text: str) -> None:
    user, assistant = f"{syntax.heading}Me", f"{syntax.heading}Assistant"
    read = parse(f"{user}\n\n{text}\n\n{assistant}\n\nThe answer.\n\n{user}\n\n", syntax=syntax)

    assert read.messages[-1] == Message.assistant("The answer.")
    assert [turn.role for turn in read.turns[-2:]] == ["assistant", "user"]
    assert read.turns[-1].message is None


def test_opaque_data_is_not_shown() -> None:
    signed = ThinkingBlock("Hm.", "SIGNATURE", origin=Origin("p", "m"), opaque="OPAQUE")
    call = ToolUseBlock("a", "b", {}, "{}", origin=Origin("p", "m"), opaque="OPAQUE")
    text = render([Message("assistant", (signed, TextBlock("Hi.", opaque="OPAQUE"), call))])

    assert "SIGNATURE" not in text
    assert "OPAQUE" not in text
    assert parse(text).messages == (
        Message("assistant", (ThinkingBlock("Hm."), TextBlock("Hi."), ToolUseBlock("a", "b", {}, "{}"))),
    )


@pytest.mark.requirement("5:transcript-roles")
def test_headings_use_configured_role_names_and_standard_ones_are_read() -> None:
    roles = RoleNames("Ich", "Copilot")
    text = render([Message.user("## Copilot\n## Me"), Message.assistant("Hi.")], roles=roles)

    assert text == "## Ich\n\n\\## Copilot\n\\## Me\n\n## Copilot\n\nHi.\n"
    mixed = parse(f"{text}\n## Me\n\nMore.\n\n## Assistant\n\nYes.\n", roles=roles)
    assert [message.role for message in mixed.messages] == ["user", "assistant", "user", "assistant"]
    assert len(parse(text).messages) == 1


@pytest.mark.requirement("5:transcript-roles")
def test_headings_of_other_providers_are_read_and_escaped() -> None:
    roles = RoleNames("Ich", "KI", others=(RoleNames("KI", "model"), RoleNames("Moi", "Assistant")))
    text = render([Message.user("## model\n## Moi"), Message.assistant("Hi.")], roles=roles)

    assert text == "## Ich\n\n\\## model\n\\## Moi\n\n## KI\n\nHi.\n"
    mixed = parse(f"{text}\n## Moi\n\nMore.\n\n## model\n\nYes.\n", roles=roles)
    assert [message.role for message in mixed.messages] == ["user", "assistant", "user", "assistant"]
    assert mixed.messages[0] == Message.user("## model\n## Moi")


PIECES: dict[str, Callable[[int], str]] = {
    "plain lines": lambda size: "word word\n" * (size // 10),
    "one line": lambda size: "a" * size,
    "headings": lambda size: f"## Me\n\n{'word ' * 20}\n\n" * (size // 110),
    "spaces after a heading": lambda size: "## Me" + " " * size,
    "blank lines": lambda size: "\n" * size,
    "backslashes": lambda size: "\\" * size,
    "openings of thinking": lambda size: "<details><summary>Thinking</summary>\n" * (size // 37),
    "openings of fences": lambda size: "```tool_use id=a name=b\n" * (size // 24),
    "growing fences": lambda size: "".join(
        f"{'`' * (3 + n)}context\n" for n in range(int((2 * size) ** 0.5))
    ),
    "attributes": lambda size: "```tool_use " + "a=b " * (size // 4) + "\n```",
    "quotation marks": lambda size: '```tool_use id="' + '\\"' * (size // 2) + "\n```",
    "modelines": lambda size: "a vim: b" * (size // 8),
    "versions of Vim": lambda size: " vim" + "7" * size,
    "tabs in a heading": lambda size: "##" + "\t" * size + "Me too",
}
ORG_PIECES: dict[str, Callable[[int], str]] = {
    "headings": lambda size: f"* Me\n\n{'word ' * 20}\n\n" * (size // 110),
    "tags": lambda size: "* Me :" + "a:" * (size // 2) + "b",
    "stars": lambda size: "*" * size,
    "commas": lambda size: "," * size,
    "commas before keywords": lambda size: ",#+" * (size // 3),
    "spaces before a keyword": lambda size: " " * size + "#+a",
    "openings of thinking": lambda size: "#+begin_thinking\n" * (size // 17),
    "openings of blocks": lambda size: "#+begin_tool_use :id a :name b\n" * (size // 31),
    "drawers": lambda size: "* Me\n:PROPERTIES:\n" * (size // 18),
    "attributes": lambda size: "#+begin_tool_use" + " :a b" * (size // 5) + "\n#+end_tool_use",
    "comments before the first heading": lambda size: "# a\n#+b: c\n" * (size // 11),
}
LONG = [(MARKDOWN, each) for each in PIECES.items()] + [
    (SYNTAXES["org"], each) for each in (PIECES | ORG_PIECES).items()
]


@pytest.mark.requirement("5:transcript-round-trip", "5:transcript-org-round-trip")
@pytest.mark.parametrize(
    ("syntax", "piece"), LONG, ids=[f"{syntax.escape} {piece[0]}" for syntax, piece in LONG]
)
def test_a_long_text_takes_linear_time(syntax: Syntax, piece: tuple[str, Callable[[int], str]]) -> None:
    text = piece[1](BIG)
    begun = time.process_time()
    read = parse(text, syntax=syntax)
    written = render(read.messages, syntax=syntax)
    again = parse(written, syntax=syntax)
    took = time.process_time() - begun

    assert again.messages == read.messages
    assert took < SLOWEST


def test_an_empty_conversation_is_an_empty_text() -> None:
    assert render([]) == ""
    assert parse("").messages == ()
    assert parse(" \n\n").turns == ()


def test_blocks_of_every_type_have_a_form() -> None:
    assert {*FENCED_KINDS, "text", "thinking"} == {block.type for block in BLOCK_CLASSES}
