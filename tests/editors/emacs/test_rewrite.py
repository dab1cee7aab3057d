"""Regions rewritten in place, against the real daemon and a scripted provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import Child, lisp, running_emacs
from tests.editors.provider import write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "def f(x):\n    if x == True:\n        return 1\n    return 2\n"
AFTER = "def f(x):\n    if x:\n        return 1\n    return 2\n"


def answer(text: str) -> Reply:
    return Reply.events(completion_stream([text[:5], text[5:]]))


@pytest.fixture
def editing(home: Path, package: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """An Emacs with a Python file, and a model that may write more than the default."""
    write_config(home, provider.base_url, 'models = [{ id = "fake-model", max_output_tokens = 20000 }]\n')
    file = tmp_path / "a.py"
    file.write_text(BEFORE)
    with running_emacs(home, str(file), package=package) as child:
        child.eval("""(progn (setq edits nil)
            (add-hook 'jumpseat-rewrite-ended-functions (lambda (ready) (push (list ready) edits))))""")
        yield child


def rewrite(child: Child, instruction: str = "Simplify.") -> None:
    """Rewrite the second and the third line."""
    child.eval("(progn (goto-char 1) (forward-line))")
    child.keys("^@^N^N")
    child.wait("(use-region-p)")
    child.command("jumpseat-rewrite", instruction)


def wait_for_rewrites(child: Child, number: int = 1) -> None:
    """Wait until this number of rewrites has been written."""
    child.wait(f"(= {number} (length edits))")


@pytest.mark.scenario("edit-accept")
def test_a_region_is_rewritten_shown_and_accepted_in_one_step_of_undo(editing, provider):
    provider.script(answer("```python\n    if x:\n        return 1\n```"))
    rewrite(editing)
    wait_for_rewrites(editing)
    editing.wait_for_text("if x == True:\n    if x:\n        return 1")
    editing.wait_for_text("Rewrite: C-c C-a accept, C-c C-k reject, C-c C-r again, C-c C-d diff")
    assert editing.text == BEFORE

    editing.keys("^C^A")
    editing.wait_until_text_is_gone("if x == True")
    assert editing.text == AFTER
    assert editing.eval("jumpseat-rewrite-mode") is None
    editing.keys("^_")
    editing.wait_for_text("if x == True")
    assert editing.text == BEFORE
    assert editing.eval("(buffer-modified-p)") is None
    sent = str(provider.requests[0].json["messages"])
    assert "Simplify." in sent
    assert "if x == True" in sent
    assert provider.requests[0].json["max_tokens"] == 20_000


LINES = "".join(f"line{number} = {number}\n" for number in range(8))
CHANGED = LINES.replace("line1 =", "one =").replace("line6 =", "# six\nsix =")


@pytest.fixture
def two_changes(editing: Child, provider: ThreadedUpstream) -> Child:
    """An Emacs with a rewrite that changes two places of all lines, and point at the beginning."""
    provider.script(answer(CHANGED))
    editing.eval(f"""(progn (erase-buffer) (insert {lisp(LINES)}) (set-buffer-modified-p nil)
                            (undo-boundary) (push-mark (point-max) t t) (goto-char 1))""")
    editing.command("jumpseat-rewrite", "Name them.")
    wait_for_rewrites(editing)
    return editing


def test_only_the_lines_that_change_are_shown_and_the_keys_stay_visible(two_changes):
    two_changes.wait_for_text(
        "line1 = 1\none = 1\nline2 = 2\nline3 = 3\nline4 = 4\nline5 = 5\nline6 = 6\n# six\nsix = 6"
    )
    header = "C-c C-y accept, C-c C-x reject; all: C-c C-a, C-c C-k; C-c C-r again"
    two_changes.wait_for_text(f"Change 1/2: {header}")
    two_changes.keys("^C^N^C^N")
    two_changes.wait_for_text(f"Change 2/2: {header}")
    assert two_changes.eval("(line-number-at-pos)") == 7
    two_changes.keys("^C^N")
    two_changes.wait_for_text("There is no next change")
    two_changes.keys("^C^P")
    two_changes.wait_for_text(f"Change 1/2: {header}")
    two_changes.keys("^C^A")
    two_changes.wait_until_text_is_gone(header)
    assert two_changes.text == CHANGED


def test_one_change_is_accepted_and_another_rejected(two_changes):
    two_changes.keys("^C^Y")
    two_changes.wait_for_text("Rewrite: C-c C-a accept")
    assert two_changes.text == LINES.replace("line1 =", "one =")
    two_changes.wait_for_text("line6 = 6\n# six")
    two_changes.keys("^C^X")
    two_changes.wait("(not jumpseat-rewrite-mode)")
    assert two_changes.text == LINES.replace("line1 =", "one =")
    two_changes.wait_until_text_is_gone("six")
    two_changes.keys("^_")
    two_changes.wait(f"(equal (buffer-string) {lisp(LINES)})")


def test_a_change_that_was_rejected_is_left_out_when_all_are_accepted(two_changes):
    two_changes.keys("^C^X^C^A")
    two_changes.wait("(not jumpseat-rewrite-mode)")
    assert two_changes.text == CHANGED.replace("one =", "line1 =")


def test_a_change_that_was_accepted_and_undone_can_be_accepted_again(two_changes):
    two_changes.keys("^C^Y")
    two_changes.wait(f"(not (equal (buffer-string) {lisp(LINES)}))")
    two_changes.keys("^_")
    two_changes.wait(f"(equal (buffer-string) {lisp(LINES)})")
    two_changes.keys("^C^A")
    two_changes.wait("(not jumpseat-rewrite-mode)")
    assert two_changes.text == CHANGED


def test_the_new_text_has_the_colours_of_its_language(editing, provider):
    provider.script(answer("    if x:  # why\n        return None\n"))
    rewrite(editing)
    wait_for_rewrites(editing)
    added = "(overlay-get (car (jumpseat--hunks-find-shown)) 'after-string)"
    for word, face in (("if", "font-lock-keyword-face"), ("# w", "font-lock-comment-delimiter-face")):
        faces = editing.eval(f"""(let ((added {added}))
            (format "%S" (get-text-property (string-search {lisp(word)} added) 'face added)))""")
        assert face in faces
        assert "jumpseat-rewrite-new" in faces


def test_a_rewrite_that_changes_nothing_ends(editing, provider):
    provider.script(answer("    if x == True:\n        return 1\n"))
    rewrite(editing)
    editing.wait_for_message("The model changed nothing.")
    assert editing.eval("(list jumpseat-rewrite-mode edits)") == [None, [[None]]]


@pytest.mark.scenario("edit-reject")
def test_a_rejected_rewrite_leaves_nothing(editing, provider):
    provider.script(answer("    if x:\n        return 1\n"))
    rewrite(editing)
    wait_for_rewrites(editing)
    editing.wait_for_text("    if x:\n")
    editing.keys("^C^K")
    editing.wait_until_text_is_gone("    if x:\n")
    assert editing.text == BEFORE
    assert editing.eval("(list (buffer-modified-p) (overlays-in (point-min) (point-max)))") == [None, None]


@pytest.mark.scenario("edit-changed-meanwhile")
def test_a_rewrite_of_text_that_has_changed_is_only_shown(editing, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *completion_stream(["    if x:\n        return 1\n"])]))
    rewrite(editing)
    provider.wait_for_request(1)
    editing.eval('(progn (goto-char 1) (search-forward "return 1") (insert "9"))')
    provider.open(gate)
    wait_for_rewrites(editing)
    editing.keys("^C^A")
    editing.wait_for_message("has changed since it was sent")
    assert editing.eval('(with-current-buffer "a.py" (buffer-string))') == BEFORE.replace("1", "19")
    assert editing.eval('(with-current-buffer "*jumpseat rewrite: a.py*" (buffer-string))') == AFTER
    assert "-        return 19\n" in editing.eval('(with-current-buffer "*Diff*" (buffer-string))')


