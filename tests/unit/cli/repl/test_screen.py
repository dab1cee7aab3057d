"""A conversation on a real terminal with a scripted daemon."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import WAIT_SECONDS
from tests.fakes.escapes import ESCAPES
from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.typist import CTRL_C, Typist, typists

pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("home")]

ANSWERS = {
    "providers/list": {
        "providers": [
            {
                "id": "fake",
                "name": "F\x1b[2Jake",
                "configured": True,
                "isDefault": True,
                "auth": {"state": "configured"},
            }
        ]
    },
    "prompts/list": {"prompts": []},
}
HOSTILE = re.compile(rb"\x1b\[2J|\x1b\]|\x9b|\x07")


Converse = Callable[..., Typist]


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Converse]:
    """Return a function that starts a conversation with a daemon that is scripted with the given chats."""
    with typists() as start:
        yield lambda *chats: start("chat", daemon=Scenario.chat(tmp_path, *chats, answers=ANSWERS).command)


def thinking_delta(text: str) -> dict[str, Any]:
    return {"delta": {"type": "thinking_delta", "block": 0, "text": text}}


def test_no_control_sequence_of_a_provider_reaches_the_terminal(conversation: Converse) -> None:
    hostile = "".join(f"{sequence}\n\n" for sequence, _ in ESCAPES)
    warning = {"delta": {"type": "warning", "code": "x", "message": f"Careful {hostile}"}}
    failure = {
        "error": {"code": 1002, "message": f"No {hostile}", "data": {"kind": "rate_limit", "hint": hostile}}
    }
    person = conversation(
        [warning, thinking_delta(hostile), *answer_steps(f"{hostile}\n\nDone.")],
        [warning, failure],
    )
    person.enter("/thinking show")
    person.enter("Hi")
    person.see("Done.")
    person.enter("Again")
    person.see("jumpseat: No")
    person.leave()

    # The prompt uses other control sequences than these.
    assert HOSTILE.search(person.output) is None


def test_thinking_is_counted_while_it_arrives(conversation: Converse, tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = {"wait": "file", "path": str(go)}
    person = conversation([thinking_delta("one\ntwo\n"), waits, *answer_steps("Done.")])
    person.enter("Hi")
    person.see("Thinking (2 lines)")
    go.touch()
    person.see("Done.")
    assert "Thinking … (2 lines; /thinking shows them)\nDone." in person.leave()


@pytest.mark.usefixtures("ignored_interrupts")
def test_a_second_ctrl_c_abandons_a_turn_that_does_not_end(tmp_path: Path) -> None:
    never = {"wait": "file", "path": str(tmp_path / "never")}
    piece = {"delta": {"type": "text_delta", "block": 0, "text": "One"}}
    scenario = Scenario.chat(tmp_path, [piece, never], answer_steps("Done."), answers=ANSWERS)
    with typists() as start:
        person = start("chat", daemon=scenario.command)
        person.enter("Hi")
        person.see("One")
        person.type(CTRL_C)
        deadline = time.monotonic() + WAIT_SECONDS
        while not scenario.read_messages("$/cancelRequest"):
            assert time.monotonic() < deadline
        person.type(CTRL_C)
        person.see("Stopped.")
        person.enter("And?")
        person.see("Done.")
        person.leave()

    messages = scenario.read_messages("chat/start")[1]["params"]["messages"]
    assert [message["content"][0]["text"] for message in messages] == ["Hi", "One", "And?"]


def test_a_daemon_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    person = Typist("chat", daemon=Scenario(tmp_path, initialize="die").command)
    shown = person.finish(1)

    assert "jumpseat: The daemon ended" in shown
    assert ">" not in shown
