"""Branches of conversations in Org: the sections and properties of the conversation that contains a line."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpseat.chat import Message, TextBlock
from jumpseat.chat.transcript import ORG, FrontMatterError, Transcript, parse, render, split_lines
from tests.unit.chat import conversations
from tests.unit.pages import PROTOCOL, fences

pytestmark = pytest.mark.requirement("5:transcript-org-branches")

_, EXAMPLE = fences(PROTOCOL, "org")  # The first Org example of the page has no branches.


def parse_at(text: str, line: str) -> Transcript:
    """Parse the conversation to which the first line with this text belongs."""
    return parse(text, syntax=ORG, line=split_lines(text).index(line))


def list_texts(read: Transcript) -> list[str]:
    """Return the texts of the messages, with `<` before those of the user and `>` before answers."""
    signs = {"user": "<", "assistant": ">"}
    return [
        signs[message.role]
        + " ".join(block.text for block in message.content if isinstance(block, TextBlock))
        for message in read.messages
    ]


def join_texts(text: str, line: str) -> str:
    """Return the texts of the conversation to which the first line with this text belongs."""
    return " ".join(list_texts(parse_at(text, line)))


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("Which language?", ["<Which language?", ">Rust or Go.", "<Thanks."]),
        ("Thanks.", ["<Which language?", ">Rust or Go.", "<Thanks."]),
        ("** Rust", ["<Which language?", ">Rust or Go.", "<Show me a loop.", ">loop {}"]),
        ("loop {}", ["<Which language?", ">Rust or Go.", "<Show me a loop.", ">loop {}"]),
        ("** Go", ["<Which language?", ">Rust or Go.", "<Show me a channel."]),
    ],
)
def test_the_example_of_the_page_has_these_conversations(line: str, texts: list[str]) -> None:
    assert list_texts(parse_at(EXAMPLE, line)) == texts


def test_the_last_line_chooses_the_conversation_by_default() -> None:
    assert list_texts(parse(EXAMPLE, syntax=ORG))[-1] == "<Thanks."
    assert list_texts(parse(EXAMPLE.partition("* Me\n\nThanks.")[0], syntax=ORG))[-1] == "<Show me a channel."
    assert list_texts(parse(EXAMPLE, syntax=ORG, line=10_000))[-1] == "<Thanks."


def test_a_branch_has_its_lines_and_the_level_of_its_headings() -> None:
    branch = parse_at(EXAMPLE, "** Rust").branch
    lines = split_lines(EXAMPLE)

    assert branch is not None
    assert lines[branch.start_line] == "** Rust"
    assert lines[branch.end_line] == "** Go"
    assert branch.level == 3
    assert parse_at(EXAMPLE, "Thanks.").branch is None


def test_a_branch_has_the_level_of_the_roles_directly_inside_it() -> None:
    text = "* Me\na\n* Assistant\nb\n** Side\n*** Deep\n***** Me\nc\n"
    side, deep = (parse_at(text, line).branch for line in ("** Side", "c"))

    assert side is not None
    assert deep is not None
    assert (side.start_line, side.end_line, side.level) == (4, 8, 3)
    assert (deep.start_line, deep.end_line, deep.level) == (5, 8, 5)


def test_branches_may_have_branches() -> None:
    text = (
        "* Me\na\n* Assistant\nb\n** One\nc\n*** Assistant\nd\n"
        "**** Deep\n***** Me\ne\n*** Me\nf\n** Two\ng\n*** Me\n"
    )

    assert join_texts(text, "e") == "<a >b <c >d <e"
    assert join_texts(text, "f") == "<a >b <c >d <f"
    assert join_texts(text, "g") == "<a >b <g"
    assert join_texts(text, "b") == "<a >b"


def test_a_branch_continues_only_what_is_above_it() -> None:
    text = "* Me\na\n* Assistant\nb\n** Side\nc\n*** Me\n* Me\nd\n* Assistant\ne\n"

    assert join_texts(text, "c") == "<a >b <c"


def test_a_role_one_level_deeper_begins_a_branch_without_a_title() -> None:
    text = "* Me\na\n* Assistant\nb\n** Me\nc\n** Assistant\nd\n* Me\ne\n"

    assert join_texts(text, "d") == "<a >b <c >d"
    assert join_texts(text, "b") == join_texts(text, "e") == "<a >b <e"


def test_a_headline_is_text_unless_it_encloses_a_role() -> None:
    assert join_texts("* Me\na\n* Assistant\nb\n** Side\nc\n* Me\n", "c") == "<a >b\n** Side\nc"
    text = "* Me\na\n** List\n*** of\n* things\n* Assistant\nb\n* Me\nc\n** Side\n*** Me\nd\n"

    assert join_texts(text, "* things") == "<a\n** List\n*** of\n* things >b <c"
    assert join_texts(text, "d") == "<a\n** List\n*** of\n* things >b <c <d"


def test_a_headline_in_the_question_of_a_branch_is_text() -> None:
    text = "* Me\na\n* Assistant\nb\n** Side\nc\n*** List\n*** Me\nd\n*** List too\n** Other\ne\n*** Me\n"

    assert join_texts(text, "d") == "<a >b <c\n*** List <d\n*** List too"
    assert join_texts(text, "e") == "<a >b <e"


def test_text_after_a_branch_is_in_no_conversation() -> None:
    text = "* Me\na\n** Side\n*** Me\nb\n** Notes\nc\n* Assistant\nd\n"

    assert join_texts(text, "a") == join_texts(text, "c") == "<a >d"
    assert join_texts(text, "b") == "<a <b"


def test_a_text_may_consist_of_conversations_without_a_common_beginning() -> None:
    text = "#+title: Chats\n* First\na\n** Me\nb\n* Second\n** Me\nc\n"

    assert join_texts(text, "b") == "<a <b"
    assert join_texts(text, "c") == "<c"


def test_the_nearest_value_of_each_key_counts() -> None:
    text = (
        ":PROPERTIES:\n:model: a:m\n:system: S.\n:tools: files\n:settings: {temperature: 1, top_p: 0.5}\n"
        ":conversation: c1\n:END:\n* Me\na\n* Assistant\nb\n"
        "** Side\n:PROPERTIES:\n:ID: 1\n:MODEL: b:m\n:tools: []\n:settings: {temperature: 0}\n:END:\nc\n"
        "*** Deep\n:PROPERTIES:\n:conversation: c2\n:END:\n**** Me\nd\n"
    )
    outer, side, deep = (parse_at(text, line) for line in ("* Me", "** Side", "*** Deep"))

    assert (outer.front.model, list(outer.front.tools), outer.front.conversation) == (
        "a:m",
        ["files/*"],
        "c1",
    )
    for read, conversation in ((side, "c1"), (deep, "c2")):
        assert (read.front.model, read.front.system, list(read.front.tools)) == ("b:m", "S.", [])
        assert (read.front.settings, read.front.conversation) == ({"temperature": 0}, conversation)
    assert list_texts(side)[-1] == "<c"
    assert side.branch is not None
    assert deep.branch is not None
    assert (side.branch.front.model, side.branch.front.system) == ("b:m", None)
    assert (deep.branch.front.model, deep.branch.front.conversation) == (None, "c2")


def test_a_drawer_may_follow_a_planning_line() -> None:
    text = "* Me\na\n** DONE Side\nCLOSED: [2026-11-28 Sat]\n:PROPERTIES:\n:model: b:m\n:END:\nc\n*** Me\n"

    assert join_texts(text, "c") == "<a <c"
    assert parse_at(text, "c").front.model == "b:m"


def test_the_drawer_of_another_branch_is_not_read() -> None:
    text = "* Me\na\n* Assistant\nb\n** Side\n:PROPERTIES:\n:model: 1\n:END:\nc\n*** Me\n"

    assert join_texts(text, "a") == "<a >b"
    with pytest.raises(FrontMatterError, match="line 7: "):
        parse_at(text, "c")


def test_all_sections_are_turns_and_only_those_of_the_conversation_have_a_message() -> None:
    turns = parse_at(EXAMPLE, "** Go").turns

    assert [turn.message for turn in turns] == [0, 1, None, None, 2, None]
    assert [split_lines(EXAMPLE)[turn.start_line] for turn in turns] == [
        "* Me", "* Assistant", "Show me a loop.", "*** Assistant", "*** Me", "* Me",
    ]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(conversations.messages, min_size=1, max_size=3),
    st.lists(conversations.messages, max_size=3),
    st.integers(2, 4),
)
def test_a_branch_is_read_back_and_leaves_the_rest_alone(
    before: list[Message], inside: list[Message], level: int
) -> None:
    top = render(before, syntax=ORG)
    branch = f"{'*' * level} Side\n{'*' * (level + 1)} Me\n\nb\n\n" + render(
        inside, syntax=ORG, level=level + 1
    )
    text = top + branch + render([Message.user("c")], syntax=ORG)
    kept = parse(top, syntax=ORG).messages

    read = parse(text, syntax=ORG, line=len(split_lines(top)))
    assert read.messages == (
        *kept,
        Message.user("b"),
        *parse(render(inside, syntax=ORG), syntax=ORG).messages,
    )
    assert parse(text, syntax=ORG).messages == (*kept, Message.user("c"))
