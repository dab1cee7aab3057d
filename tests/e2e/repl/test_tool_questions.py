"""Questions about tool calls in a conversation, on a real terminal with the real daemon."""

from __future__ import annotations

import os
import signal
import sys
import termios
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate
from tests.e2e.repl.chats import PATH, answer, answer_with_calls, list_messages
from tests.e2e.repl.tool_conversations import (
    NOTES,
    QUESTION,
    SERVE,
    Start,
    edit,
    notes,
    read,
    results,
    typist,
)
from tests.fakes.typist import CTRL_C, CTRL_D

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]
__all__ = ["notes", "typist"]


def test_a_denial_can_be_explained_to_the_model(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(answer_with_calls(edit()), answer("I see."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("maybe")
    person.see(QUESTION, times=2)
    person.enter("e")
    person.see("Why not?")
    person.enter("It is a quote.")
    person.see("fake:m")
    shown = person.leave()

    assert results(upstream) == ["Error: The user denied this call: It is a quote."]
    assert "✗ desk/edit path=notes.md oldText=te… · The user denied this call: It is a\n  quote." in shown
    assert notes.read_text("utf-8") == NOTES


def test_one_answer_decides_about_all_calls_of_the_tool_in_the_conversation(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(answer_with_calls(edit(), edit("first", "1st")), answer("One."), path=PATH)
    upstream.script(answer_with_calls(edit("Second", "2nd")), answer("Two."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("a")
    person.see("One.")
    person.enter("More")
    person.see("Two.")
    person.leave()

    assert person.text.count(QUESTION) == 1
    assert notes.read_text("utf-8") == "# Notes\n\nThis is the 1st.\n2nd line.\n"


def test_decisions_hold_in_a_conversation_that_is_not_kept(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(answer_with_calls(edit()), answer("One."), path=PATH)
    upstream.script(
        answer_with_calls(edit("the", "teh")),
        answer("Two."),
        answer_with_calls(edit()),
        answer("Three."),
        path=PATH,
    )
    person = typist("--no-keep")
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("a")
    person.see("One.")
    person.enter("More")
    person.see("Two.")
    person.enter("/clear")
    person.enter("Again")
    person.see(QUESTION, times=2)
    person.enter("n")
    person.see("Three.")
    person.leave()


def test_always_allowing_a_tool_applies_to_later_conversations(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(answer_with_calls(edit()), answer("One."), path=PATH)
    upstream.script(answer_with_calls(edit("first", "1st")), answer("Two."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("A")
    person.see("One.")
    person.leave()
    person = typist()
    person.enter("More")
    person.see("Two.")

    assert QUESTION not in person.leave()
    assert "the 1st" in notes.read_text("utf-8")


@pytest.mark.parametrize("keys", [CTRL_C, f"half{CTRL_C}"], ids=["empty", "typed"])
def test_ctrl_c_at_a_question_cancels_the_turn(
    typist: Start, upstream: ThreadedUpstream, notes: Path, keys: str
) -> None:
    upstream.script(answer_with_calls(edit(), text="I will fix it."), answer("Gone on."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.type(keys)
    person.see("Stopped. The text so far is kept. To continue it: /continue")
    assert notes.read_text("utf-8") == NOTES
    person.enter("/continue")
    person.see("Gone on.")
    person.enter("/continue")
    person.see("There is nothing to continue")
    person.leave()

    assert results(upstream) == ["Error: Cancelled."]


def test_sigterm_at_a_question_restores_the_terminal(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(answer_with_calls(edit()), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    screen = os.dup(person.terminal.screen)
    person.terminal.process.terminate()
    person.finish(143)

    modes = termios.tcgetattr(screen)
    os.close(screen)
    assert modes[3] & (termios.ECHO | termios.ICANON) == termios.ECHO | termios.ICANON
    assert modes[0] & termios.ICRNL


def test_a_question_disappears_if_the_daemon_dies(
    typist: Start, upstream: ThreadedUpstream, notes: Path, home: Path
) -> None:
    upstream.script(answer_with_calls(edit()), answer("Hello again."), path=PATH)
    pid = home / "pid"
    # The command writes its process id to a file before it becomes the daemon.
    command = f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); os.execv({SERVE[0]!r}, {SERVE!r})"
    person = typist(daemon=[sys.executable, "-c", command])
    person.enter("Fix it")
    person.see(QUESTION)
    os.kill(int(pid.read_text()), signal.SIGKILL)
    person.see("Another daemon was started.")
    person.enter("y")
    person.see("Hello again.")
    person.leave()

    assert notes.read_text("utf-8") == NOTES
    assert list_messages(upstream)[-1] == ("user", "y")


def test_ctrl_d_at_a_question_denies_the_call(typist: Start, upstream: ThreadedUpstream, notes: Path) -> None:
    upstream.script(answer_with_calls(edit()), answer("I see."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.type(CTRL_D)
    person.see("I see.")
    person.leave()

    assert results(upstream) == ["Error: The user denied this call."]


def test_text_typed_before_a_question_does_not_answer_it(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    gate = Gate()
    upstream.script(
        answer_with_calls(edit(), text="One ", gate=gate), answer("Done."), answer("Yes?"), path=PATH
    )
    person = typist()
    person.enter("Fix it")
    person.see("One")
    person.enter("y")
    person.type("and")
    upstream.open(gate)
    person.see(QUESTION)
    person.enter("n")
    person.see("Done.")
    person.see("Yes?")
    person.see("> and")
    person.type(CTRL_C)
    person.leave()

    assert notes.read_text("utf-8") == NOTES
    assert list_messages(upstream)[-1] == ("user", "y")


def test_a_path_outside_the_workspace_is_asked_about_each_time(
    typist: Start, upstream: ThreadedUpstream, home: Path
) -> None:
    (home / "secret.md").write_text("Secret.\n", "utf-8")
    upstream.script(answer_with_calls(read("../secret.md")), answer("I see."), path=PATH)
    person = typist("--allow", "desk")
    person.enter("Read it")
    person.see(QUESTION)
    assert "It uses a path outside the workspace." in person.shown
    assert "[y/n/e]" in person.shown
    person.enter("no")
    person.see("I see.")
    person.leave()

    assert results(upstream) == ["Error: The user denied this call."]


def test_a_dumb_terminal_asks_in_plain_lines(typist: Start, upstream: ThreadedUpstream, notes: Path) -> None:
    upstream.script(
        answer_with_calls(edit()), answer_with_calls(edit("first", "1st")), answer("Done."), path=PATH
    )
    person = typist(TERM="dumb")
    person.type("Fix it\n")
    person.see(QUESTION)
    person.type("y\n")
    person.see(QUESTION, times=2)
    person.type(CTRL_C)
    person.see("Stopped.")
    person.type("/quit\n")
    person.finish()

    assert notes.read_text("utf-8") == NOTES.replace("teh", "the")
    assert b"\x1b" not in person.output


def test_lines_typed_on_a_dumb_terminal_before_a_question_do_not_answer_it(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    gate = Gate()
    upstream.script(
        answer_with_calls(edit(), text="One ", gate=gate), answer("Done."), answer("Yes?"), path=PATH
    )
    person = typist(TERM="dumb")
    person.type("Fix it\n")
    upstream.wait_for_request()
    person.type("y\n")
    upstream.open(gate)
    person.see(QUESTION)
    person.type("n\n")
    person.see("Yes?")
    person.type("/quit\n")
    person.finish()

    assert notes.read_text("utf-8") == NOTES
    assert list_messages(upstream)[-1] == ("user", "y")
