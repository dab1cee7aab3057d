"""An edit: its prompt, and the replacement in its answer."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpseat.chat import (
    ContextBlock,
    DoneEvent,
    Origin,
    Position,
    Range,
    RequestError,
    TextBlock,
    Usage,
    WarningEvent,
)
from jumpseat.engine import Edit, run_edit
from jumpseat.engine.edit import SYSTEM
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text

TARGET = ContextBlock("x = 1\n", "file:///a.py", "python", Range(Position(4, 0), Position(5, 0)))
ANSWER = "Sure! Here it is:\r\n\n````python\nx = 2\n```\n~~~\n````\nDone."


async def edit(*script: Step, target: ContextBlock = TARGET, **more: Any) -> tuple[Edit, ScriptedAdapter]:
    adapter = ScriptedAdapter(list(script))
    sink = RecordingSink()
    asked = ask(**more)
    return await run_edit(registry_of(adapter), asked, target, "Make it two.", sink), adapter


@pytest.mark.requirement("2:edit-start")
async def test_the_model_is_given_the_target_the_instruction_and_the_fence() -> None:
    _, adapter = await edit(*script_text("x"), DONE)

    (request,) = adapter.requests
    (message,) = request.messages
    target, words = message.content
    assert target is TARGET
    assert isinstance(words, TextBlock)
    assert "\nMake it two.\n" in words.text
    assert "a line of ```" in words.text
    assert request.system == SYSTEM


async def test_the_clients_system_prompt_comes_before_ours() -> None:
    _, adapter = await edit(*script_text("x"), DONE, system="Write British English.")

    assert adapter.requests[0].system == f"Write British English.\n\n{SYSTEM}"


async def test_an_instruction_with_braces_is_sent_unchanged() -> None:
    adapter = ScriptedAdapter([*script_text("x"), DONE])
    await run_edit(registry_of(adapter), ask(), TARGET, "Use {name} and {0}.", RecordingSink())

    words = adapter.requests[0].messages[0].content[1]
    assert isinstance(words, TextBlock)
    assert "\nUse {name} and {0}.\n" in words.text


async def test_for_an_empty_target_the_model_is_asked_for_new_text() -> None:
    done, adapter = await edit(*script_text("```\nx = 2\n```"), DONE, target=ContextBlock(""))

    words = adapter.requests[0].messages[0].content[1]
    assert isinstance(words, TextBlock)
    assert "text above is empty" in words.text
    assert done.replacement == "x = 2"


@pytest.mark.requirement("2:edit-replacement")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sets(st.integers(1, len(ANSWER) - 1)))
async def test_the_replacement_does_not_depend_on_the_deltas(cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[start:end] for start, end in itertools.pairwise(edges)]
    done, _ = await edit(*script_text(*pieces), DONE)

    assert done.replacement == "x = 2\n```\n~~~\n"
    assert done.response.text == ANSWER


@pytest.mark.requirement("2:edit-replacement")
@pytest.mark.parametrize("at", range(1, len(ANSWER)))
async def test_an_answer_in_two_deltas_has_the_same_replacement(at: int) -> None:
    done, _ = await edit(*script_text(ANSWER[:at], ANSWER[at:]), DONE)

    assert done.replacement == "x = 2\n```\n~~~\n"


@pytest.mark.requirement("2:edit-nothing-to-apply")
@pytest.mark.parametrize(
    "reason", ["max_tokens", "refusal", "tool_use", "stop_sequence", "content_filter", "pause_turn"]
)
async def test_an_answer_that_was_cut_off_has_no_replacement(reason: Any) -> None:
    done, _ = await edit(*script_text("```\nx = 2\n```"), DoneEvent(reason, Usage()))

    assert done.replacement is None
    assert done.response.stop_reason == reason
    assert done.response.text == "```\nx = 2\n```"


@pytest.mark.requirement("2:edit-nothing-to-apply", "2:stop-reason-unknown")
async def test_an_answer_that_ended_for_an_unknown_reason_has_no_replacement() -> None:
    warning = WarningEvent("unknown_stop_reason", "It may be cut off.")
    done, _ = await edit(*script_text("```\nx = 2\n```"), warning, DONE)

    assert (done.response.stop_reason, done.replacement) == ("end_turn", None)


@pytest.mark.requirement("2:edit-nothing-to-apply")
@pytest.mark.parametrize("script", [[DONE], [*script_text(""), DONE], [*script_text(" \n"), DONE]])
async def test_an_empty_answer_has_no_replacement(script: list[Step]) -> None:
    done, _ = await edit(*script)

    assert done.replacement is None


async def test_an_adapter_may_parse_its_answers_itself() -> None:
    class Knowing(ScriptedAdapter):
        def inline_output(self, text: str) -> str | None:
            return text.upper() if text == "mine" else None

    adapter = Knowing([*script_text("mine"), DONE], [*script_text("```\nother\n```"), DONE])
    registry = registry_of(adapter)
    mine = await run_edit(registry, ask(), TARGET, "Edit.", RecordingSink())
    other = await run_edit(registry, ask(), TARGET, "Edit.", RecordingSink())

    assert (mine.replacement, other.replacement) == ("MINE", "other\n")


async def test_an_answer_that_its_adapter_fails_to_read_is_not_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(ScriptedAdapter):
        def inline_output(self, text: str) -> str | None:
            raise ZeroDivisionError

    adapter = Failing([*script_text("```\nx = 2\n```"), DONE])
    done = await run_edit(registry_of(adapter), ask(), TARGET, "Edit.", RecordingSink())

    assert done.replacement == "x = 2\n"
    assert "failed to read its own answer" in caplog.text


@pytest.mark.parametrize(
    ("target", "fence"),
    [
        (ContextBlock("x", "file:///a%20b/README.md"), "````"),
        (ContextBlock("x", "file:///a.py"), "```"),
        (ContextBlock("x", "file:///README.md", "python"), "```"),
        (ContextBlock("x", "untitled:Untitled-1"), "```"),
        (ContextBlock("x", "http://[bad"), "```"),
    ],
)
async def test_a_missing_language_is_taken_from_the_file_name(target: ContextBlock, fence: str) -> None:
    _, adapter = await edit(*script_text("x"), DONE, target=target)

    words = adapter.requests[0].messages[0].content[1]
    assert isinstance(words, TextBlock)
    assert f"a line of {fence} and" in words.text


async def test_a_failed_edit_keeps_its_partial() -> None:
    failing = script_text("half")[:2]
    with pytest.raises(RequestError) as caught:
        await edit(*failing, RequestError("No."))

    assert caught.value.partial is not None
    assert list(caught.value.partial.content) == [TextBlock("half", origin=Origin("fake", "m"))]
