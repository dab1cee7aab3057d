"""The package in a graphical frame: `make test-emacs-graphical`."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import lisp
from tests.editors.emacs.graphical import running_frame
from tests.editors.provider import WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.fixture
def frame(home, package, provider, tmp_path):
    """An Emacs in a frame, with a file."""
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\n")
    with running_frame(home, str(tmp_path / "a.py"), package=package) as running:
        yield running


def test_a_chat_in_a_frame_has_marks_in_its_margin(frame, provider):
    provider.script(Reply.events(WORDS))
    frame.eval("""(setq jumpseat-role-marks '("\u276f" . "●"))""")
    assert frame.eval("(symbol-name (window-system))") == "x"
    frame.command("jumpseat")
    frame.wait("jumpseat-chat-mode")
    frame.ask("Hello?")
    frame.wait('(string-match-p "Hello there.[^#]*## Me" (buffer-string))')
    frame.wait_until_idle()
    assert frame.eval("(car (window-margins))") == 2
    assert (
        frame.eval("""(length (seq-filter (lambda (each) (eq (overlay-get each 'jumpseat-kind) 'mark))
                                             (overlays-in 1 (point-max))))""")
        == 3
    )
    assert frame.picture().startswith(b"\x89PNG")


def test_a_button_above_a_rewrite_is_clicked_in_a_frame(frame, provider):
    provider.script(Reply.events(completion_stream(["uno = 1\n"])))
    frame.command("jumpseat-rewrite", "Spanish.")
    frame.wait("(and jumpseat--edit-list (jumpseat--edit-replacement (car jumpseat--edit-list)) t)")
    frame.eval("(goto-char (point-max))")
    frame.click("[Accept]")
    changed = "uno = 1\ntwo = 2\n"
    frame.wait(f"(equal (buffer-string) {lisp(changed)})")


def test_the_buttons_fit_into_a_narrow_window(frame, provider):
    provider.script(Reply.events(completion_stream(["uno = 1\n"])))
    frame.eval("(split-window-right 50)")
    frame.command("jumpseat-rewrite", "Translate the names of all variables into Spanish.")
    frame.wait("(and jumpseat--edit-list (jumpseat--edit-replacement (car jumpseat--edit-list)) t)")
    hint = "(overlay-get (jumpseat--edit-region (car jumpseat--edit-list)) 'before-string)"
    assert frame.eval(f"(string-width (string-trim-right {hint}))") < frame.eval("(window-body-width)")
    text = frame.eval(f"(substring-no-properties {hint})")
    assert text.startswith("Translate")
    assert "…" in text