def test_changes_elsewhere_do_not_stop_a_rewrite(editing, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *completion_stream(["    if x:\n        return 1\n"])]))
    rewrite(editing)
    provider.wait_for_request(1)
    editing.eval('(progn (goto-char 1) (insert "# one\n") (goto-char (point-max)) (insert "# end\n"))')
    provider.open(gate)
    wait_for_rewrites(editing)
    editing.keys("^C^A")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == f"# one\n{AFTER}# end\n"


def test_a_rewrite_is_requested_again_with_another_instruction(editing, provider):
    provider.script(answer("    if y:\n        return 1\n"), answer("    if x:\n        return 1\n"))
    rewrite(editing, "First.")
    wait_for_rewrites(editing)
    editing.keys("^C^R")
    editing.wait("(active-minibuffer-window)")
    editing.keys("^A^KSecond.^M")
    wait_for_rewrites(editing, 2)
    editing.keys("^C^A")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == AFTER
    assert "Second." in str(provider.requests[1].json["messages"])


def test_an_empty_instruction_leaves_a_finished_rewrite_as_it_is(editing, provider):
    provider.script(answer("    if x:\n        return 1\n"))
    rewrite(editing)
    wait_for_rewrites(editing)
    editing.keys("^C^R")
    editing.wait("(active-minibuffer-window)")
    editing.keys("^A^K ^M")
    editing.wait_for_text("No instruction")
    editing.keys("^C^A")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == AFTER


def test_the_change_is_shown_while_the_answer_streams(editing, provider):
    gate = Gate()
    pieces = [chunk({"content": "```python\n    if x:\n        ret"}), gate]
    provider.script(Reply.events([*pieces, *completion_stream(["urn 1\n```"])]))
    rewrite(editing)
    editing.wait_for_text("Rewrite: C-c C-k stops")
    editing.wait_for_text("    if x:\n")
    assert "```" not in editing.screen
    provider.open(gate)
    wait_for_rewrites(editing)


