"""Transcripts in Org: the head, headings, escapes, and text that Org must not read as syntax."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jumpseat.chat import (
    ContextBlock,
    InvalidRequestError,
    Message,
    OtherBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.transcript import (
    MARKDOWN,
    ORG,
    FrontMatterError,
    RoleNames,
    parse,
    parse_front_matter,
    render,
    split_lines,
)
from jumpseat.chat.transcript.syntax import FENCED_KINDS
from tests.unit.chat import conversations
from tests.unit.chat.editor_scans import org_structure_in
from tests.unit.pages import PROTOCOL, fences, spans

KINDS = "|".join(FENCED_KINDS)
HELLO = (Message.user("Hi."),)


def render_org(text: str) -> str:
    """Return the lines of an answer with this text."""
    return render([Message.assistant(text)], syntax=ORG).removeprefix("* Assistant\n\n").removesuffix("\n")


@pytest.mark.requirement("5:transcript-org")
def test_the_org_example_of_the_page_is_what_would_be_written() -> None:
    text, _ = fences(PROTOCOL, "org")
    (markdown,) = fences(PROTOCOL, "markdown")
    read, same = parse(text, syntax=ORG), parse(markdown)

    assert read.messages == same.messages
    assert (read.front.model, read.front.system, read.front.settings) == (
        same.front.model,
        same.front.system,
        same.front.settings,
    )
    written = render(
        read.messages,
        system=read.front.system,
        model=read.front.model,
        settings=read.front.settings,
        syntax=ORG,
    )
    assert written == text


@pytest.mark.requirement("5:transcript-org-editors")
def test_the_escapes_of_the_page_are_those_that_are_written() -> None:
    page = PROTOCOL / "transcripts.md"
    rows = re.search(r"\n((?:\|.*\n)+)\n\*\*Settings of editors", page.read_text("utf-8"))
    assert rows is not None
    checked = 0
    for row in rows[1].splitlines()[2:]:
        texts, line = row.strip("|").split("|")
        for text in spans(texts):
            # The second cell has the written line in code, or says `unchanged`.
            assert render_org(text) == [*spans(line), text][0]
            checked += 1
    assert checked == 6


@pytest.mark.requirement("5:transcript-org-editors")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(conversations.messages, max_size=4), st.none() | conversations.texts, st.booleans())
@example(
    [Message.assistant("\t#+SETUPFILE: x\n* TODO x\n ** y\n#+begin_src emacs-lisp")], "#+STARTUP: x", False
)
def test_org_finds_only_the_structure_of_the_transcript(
    messages: list[Message], system: str | None, trim: bool
) -> None:
    text = render(messages, system=system, syntax=ORG, trim_answers=trim)
    ours = rf"\* (?:Me|Assistant)|#\+(?:begin_thinking|begin_(?:{KINDS})(?: :.*)?|end_[a-z_]+|text:|empty:)"
    found = org_structure_in(text)

    assert [line for line in found if not re.fullmatch(ours, line)] == []
    assert sum(line.startswith("* ") for line in found) == len(messages)
    assert sum(line.startswith("#+begin_") for line in found) == sum(
        1 + len(getattr(block, "media", ()))
        for message in messages
        for block in message.content
        if not isinstance(block, TextBlock)
    )
    first = text.partition("\n")[0]
    assert first in ("", ":PROPERTIES:", "* Me", "* Assistant"), "Emacs reads `-*-` in the first line"


@pytest.mark.requirement("5:transcript-org-editors")
@pytest.mark.parametrize(
    "line",
    [
        '# -*- mode: emacs-lisp; eval: (message "x") -*-',
        "# Local Variables:",
        '# eval: (delete-file "x")',
        "#+STARTUP: overview",
        "#+PROPERTY: header-args :eval yes",
        ":PROPERTIES:",
        ":model: other:m",
    ],
)
def test_settings_of_an_editor_in_a_message_are_text_and_have_no_effect(line: str) -> None:
    messages = (Message.user(line), Message.assistant(f"{line}\n{line}\n# End:"))
    text = render(messages, model="a:m", syntax=ORG)
    read = parse(text, syntax=ORG)

    assert read.messages == messages
    assert (read.front.model, read.front.settings) == ("a:m", {})
    assert "Local Variables:" not in text
    assert org_structure_in(text) == ["* Me", "* Assistant"]


@pytest.mark.requirement("5:transcript-org-head")
def test_the_head_may_have_lines_of_other_programs() -> None:
    read = parse(
        "# -*- mode: org -*-\n\n:properties:\n:ID: 1-2\n:MODEL: a:m\n:ROAM_ALIASES: x: [\n"
        ":Settings: {temperature: 0.2}\n:header-args: :eval yes\n:end:\n#+title: T\n#+STARTUP: overview\n\n"
        "# A note.\n#\n\n* Me\n\nHi.\n",
        syntax=ORG,
    )

    assert (read.messages, read.front.model, read.front.settings) == (HELLO, "a:m", {"temperature": 0.2})


@pytest.mark.requirement("5:transcript-org-head")
@pytest.mark.parametrize(
    "head", ["", "#+title: T\n", "# T\n\n", ":PROPERTIES:\n:END:\n", ":PROPERTIES:\n:ID: x\n:END:\n"]
)
def test_a_head_without_values_is_not_a_message(head: str) -> None:
    for text in (f"{head}* Me\n\nHi.\n", f"{head}Hi.\n", f"{head}Hi.\n".replace("\n", "\r\n")):
        read = parse(text, syntax=ORG)
        assert (read.messages, read.front.model, read.front.system, read.front.settings) == (
            HELLO,
            None,
            None,
            {},
        )


@pytest.mark.requirement("5:transcript-org-head")
def test_each_value_of_the_drawer_is_on_one_line() -> None:
    system, values = "One.\n\n* Me\n#+STARTUP: x\n:END:\n", {"stop": ["a\n:END:", {"b": []}], "vim": 1}
    text = render(
        [], system=system, model="a:m", tools=["files/*"], settings=values, conversation="c", syntax=ORG
    )
    lines = text.splitlines()

    assert [line.split(": ")[0] for line in lines] == [
        ":PROPERTIES:",
        *(f":{key}" for key in ("model", "system", "tools", "settings", "conversation")),
        ":END:",
    ]
    assert lines[1] == ":model: a:m"
    assert lines[3] == ":tools: [files/*]"
    read = parse(text, syntax=ORG)
    assert (read.front.system, read.front.tools, read.front.settings) == (system, ["files/*"], values)


@pytest.mark.requirement("5:transcript-org-head")
@pytest.mark.parametrize(
    ("head", "message"),
    [
        (":PROPERTIES:\n:model: a\n", "line 1: the property drawer is not closed by a line of :END:"),
        (
            "# c\n:PROPERTIES:\n:model: a\n* Me\n:END:\n",
            "line 2: the property drawer is not closed by a line of :END: before line 4",
        ),
        (":PROPERTIES:\n:ID: [\n:model: 1\n:END:\n", "line 3: model must be text; put it in quotation marks"),
        (":PROPERTIES:\n:settings: x\n:END:\n", "line 2: settings must be keys with values"),
        (":PROPERTIES:\n:model: a\n:MODEL: b\n:END:\n", "line 3: the key model occurs twice"),
        (f":PROPERTIES:\n:system: {'a' * (1 << 20)}\n:END:\n", "line 1: the property drawer has more than"),
    ],
)
def test_the_error_about_a_drawer_names_the_line(head: str, message: str) -> None:
    with pytest.raises(FrontMatterError) as caught:
        parse(head, syntax=ORG)

    assert caught.value.message.startswith(f"text: {message}")


@pytest.mark.requirement("5:transcript-org-head")
def test_a_system_prompt_that_parse_would_refuse_is_not_written() -> None:
    with pytest.raises(InvalidRequestError, match="system: is too long"):
        render([], system="a" * (1 << 20), syntax=ORG)


@pytest.mark.requirement("5:transcript-org-head", "5:transcript-check")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_place_of_a_property_covers_its_key_and_its_value(end: str) -> None:
    text = "# c\n:PROPERTIES:\n:ID: x\n  :model: m # mine\n:Settings: {a: 1, 'b': [2]}\n:END:\n".replace(
        "\n", end
    )
    lines = split_lines(text)
    places = parse_front_matter(text, ORG).places

    assert {path: lines[place.line][place.start : place.end] for path, place in places.items()} == {
        "model": "model: m",
        "settings": "Settings: {a: 1, 'b': [2]}",
        "settings.a": "a: 1",
        "settings.b": "'b': [2]",
    }


@pytest.mark.requirement("5:transcript-org")
def test_a_heading_may_have_tags_and_properties_of_other_programs() -> None:
    read = parse(
        "* Me      :rome:me@home:\n:PROPERTIES:\n:ID: 1\n:END:\n\nHi.\n* Assistant\n:PROPERTIES:\nHello.\n",
        syntax=ORG,
    )

    assert read.messages == (HELLO[0], Message.assistant(":PROPERTIES:\nHello."))
    assert [turn.start_line for turn in read.turns] == [0, 6]


@pytest.mark.requirement("5:transcript-org")
def test_a_drawer_below_a_blank_line_is_text() -> None:
    text = "* Me\n\n:PROPERTIES:\n:ID: 1\n:END:\n"

    assert parse(text, syntax=ORG).messages == (Message.user(":PROPERTIES:\n:ID: 1\n:END:"),)


@pytest.mark.requirement("5:transcript-org")
def test_texts_are_not_converted() -> None:
    markdown = "# Title\n\n**bold** `code` [link](https://x)\n\n```python\nx = 1\n```\n\n- a\n  * b"

    assert render_org(markdown) == markdown


@pytest.mark.requirement("5:transcript-org")
def test_a_block_may_be_written_by_hand() -> None:
    text = (
        '* Me\n#+BEGIN_CONTEXT  :label "a b"\t:later x \nx\n,#+end_context\n#+End_Context \n'
        "#+begin_tool_use :id a\nx\n#+end_tool_use\n#+begin_other :kind k\n#+end_context\n"
    )

    assert parse(text, syntax=ORG).messages[0].content == (
        ContextBlock("x\n#+end_context", label="a b"),
        TextBlock("#+begin_tool_use :id a\nx\n#+end_tool_use\n#+begin_other :kind k\n#+end_context"),
    )


@pytest.mark.requirement("5:transcript-org")
def test_marks_of_the_other_format_are_text() -> None:
    blocks = (
        ThinkingBlock("Hm."), TextBlock("a"), TextBlock("b"), ToolUseBlock("i", "n", {}, "{}"),
        OtherBlock("k", None), RedactedThinkingBlock("r"), ToolResultBlock("i", "c"),
    )  # fmt: skip
    messages = [Message("assistant", blocks), Message("user", ())]
    org, markdown = (render(messages, model="a:m", syntax=syntax) for syntax in (ORG, MARKDOWN))

    assert [block.type for each in parse(markdown, syntax=ORG).messages for block in each.content] == ["text"]
    assert [block.type for each in parse(org).messages for block in each.content] == ["text"]


@pytest.mark.requirement("5:transcript-org")
def test_headings_in_org_have_configured_names() -> None:
    roles = RoleNames("Ich", "KI", others=(RoleNames("Moi", "Lui"),))
    text = render([Message.user("* Moi\n* x"), Message.assistant("Hi.")], roles=roles, syntax=ORG)

    assert text == "* Ich\n\n,* Moi\n,* x\n\n* KI\n\nHi.\n"
    mixed = parse(f"{text}\n* Me\n\nMore.\n\n* Lui :a:\n\nYes.\n", roles=roles, syntax=ORG)
    assert [message.role for message in mixed.messages] == ["user", "assistant", "user", "assistant"]
