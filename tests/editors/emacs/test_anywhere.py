"""Text of any buffer that is sent, with the answer at point or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import Child, lisp, running_emacs
from tests.editors.provider import WORDS, hold_answer, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

TEXT = "The capital of France?\n\nMore text.\n"


@pytest.fixture
def notes(home: Path, package: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """An Emacs with a file of notes, and point after its question."""
    file = tmp_path / "notes.txt"
    file.write_text(TEXT)
    with running_emacs(home, str(file), package=package) as child:
        child.eval('(progn (goto-char 1) (end-of-line) (global-set-key (kbd "C-c RET") #\'jumpseat-send))')
        yield child


def send_to(notes: Child, place: str) -> None:
    notes.keys("^U^C^M")
    notes.answer(place)


@pytest.mark.scenario("answer-anywhere")
def test_an_answer_streams_below_the_text_in_one_step_of_undo(notes, provider):
    gate = Gate()
    provider.script(hold_answer("Par", "is.", gate=gate))
    notes.keys("^C^M")
    notes.wait_for_text("The capital of France?\n\nParis.")
    provider.open(gate)
    notes.wait("(null jumpseat-anywhere--requests)")
    assert notes.text == "The capital of France?\n\nParis. End.\n\nMore text.\n"
    assert list_sent_texts(provider, 0) == ["The capital of France?"]
    notes.keys("^_")
    notes.wait(f"(equal (buffer-string) {lisp(TEXT)})")


def test_the_region_is_sent_and_answered_at_its_end(notes, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *WORDS]))
    notes.eval("(progn (goto-char 5) (push-mark 23 t t))")
    notes.keys("^C^M")
    notes.wait_for_text("waiting for the answer …")
    provider.open(gate)
    notes.wait_for_text("Hello there.")
    notes.wait_until_text_is_gone("waiting for")
    assert list_sent_texts(provider, 0) == ["capital of France?"]
    assert notes.text.startswith("The capital of France?\n\nHello there.\n\nMore")


@pytest.mark.scenario("answer-anywhere")
def test_an_answer_goes_into_the_kill_ring(notes, provider):
    provider.script(Reply.events(WORDS))
    send_to(notes, "kill ring")
    notes.wait_for_message("The answer is in the kill ring.")
    assert notes.eval("(list (current-kill 0) (buffer-string))") == ["Hello there.", TEXT]


def test_an_answer_is_shown_in_the_echo_area(notes, provider):
    provider.script(Reply.events(WORDS))
    send_to(notes, "echo area")
    notes.wait_for_text("Hello there.")
    assert notes.eval("(list (current-message) (buffer-string))") == ["Hello there.", TEXT]


def test_an_answer_is_written_at_the_end_of_another_buffer(notes, provider):
    provider.script(Reply.events(WORDS))
    notes.eval('(with-current-buffer (get-buffer-create "other") (insert "Before."))')
    notes.keys("^U^C^M")
    notes.answer("buffer")
    notes.answer("other")
    notes.wait('(with-current-buffer "other" (equal (buffer-string) "Before.\n\nHello there."))')
    assert notes.eval('(with-current-buffer "notes.txt" (buffer-string))') == TEXT


@pytest.mark.scenario("answer-anywhere")
def test_a_question_from_a_buffer_is_asked_in_a_chat(notes, provider):
    provider.script(Reply.events(WORDS))
    send_to(notes, "chat")
    notes.wait_for_text("Hello there.")
    notes.wait_until_idle()
    assert "## Me\n\nThe capital of France?\n\n## Assistant\n\nHello there." in notes.text


def test_an_answer_at_point_is_stopped_by_the_command_and_by_undo(notes, provider):
    gate = Gate()
    again = Reply.events([chunk({"content": "Again"}), gate, chunk({"content": " and"}), Gate()])
    provider.script(hold_answer("Half", gate=Gate()), again)
    notes.keys("^C^M")
    notes.wait_for_text("Half")
    notes.command("jumpseat-stop")
    notes.wait_for_message("The answer was stopped.")
    provider.wait_for_disconnect(1)
    assert "France?\n\nHalf\n\nMore" in notes.text
    notes.command("undo")
    notes.wait(f"(equal (buffer-string) {lisp(TEXT)})")

    notes.eval("(progn (goto-char 1) (end-of-line))")
    notes.keys("^C^M")
    notes.wait_for_text("Again")
    notes.command("undo")
    notes.wait(f"(equal (buffer-string) {lisp(TEXT)})")
    # The next words of the answer are not written, and stop it.
    provider.open(gate)
    provider.wait_for_disconnect(2)
    assert notes.text == TEXT


def test_an_error_is_reported_and_leaves_the_text_unchanged(notes, provider):
    provider.script(Reply.json({"error": {"message": "The key is wrong."}}, 401))
    notes.keys("^C^M")
    notes.wait_for_message("The key is wrong.")
    assert notes.text == TEXT
    assert notes.eval("(overlays-in 1 (point-max))") is None


def test_a_buffer_that_cannot_be_changed_is_not_answered_in_place(notes, provider):
    notes.eval("(setq buffer-read-only t)")
    notes.keys("^C^M")
    notes.wait_for_text("Buffer is read-only")
    assert provider.requests == []