@pytest.mark.parametrize("key", ["^C^A", "^C^R", "^C^D"])
def test_a_rewrite_that_is_still_being_written_cannot_be_reviewed(editing, provider, key):
    gate = Gate()
    provider.script(
        Reply.events([chunk({"content": "    if x:\n"}), gate, *completion_stream(["  return 1\n"])])
    )
    rewrite(editing)
    editing.wait_for_text("    if x:\n")
    editing.keys(key)
    editing.wait_for_text("The rewrite is still being written; C-c C-k stops it")
    assert editing.text == BEFORE
    provider.open(gate)
    wait_for_rewrites(editing)


def test_a_rewrite_is_not_lost_by_an_attempt_to_accept_it_in_a_read_only_buffer(editing, provider):
    provider.script(answer("    if x:\n        return 1\n"))
    rewrite(editing)
    wait_for_rewrites(editing)
    editing.keys("^X^Q^C^A")
    editing.wait_for_text("Buffer is read-only")
    editing.keys("^X^Q^C^A")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == AFTER


def test_a_rewrite_is_stopped_by_the_key_that_rejects(editing, provider):
    provider.script(Reply.events([chunk({"content": "    if x:\n"}), Gate()]))
    rewrite(editing)
    editing.wait_for_text("    if x:\n")
    editing.keys("^C^K")
    provider.wait_for_disconnect(1)
    editing.wait_until_text_is_gone("    if x:\n")
    assert editing.text == BEFORE


@pytest.mark.parametrize("finished", [False, True])
def test_a_rewrite_whose_buffer_is_read_again_is_dropped(editing, provider, finished):
    gate = Gate()
    provider.script(Reply.events([chunk({"content": "    if x:\n"}), gate, *completion_stream([" "])]))
    rewrite(editing)
    editing.wait_for_text("    if x:\n")
    if finished:
        provider.open(gate)
        wait_for_rewrites(editing)
    editing.eval("(revert-buffer t t)")
    editing.wait_for_message("The rewrite was discarded")
    if not finished:
        provider.wait_for_disconnect(1)
    assert editing.eval("(list jumpseat-rewrite-mode (overlays-in 1 (point-max)))") == [None, None]
    editing.keys("^C^A")
    editing.wait_for_text("C-c C-a is undefined")
    assert editing.text == BEFORE


def test_characters_of_wide_text_are_replaced_exactly(editing, provider):
    editing.eval(
        '(progn (erase-buffer) (insert "a 😀 wörd b\nc\n") (goto-char 5) (push-mark nil t t) (goto-char 9))'
    )
    provider.script(answer("wort"))
    editing.command("jumpseat-rewrite", "Deutsch.")
    wait_for_rewrites(editing)
    editing.keys("^C^A")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == "a 😀 wort b\nc\n"


def test_a_file_with_crlf_gets_no_carriage_return(editing, provider, tmp_path):
    file = tmp_path / "dos.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    provider.script(answer("ONE\r\nTWO\r\n"))
    editing.eval(f'(progn (find-file "{file}") (push-mark 1 t t) (forward-line 2))')
    editing.command("jumpseat-rewrite", "Upper.")
    wait_for_rewrites(editing)
    editing.keys("^C^A^X^S")
    editing.wait("(and (not jumpseat-rewrite-mode) (not (buffer-modified-p)))")
    assert file.read_bytes() == b"ONE\r\nTWO\r\nthree\r\n"


@pytest.mark.parametrize("command", ["jumpseat-rewrite", "jumpseat-ask"])
def test_a_rectangle_is_refused_with_advice_that_works(editing, provider, command):
    provider.script(answer("    if x:\n        return 1\n"))
    editing.eval("(progn (goto-char 1) (forward-line))")
    editing.keys("^X ^N^N")
    editing.wait("rectangle-mark-mode")
    editing.keys(f"^[x{command}^M")
    editing.wait_for_text("A rectangle cannot be used: C-x SPC makes it an ordinary region")
    assert editing.text == BEFORE
    assert editing.eval("(active-minibuffer-window)") is None
    editing.keys("^X ")
    editing.wait("(and (not rectangle-mark-mode) (use-region-p))")
    editing.command(command, "Simplify.")
    provider.wait_for_request(1)
    assert "if x == True:\\n        return 1" in str(provider.requests[0].json["messages"])


def test_a_rewrite_that_fails_shows_the_reason_below_the_text(editing, provider):
    provider.script(Reply.json({"error": {"message": "The key is wrong."}}, 401))
    rewrite(editing)
    wait_for_rewrites(editing)
    editing.wait_for_text("✗ ")
    assert editing.text == BEFORE
    editing.wait("(memq 'jumpseat-rewrite--forget pre-command-hook)")
    editing.keys("^N")
    editing.wait_until_text_is_gone("✗ ")
