"""The input line of a conversation: its history and completion, on a real terminal with the real daemon."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.e2e.repl.chats import models
from tests.fakes.typist import ALT_ENTER, CTRL_C, TAB, UP, Typist

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]
Start = Callable[..., Typist]

CTRL_R, CTRL_G = "\x12", "\x07"
"""The keys that begin and end a search in the history."""


def test_input_is_kept_for_the_next_run_and_private_to_the_user(typist: Start, home: Path) -> None:
    first = typist()
    first.enter(f"one{ALT_ENTER}two")
    first.see("Hello")
    first.enter("/usage")
    first.see("1 turn")
    first.type("not sent")
    first.see("> not sent")
    first.type(CTRL_C)
    first.see("> Ctrl-D leaves.")
    first.leave()
    file = home / "chat-history"
    assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == ["one\ntwo", "/usage"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    second = typist("--no-keep")
    second.see("> Ask something")
    second.type(UP)
    second.see("> /usage")
    second.type(CTRL_C)
    second.see("> Ctrl-D leaves.")
    second.type(f"{CTRL_R}two")
    second.see("I-search backward: two")
    second.see("> one  two")  # The second row of the entry is indented.
    # The placeholder "Ask something" is not shown after the line that was found.
    assert "two Ask" not in second.text
    second.type(CTRL_G)
    second.type(f"{CTRL_C}secret\r")
    second.see("Hello")
    shown = second.leave()

    assert "secret" not in file.read_text("utf-8")
    assert "Kept." not in shown


def test_input_is_not_stored_if_the_configuration_disables_keeping(
    typist: Start, home: Path, configuration: Path
) -> None:
    configuration.write_text(
        f"{configuration.read_text('utf-8')}[conversations]\nkeep = false\n", encoding="utf-8"
    )
    person = typist()
    person.enter("/usage")
    person.enter("Hi")
    person.see("Hello")
    person.enter("More")
    person.see("Hello", times=2)
    shown = person.leave()

    assert not (home / "chat-history").exists()
    assert shown.count("warning:") == 1


def test_tab_completes_commands_models_and_paths(
    typist: Start, upstream: ThreadedUpstream, tmp_path: Path
) -> None:
    (tmp_path / "transcript of it.md").write_text("context", "utf-8")
    person = typist()
    person.see("> ")
    person.type(f"/mod{TAB}")
    person.see("> /model")
    person.type(f" oth{TAB}")
    person.see("> /model fake:other-model")
    person.enter("")
    person.see("come from fake:other-model")
    person.type(f"/file {tmp_path}/tran{TAB}")
    person.see("transcript of it.md")
    person.enter("")
    person.see("Attached to the next question: transcript of it.md.")
    person.enter("Hi")
    person.see("Hello")
    person.leave()

    assert models(upstream) == ["other-model"]
