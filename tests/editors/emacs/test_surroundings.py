"""Buffers and windows that users change while an answer arrives, and the text that they insert."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import lisp, running_emacs
from tests.editors.provider import WORDS, hold_answer, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def unfinished_answer() -> Reply:
    """Return an answer that never ends."""
    return Reply.events([chunk({"content": "Half an "}), chunk({"content": "ans"}), Gate()])


def test_an_answer_that_is_undone_while_it_streams_is_stopped(child, provider):
    provider.script(unfinished_answer(), Reply.events(WORDS))
    child.ask("Question?")
    child.wait_for_text("Half an ans")
    child.keys("^_")
    child.wait_until_text_is_gone("Half an ans")
    provider.wait_for_disconnect(1)
    child.wait_until_idle()
    assert child.text.endswith("## Me\n\nQuestion?")


def test_an_answer_that_is_deleted_while_it_streams_is_stopped(child, provider):
    provider.script(unfinished_answer())
    child.ask("Question?")
    child.wait_for_text("Half an ans")
    child.eval('(progn (goto-char 1) (search-forward "Question?") (delete-region (point) (point-max)))')
    provider.wait_for_disconnect(1)
    child.wait_until_idle()
    assert child.text.endswith("## Me\n\nQuestion?")


def test_a_chat_that_is_read_again_from_its_file_stops_its_answer_and_stays_a_chat(
    home, package, provider, tmp_path
):
    provider.script(unfinished_answer(), Reply.events(WORDS))
    file = tmp_path / "chat.md"
    file.write_text("## Me\n\nQuestion?\n")
    with running_emacs(home, package=package) as child:
        child.eval(f"(jumpseat-open {lisp(str(file))})")
        child.send()
        child.wait_for_text("Half an ans")
        child.eval("(revert-buffer t t)")
        provider.wait_for_disconnect(1)
        assert child.eval("jumpseat-chat-mode") is True
        child.wait_until_idle()
        child.wait('(string-prefix-p "## Me\n\nQuestion?\n" (buffer-string))')
        child.send()
        child.wait_for_text("Hello there.")


def test_the_end_of_an_answer_does_not_affect_a_chat_that_was_read_again(home, package, provider, tmp_path):
    gate = Gate()
    provider.script(unfinished_answer(), hold_answer("Other", gate=gate))
    file = tmp_path / "chat.md"
    file.write_text("## Me\n\nQuestion?\n")
    with running_emacs(home, package=package) as child:
        child.eval(f"(jumpseat-open {lisp(str(file))})")
        child.send()
        child.wait_for_text("Half an ans")
        child.eval("(setq ended nil)")
        child.eval("(add-hook 'jumpseat-turn-ended-functions (lambda (&rest _) (setq ended t)))")
        child.eval("(progn (revert-buffer t t) (jumpseat-send))")
        child.wait_for_text("Other")
        child.wait("ended")
        assert child.eval("(jumpseat--send-running-p)")
        provider.open(gate)
        child.wait_until_idle()
        assert child.text.endswith("\n\n## Me\n\nQuestion?\n\n## Assistant\n\nOther End.\n\n## Me\n\n")


def test_a_locked_chat_is_not_sent(child, provider):
    child.eval('(progn (insert "Question?") (read-only-mode))')
    child.keys("^C^C")
    child.wait_for_text("Buffer is read-only")
    assert provider.requests == []


def test_a_chat_that_is_locked_while_an_answer_streams_gets_all_of_it(child, provider):
    gate = Gate()
    provider.script(Reply.events([chunk({"content": "Half "}), gate, *completion_stream(["and half."])]))
    child.ask("Question?")
    child.wait_for_text("Half")
    child.eval("(read-only-mode)")
    provider.open(gate)
    child.wait_for_text("Half and half.")
    child.wait_until_idle()
    assert child.text.endswith("Half and half.\n\n## Me\n\n")
    assert child.eval("buffer-read-only") is True


def test_a_narrowed_chat_is_sent_as_a_whole_and_gets_its_answer_at_the_end(child, provider):
    provider.script(Reply.events(WORDS))
    child.eval('(progn (insert "First line.\nSecond line.") (narrow-to-region 8 12))')
    child.send()
    child.wait('(save-restriction (widen) (string-search "Hello there." (buffer-string)))')
    child.wait_until_idle()
    child.eval("(widen)")
    assert child.text.endswith("First line.\nSecond line.\n\n## Assistant\n\nHello there.\n\n## Me\n\n")
    assert provider.requests[0].json["messages"][0]["content"] == "First line.\nSecond line."


def test_bytes_that_are_not_utf_8_and_nul_are_replaced_before_sending(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "latin.txt"
    file.write_bytes(b"caf\xe9\xff \x80 \x00\n")
    child.eval(f"(let ((coding-system-for-read 'utf-8)) (find-file {lisp(str(file))}))")
    child.eval("(progn (push-mark 1 t t) (goto-char (point-max)))")
    child.command("jumpseat-ask", "What is it?")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert "caf\ufffd\ufffd \ufffd \ufffd\n" in list_sent_texts(provider, 0)[0]


def test_front_matter_that_is_changed_while_the_provider_is_asked_stays(child, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *WORDS]))
    child.eval("""(add-hook 'jumpseat-turn-started-hook
        (lambda () (save-excursion (goto-char 1) (insert "---\nmodel: fake:mine\n---\n\n"))))""")
    child.ask("Question?")
    provider.wait_for_request(1)
    provider.open(gate)
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert child.text.startswith("---\nmodel: fake:mine\n---\n\n## Me\n")


def test_a_carriage_return_in_an_answer_is_not_kept(child, provider):
    provider.script(Reply.events(completion_stream(["One\r\n", "two\r\n"])))
    child.ask("Question?")
    child.wait_for_text("two")
    child.wait_until_idle()
    assert "\r" not in child.text


def test_a_daemon_that_was_stopped_is_started_by_the_next_question(child, provider):
    provider.default(Reply.events(WORDS))
    child.eval("(jumpseat--rpc-stop)")
    child.ask("Question?")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
