"""The assembler follows the event rules for any sequence of method calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import Fold, OtherBlock, RedactedThinkingBlock, ToolUseStartEvent
from jumpseat.dialects import BlockAssembler
from jumpseat.testing import assert_laws

pieces = st.text(max_size=3)
steps = st.one_of(
    st.tuples(st.just("add_text"), pieces),
    st.tuples(st.just("add_thinking"), pieces),
    st.tuples(st.just("sign_thinking"), pieces),
    st.tuples(st.just("add_block"), st.sampled_from([OtherBlock("x"), RedactedThinkingBlock("y")])),
    st.tuples(st.just("close_tool_call"), st.integers(0, 2)),
    st.tuples(st.just("add_tool_call"), st.integers(0, 2), pieces, pieces, pieces),
)


@given(st.lists(steps, max_size=30))
def test_any_sequence_of_method_calls_follows_the_event_rules(sequence):
    assembler = BlockAssembler("acme", "m")
    events = []
    for name, *arguments in sequence:
        if name == "add_tool_call":
            key, call_id, tool, raw = arguments
            assembler.add_tool_call(key, id=call_id, name=tool, arguments=raw)
        else:
            getattr(assembler, name)(*arguments)
        events += assembler.take()
    assembler.close_all()
    events += assembler.take()
    assert_laws(events, ended=False)
    fold = Fold("acme", "m")
    for event in events:
        fold.add(event)
    content = fold.response().content
    assert all(block.origin.provider == "acme" for block in content)
    text = "".join(step[1] for step in sequence if step[0] == "add_text")
    assert fold.response().text == text
    ids = [block.id for block in content if block.type == "tool_use"]
    assert all(ids)
    assert len(set(ids)) == len(ids)


def test_a_call_is_started_with_a_generated_id_when_another_block_starts():
    assembler = BlockAssembler("acme", "m")
    assembler.add_tool_call("a", name="f", arguments="{")
    assert assembler.take() == []
    assembler.add_text("x")
    assert assembler.take()[0] == ToolUseStartEvent(0, "call_1", "f")


@pytest.mark.requirement("2:nameless-call")
def test_a_call_without_a_name_is_dropped_with_a_warning():
    assembler = BlockAssembler("acme", "m")
    assembler.add_text("a")
    assembler.add_tool_call("a", id="c-1", arguments="{}")
    assembler.add_text("b")
    assembler.add_tool_call("b", name="f")
    assembler.close_all()
    events = assembler.take()
    assert_laws(events, ended=False)
    assert [event.code for event in events if event.type == "warning"] == ["nameless_call_dropped"]
    done = [event.content for event in events if event.type.endswith("_done")]
    assert [(block.type, getattr(block, "text", None)) for block in done] == [
        ("text", "ab"),
        ("tool_use", None),
    ]
    assert assembler.call_count == 1


def test_opaque_data_belongs_to_the_open_block():
    blocks = BlockAssembler("p", "m", thinking_opaque=lambda: "asked for")
    blocks.set_opaque("ignored")
    for opaque in ("one", "two", None):
        blocks.add_text("x")
        blocks.set_opaque(opaque)
        blocks.close_prose()
    blocks.add_thinking("x")
    blocks.set_opaque("three")
    blocks.close_prose()
    blocks.add_thinking("x")
    blocks.close_all()
    done = [event.content.opaque for event in blocks.take() if event.type.endswith("_done")]
    assert done == ["one", "two", None, "three", "asked for"]
