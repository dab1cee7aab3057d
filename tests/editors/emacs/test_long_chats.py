"""Long answers and long chats, during which Emacs must respond to its user."""

from __future__ import annotations

import time

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Event, Gate, Reply
from tests.editors.emacs.child import markdown_mode, running_emacs

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MAX_MS = 16
"""The time of one frame at 60 Hz, in milliseconds."""

MAX_GARBAGE = 400_000
"""The bytes per second that Emacs may allocate during an answer. It collects garbage every 800,000 bytes."""

# Measure CPU time, because on a busy machine other processes delay the loop by more than a frame. Subtract
# the time of garbage collections, because it depends on the size of the user's Emacs.
WATCH = """(progn
    (setq longest 0 last (- (float-time (get-internal-run-time)) gc-elapsed))
    (setq watching (run-at-time 0 0.001 (lambda ()
                                          (let ((now (- (float-time (get-internal-run-time)) gc-elapsed)))
                                            (setq longest (max longest (- now last)) last now)))))
    (add-hook 'jumpseat-turn-ended-functions
              (lambda (&rest _) (run-at-time 0.5 nil #'cancel-timer watching))))"""


# These are the sizes of objects in 64-bit builds, in the order of `memory-use-counts`.
ALLOCATED = "(apply #'+ (cl-mapcar #'* (memory-use-counts) '(16 8 8 48 1 56 32)))"

FIVE_THOUSAND_LINES = """(progn (erase-buffer)
        (dotimes (number 250)
          (insert "## " (if (= 0 (mod number 2)) "Me" "Assistant") "\n\n")
          (dotimes (each 17) (insert (format "line %d.%d\n" number each)))
          (insert "\n"))
        (insert "## Me\n"))"""


def measure_longest_step(child, provider, heading: str) -> float:
    """Return the longest step of Emacs in milliseconds during an answer of five thousand deltas."""
    words = [f"word{number} " + ("\n" if number % 12 == 0 else "") for number in range(5000)]
    provider.script(Reply.events(completion_stream(["Warm."])), Reply.events(completion_stream(words)))
    child.ask("A first answer, for which Emacs reads how to draw its characters.")
    child.wait_for_text("Warm.")
    child.wait_until_idle()
    child.eval(WATCH)
    child.ask("Many words.")
    child.wait('(string-search "word4999" (buffer-string))')
    child.wait_until_idle()
    child.wait("(not (memq watching timer-list))")
    assert "".join(words).split() == child.text.rpartition(heading)[2].split()[:-2]
    return float(child.eval("(* 1000.0 longest)"))


def find_longest_step(child, provider, heading: str = "## Assistant") -> float:
    """Return the least of up to three measurements of the longest step.

    Other processes can only make a step longer.
    """
    measured = []
    while len(measured) < 3 and (not measured or measured[-1] > MAX_MS):
        measured.append(measure_longest_step(child, provider, heading))
    return min(measured)


@pytest.mark.scenario("many-deltas")
def test_five_thousand_deltas_never_block_emacs_for_more_than_16_ms(child, provider):
    assert 0 < find_longest_step(child, provider) <= MAX_MS


def test_deltas_in_a_long_chat_with_markdown_mode_never_block_for_over_16_ms(home, package, provider):
    with running_emacs(home, package=package, before=markdown_mode()) as child:
        child.command("jumpseat")
        child.wait("(derived-mode-p 'markdown-mode)")
        child.eval(FIVE_THOUSAND_LINES)
        assert 0 < find_longest_step(child, provider) <= MAX_MS


def test_an_answer_leaves_little_garbage(child, provider):
    pieces: list[Event] = []
    gates = [Gate() for _ in range(200)]
    for number, gate in enumerate(gates):
        pieces += [*completion_stream([f"word{number} "], done=False)[1:2], gate]
    provider.script(Reply.events([*pieces, *completion_stream(["The end."])]))
    child.ask("A story.")
    child.wait_for_text("word0")
    before, began = child.eval(ALLOCATED), time.monotonic()
    for gate in gates:
        # Send words at the pace of a fast model. Without a pause, the daemon would join all words.
        time.sleep(0.02)
        provider.open(gate)
    child.wait_for_text("The end.")
    assert 0 < child.eval(ALLOCATED) - before < MAX_GARBAGE * (time.monotonic() - began)


@pytest.mark.scenario("long-chat")
def test_a_chat_of_five_thousand_lines_is_continued_at_its_end(child, provider):
    child.eval(FIVE_THOUSAND_LINES)
    provider.script(Reply.events(completion_stream(["The ", "end."])))
    child.ask("And?")
    child.wait_for_text("The end.")
    child.wait_until_idle()
    assert child.text.endswith("line 249.16\n\n## Me\nAnd?\n\n## Assistant\n\nThe end.\n\n## Me\n\n")
    assert len(provider.requests[0].json["messages"]) == 251
