"""Long answers and long chats: Emacs goes on."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply

pytestmark = [pytest.mark.editor, pytest.mark.slow]

LONGEST_MS = 16
"""One frame at 60 Hz."""

# The time of the processor, because on a busy machine other processes hold up the loop for longer than that.
WATCH = """(progn
    (setq longest 0 garbage gc-elapsed last (float-time (get-internal-run-time)))
    (run-at-time 0 0.001
                 (lambda ()
                   (let ((now (float-time (get-internal-run-time))))
                     ;; Emacs collects garbage when it likes, whatever a package does.
                     (setq longest (max longest (- now last (- gc-elapsed garbage)))
                           garbage gc-elapsed
                           last now)))))"""


@pytest.mark.scenario("many-deltas")
def test_five_thousand_deltas_never_keep_emacs_for_a_frame(child, provider):
    words = [f"word{number} " + ("\n" if number % 12 == 0 else "") for number in range(5000)]
    provider.script(Reply.events(completion_stream(words)))
    child.eval(WATCH)
    child.ask("Many words.")
    child.wait('(string-search "word4999" (buffer-string))')
    child.idle()
    longest = child.eval("(* 1000.0 longest)")
    print(f"longest step: {longest:.1f} ms")
    assert "".join(words).split() == child.text.partition("## Assistant")[2].split()[:-2]
    assert 0 < longest <= LONGEST_MS


@pytest.mark.scenario("long-chat")
def test_a_chat_of_five_thousand_lines_is_continued_at_its_end(child, provider):
    child.eval("""(progn (erase-buffer)
        (dotimes (number 250)
          (insert "## " (if (= 0 (mod number 2)) "Me" "Assistant") "\n\n")
          (dotimes (each 17) (insert (format "line %d.%d\n" number each)))
          (insert "\n"))
        (insert "## Me\n"))""")
    provider.script(Reply.events(completion_stream(["The ", "end."])))
    child.ask("And?")
    child.sees("The end.")
    child.idle()
    assert child.text.endswith("line 249.16\n\n## Me\nAnd?\n\n## Assistant\n\nThe end.\n\n## Me\n\n")
    assert len(provider.requests[0].json["messages"]) == 251
