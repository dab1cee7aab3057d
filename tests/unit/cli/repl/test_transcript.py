"""The history shows each call of a tool as one line with its outcome."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat_cli.repl.transcript import summarize_calls

DAEMON = {"provider": "daemon", "model": "shed/dig"}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def call(identifier: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": "shed__dig", "arguments": arguments}


def result(content: Any, identifier: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseId": identifier, "content": content, **more}


def answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def summarize(*blocks: dict[str, Any]) -> str:
    """Return the text that replaces these blocks of an answer."""
    (message,) = summarize_calls([answer(*blocks)])
    (block,) = message["content"]
    assert block["type"] == "text"
    return str(block["text"])


def test_calls_and_the_texts_around_them_are_one_text() -> None:
    blocks = [text("I dig."), call(depth=2), result("a\nb", origin=DAEMON), text("Done.")]

    assert summarize(*blocks) == "I dig.\n\n`✓ shed/dig depth=2 · 2 lines`\n\nDone."


@pytest.mark.parametrize(
    ("blocks", "outcome"),
    [
        ([result("Too hard.\nStop.", isError=True)], "✗ shed/dig · failed: Too hard."),
        ([result([{"type": "image"}])], "✓ shed/dig · [image]"),
        ([], "✗ shed/dig · no result"),
    ],
    ids=["failed", "image", "none"],
)
def test_the_line_of_a_call_has_its_outcome(blocks: list[dict[str, Any]], outcome: str) -> None:
    assert summarize(call(), *blocks) == f"`{outcome}`"


def test_a_long_call_is_cut_to_one_line() -> None:
    shown = summarize(call(text="word " * 99, path="x" * 99), result("y" * 9999))

    assert len(shown) <= 202  # A line has at most 200 characters, and two backticks surround it.
    assert "\n" not in shown


def test_an_id_that_is_used_again_names_another_call() -> None:
    blocks = [call(n=1), result("one"), call(n=2), result("two")]

    assert summarize(*blocks) == "`✓ shed/dig n=1 · one`\n\n`✓ shed/dig n=2 · two`"


def test_a_message_with_only_results_is_left_out() -> None:
    messages = [answer(call()), {"role": "user", "content": [result("dug")]}, answer(text("Done."))]

    assert summarize_calls(messages) == [answer(text("`✓ shed/dig · dug`")), answer(text("Done."))]


@pytest.mark.parametrize(
    ("output", "code"),
    [("a `b` c", "``✓ shed/dig · a `b` c``"), ("``b``", "``` ✓ shed/dig · ``b`` ```")],
)
def test_backticks_in_a_result_do_not_end_the_code(output: str, code: str) -> None:
    assert summarize(call(), result(output)) == code


def test_messages_without_calls_are_unchanged() -> None:
    messages = [{"role": "user", "content": [text("Hi"), text("you")]}, answer(text("Hello"))]

    assert summarize_calls(messages) == messages
