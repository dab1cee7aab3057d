"""An answer that is written into a transcript while it is generated cannot impersonate the user."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jumpseat.chat import (
    BlockDoneEvent,
    ContentBlock,
    DoneEvent,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    ResponseEvent,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ThinkingBlock,
    ThinkingDeltaEvent,
    ThinkingDoneEvent,
    ThinkingStartEvent,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseDoneEvent,
    ToolUseStartEvent,
)
from jumpseat.chat.transcript import (
    MARKDOWN,
    ORG,
    RoleNames,
    Syntax,
    TranscriptStream,
    parse,
    render,
)
from tests.unit.chat.conversations import in_both_formats
from tests.unit.chat.editor_scans import org_structure_in, settings_in

ROLES = RoleNames("Me", "Me too")
QUESTION = "## Me\n\nWhy?\n\n## Me too\n\n"
SLOWEST = 5.0
"""The limit in CPU seconds for 1 MB in small deltas, which takes 0.5 s. Quadratic time would be minutes."""

# There are fragments of every marker, so that random texts often contain a complete one.
FRAGMENTS = (
    *("#", "##", " ", "\t", "Me", " too", "\n", "\n\n", "\r", "\\", "a", "\x0b"),
    *("```", "`", "other", "tool_use", " id=1", "<details><summary>Thinking", "</summary>"),
    *("</details>", "<!-- text -->", "<!-- em", "pty -->", "<"),
    *("*", "#+", ",", ":", "text:", "begin_", "other", " :kind a", "end_thinking", "STARTUP", ": x"),
    *("v", "i", "im", ">", "70", ":", "ex", " V", "Local", "local Variables", "l", " set x:"),
)
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=14)
BLOCKS = st.lists(st.tuples(st.sampled_from((TextBlock, ThinkingBlock)), TEXTS), max_size=3)


def events_of(blocks: Sequence[tuple[type[TextBlock | ThinkingBlock], Sequence[str]]]) -> list[StreamEvent]:
    """Return the events of an answer whose blocks arrive in these pieces."""
    events: list[StreamEvent] = [ResponseEvent("m")]
    for number, (kind, pieces) in enumerate(blocks):
        if kind is TextBlock:
            events += [TextStartEvent(number), *(TextDeltaEvent(number, piece) for piece in pieces)]
            events.append(TextDoneEvent(number, TextBlock("".join(pieces))))
        else:
            events += [ThinkingStartEvent(number), *(ThinkingDeltaEvent(number, piece) for piece in pieces)]
            events.append(ThinkingDoneEvent(number, ThinkingBlock("".join(pieces))))
    return [*events, DoneEvent("end_turn")]


def section_of(content: Sequence[ContentBlock], syntax: Syntax = MARKDOWN) -> str:
    """Return the text that `render` writes below the heading of an answer."""
    text = render([Message("assistant", content)], roles=ROLES, trim_answers=True, syntax=syntax)
    return text.removeprefix(f"{syntax.heading}Me too\n\n").rstrip("\n")


@pytest.mark.requirement("2:transcript-deltas", "5:transcript-org-answer")
@in_both_formats
@given(BLOCKS)
@example([(TextBlock, ["\\", " V"]), (TextBlock, [",", " V"])])
@example([(TextBlock, [" ", " #", "+", "a\n*", "*", " vi", "m:\n", ",", "*", "*", "b\n*"])])
def test_the_pieces_together_are_what_render_writes(
    syntax: Syntax,
    blocks: list[tuple[type[TextBlock | ThinkingBlock], list[str]]],
) -> None:
    stream = TranscriptStream(ROLES, syntax)
    written = "".join(stream.add(event) for event in events_of(blocks))

    content: list[ContentBlock] = [kind("".join(pieces)) for kind, pieces in blocks]
    rendered = section_of(content, syntax)
    assert written.rstrip("\n") == ("" if rendered == syntax.no_blocks else rendered)


@pytest.mark.requirement("2:transcript-deltas", "5:transcript-editors", "5:transcript-org-answer")
@in_both_formats
@given(BLOCKS)
@example([(TextBlock, ["A vi", "m70", ": set x:\nLoc", "al Variables", "\\", ":"])])
@example([(ThinkingBlock, ["e", "x: e", "x", ":"]), (TextBlock, ["vi", ":"])])
def test_text_of_an_unfinished_answer_never_looks_like_a_marker(
    syntax: Syntax,
    blocks: list[tuple[type[TextBlock | ThinkingBlock], list[str]]],
) -> None:
    stream = TranscriptStream(ROLES, syntax)
    written = QUESTION.replace("## ", syntax.heading)
    marks = (syntax.thinking, syntax.thinking_end, syntax.next_text)
    for event in events_of(blocks):
        written += stream.add(event)
        assert settings_in(written) == []
        if syntax is ORG:
            found = [line for line in org_structure_in(written) if line not in marks]
            assert found == ["* Me", "* Me too"]
        for saved in (written, f"{written}\n"):
            messages = parse(saved, roles=ROLES, syntax=syntax).messages
            assert [message.role for message in messages] in (["user"], ["user", "assistant"])
            kinds = {block.type for message in messages[1:] for block in message.content}
            assert kinds <= {"text", "thinking"}


def test_a_line_is_delayed_only_while_it_can_become_a_marker() -> None:
    stream = TranscriptStream(ROLES)
    stream.add(TextStartEvent(0))
    pieces = [
        "Sure.",
        "\n\n##",
        " Me",
        "\n",
        "Read",
        "\n#",
        " Title",
        "\n```",
        "python",
        "\n<",
        "b>",
        " ",
        "x",
    ]

    assert [stream.add(TextDeltaEvent(0, piece)) for piece in pieces] == [
        "Sure.",
        *("\n", "", "", "\n\\## Me\nRead"),
        *("", "\n# Title"),
        *("", "\n```python"),
        *("", "\n<b>", "", " x"),
    ]


def test_a_fence_of_the_transcript_is_escaped_before_its_line_ends() -> None:
    stream = TranscriptStream(ROLES)
    stream.add(TextStartEvent(0))

    assert stream.add(TextDeltaEvent(0, "```tool_use id=")) == "\\```tool_use id="
    assert stream.add(TextDeltaEvent(0, "x")) == "x"


def test_only_a_word_that_can_set_options_is_delayed() -> None:
    stream = TranscriptStream(ROLES)
    stream.add(TextStartEvent(0))
    pieces = ["Use", " v", "i", "m", "7", "0", ": se", " x", "nav", "i:", " loca", "l V", "ictor", " 7", " 8"]

    assert [stream.add(TextDeltaEvent(0, piece)) for piece in pieces] == [
        *("Use", "", "", "", "", "", " vim70\\: se", " x"),
        *("nav", "i:", "", "", " local Victor", " 7", " 8"),
    ]


def test_a_block_waits_for_the_block_before_it() -> None:
    stream = TranscriptStream(ROLES)
    call = ToolUseBlock("c", "f", {}, "{}")
    events = [
        TextStartEvent(0),
        TextDeltaEvent(0, "One"),
        ToolUseStartEvent(1, "c", "f"),
        ToolUseDoneEvent(1, call),
        BlockDoneEvent(2, OtherBlock("k", "o")),
    ]

    assert [stream.add(event) for event in events] == ["", "One", "", "", ""]
    assert f"One{stream.add(TextDoneEvent(0, TextBlock('One')))}" == section_of(
        [TextBlock("One"), call, OtherBlock("k", "o")]
    )


def test_a_carriage_return_cannot_hide_a_heading() -> None:
    """Editors drop carriage returns or treat them as line endings."""
    stream = TranscriptStream(ROLES)
    text = "a\r## Me\n##\r Me\nb"
    events = [
        *events_of([(TextBlock, [text])])[:-1],
        ToolUseDoneEvent(1, ToolUseBlock("c", "f", None, text, "?")),
    ]
    written = "".join(map(stream.add, events))

    assert "\r" not in written
    assert len(parse(QUESTION + written, roles=ROLES).messages) == 2


def test_a_new_response_begins_the_section_again() -> None:
    stream = TranscriptStream(ROLES)
    for event in (TextStartEvent(0), TextDeltaEvent(0, "First\n"), ResponseEvent("m"), TextStartEvent(0)):
        stream.add(event)

    assert stream.add(TextDeltaEvent(0, "Again")) == "Again"


def test_a_failed_turn_ends_its_open_thinking() -> None:
    stream = TranscriptStream(ROLES)
    begun = "".join(map(stream.add, (ThinkingStartEvent(0), ThinkingDeltaEvent(0, "Hm\n## Me"))))
    written = begun + stream.add(DoneEvent("error"))

    assert written.rstrip("\n") == section_of([ThinkingBlock("Hm\n## Me")])


@pytest.mark.slow
@in_both_formats
@pytest.mark.parametrize("piece", ["`", "\\", " ", "\n", "#", "a", "```other x", " vim", "7", "*", ",", "#+"])
def test_a_megabyte_in_small_deltas_takes_linear_time(syntax: Syntax, piece: str) -> None:
    stream = TranscriptStream(ROLES, syntax)
    stream.add(TextStartEvent(0))
    stream.add(TextDeltaEvent(0, "Use vim"))
    before = time.process_time()
    for _ in range(250_000):
        stream.add(TextDeltaEvent(0, piece * (4 // len(piece) or 1)))
    assert time.process_time() - before < SLOWEST


@pytest.mark.requirement("2:transcript-deltas", "12:result-blocks")
def test_the_results_of_the_daemons_tools_are_written_as_render_writes_them() -> None:
    call = ToolUseBlock("1", "shed__dig", {}, "{}")
    image = ImageBlock("AAAA", "image/png")
    found = ToolResultBlock("1", (TextBlock("## Me\nfound"), image), origin=Origin("daemon", "shed/dig"))
    stream = TranscriptStream(ROLES)
    events: list[StreamEvent] = [ResponseEvent("m"), ToolUseStartEvent(0, "1", "shed__dig")]
    events += [ToolUseDoneEvent(0, call), BlockDoneEvent(1, found), DoneEvent("end_turn")]
    written = "".join(stream.add(event) for event in events)

    assert written.rstrip("\n") == section_of([call, found])
    parsed = parse(QUESTION + written, roles=ROLES).messages[1].content
    assert parsed == (call, ToolResultBlock("1", found.content, False))
