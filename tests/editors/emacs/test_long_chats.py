"""Long answers and long chats: Emacs goes on."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import markdown_mode, running_emacs

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MAX_MS = 16
"""One frame at 60 Hz."""

# The time of the processor, because on a busy machine other processes hold up the loop for longer than that.
# Garbage collections count: what is due before is collected before, and what is deferred comes seconds after.
WATCH = """(progn
    (garbage-collect)
    (setq longest 0 last (float-time (get-internal-run-time)))
    (setq watching (run-at-time 0 0.001 (lambda ()
                                          (let ((now (float-time (get-internal-run-time))))
                                            (setq longest (max longest (- now last)) last now)))))
    (add-hook 'jumpseat-turn-ended-functions
              (lambda (&rest _) (run-at-time 0.5 nil #'cancel-timer watching))))"""


FIVE_THOUSAND_LINES = """(progn (erase-buffer)
        (dotimes (number 250)
          (insert "## " (if (= 0 (mod number 2)) "Me" "Assistant") "\n\n")
          (dotimes (each 17) (insert (format "line %d.%d\n" number each)))
          (insert "\n"))
        (insert "## Me\n"))"""


def five_thousand_deltas(child, provider, heading: str) -> float:
    """The longest step of Emacs, in milliseconds, while an answer of so many deltas comes."""
    words = [f"word{number} " + ("\n" if number % 12 == 0 else "") for number in range(5000)]
    provider.script(Reply.events(completion_stream(["Warm."])), Reply.events(completion_stream(words)))
    child.ask("A first answer, for which Emacs reads how to draw its characters.")
    child.sees("Warm.")
    child.idle()
    child.eval(WATCH)
    child.ask("Many words.")
    child.wait('(string-search "word4999" (buffer-string))')
    child.idle()
    child.wait("(not (memq watching timer-list))")
    assert "".join(words).split() == child.text.rpartition(heading)[2].split()[:-2]
    return float(child.eval("(* 1000.0 longest)"))


def longest_step(child, provider, heading: str = "## Assistant") -> float:
    """The least of up to three measurements: other processes only make a step longer."""
    measured = []
    while len(measured) < 3 and (not measured or measured[-1] > MAX_MS):
        measured.append(five_thousand_deltas(child, provider, heading))
    return min(measured)


@pytest.mark.scenario("many-deltas")
def test_five_thousand_deltas_never_keep_emacs_for_a_frame(child, provider):
    assert 0 < longest_step(child, provider) <= MAX_MS


def test_deltas_never_block_emacs_for_a_frame_in_a_long_chat_with_markdown_mode(home, package, provider):
    with running_emacs(home, package=package, before=markdown_mode()) as child:
        child.command("jumpseat")
        child.wait("(derived-mode-p 'markdown-mode)")
        child.eval(FIVE_THOUSAND_LINES)
        assert 0 < longest_step(child, provider) <= MAX_MS


@pytest.mark.scenario("long-chat")
def test_a_chat_of_five_thousand_lines_is_continued_at_its_end(child, provider):
    child.eval(FIVE_THOUSAND_LINES)
    provider.script(Reply.events(completion_stream(["The ", "end."])))
    child.ask("And?")
    child.sees("The end.")
    child.idle()
    assert child.text.endswith("line 249.16\n\n## Me\nAnd?\n\n## Assistant\n\nThe end.\n\n## Me\n\n")
    assert len(provider.requests[0].json["messages"]) == 251
