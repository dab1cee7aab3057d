"""Several rewrites in one buffer, their options, and the ways to compare and merge them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import Child, lisp, running_emacs
from tests.editors.provider import CHATS, MODELS, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

TEXT = "one = 1\ntwo = 2\nthree = 3\nfour = 4\nfive = 5\n"


def answer(text: str, gate: Gate | None = None) -> Reply:
    pieces = completion_stream([text])
    return Reply.events([gate, *pieces] if gate else pieces)


@pytest.fixture
def editing(home: Path, package: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """An Emacs with a Python file."""
    write_config(home, provider.base_url)
    file = tmp_path / "a.py"
    file.write_text(TEXT)
    with running_emacs(home, str(file), package=package) as child:
        child.eval("""(progn (setq edits nil)
            (add-hook 'jumpseat-rewrite-ended-functions (lambda (ready) (push (list ready) edits))))""")
        yield child


def rewrite(child: Child, line: int, instruction: str) -> None:
    """Rewrite one line."""
    child.eval(f"(progn (goto-char 1) (forward-line {line - 1}))")
    child.command("jumpseat-rewrite", instruction)


def wait_for_rewrites(child: Child, number: int) -> None:
    """Wait until this number of rewrites has been written."""
    child.wait(f"(= {number} (length edits))")


@pytest.fixture
def two_rewrites(editing: Child, provider: ThreadedUpstream) -> Child:
    """An Emacs with a rewrite of the first line and one of the fourth, and point at the first."""
    provider.script(answer("uno = 1\n"))
    rewrite(editing, 1, "Spanish.")
    wait_for_rewrites(editing, 1)
    provider.script(answer("vier = 4\n"))
    rewrite(editing, 4, "German.")
    wait_for_rewrites(editing, 2)
    editing.eval("(goto-char 1)")
    return editing


@pytest.mark.scenario("edits")
def test_two_rewrites_are_written_at_the_same_time_and_settled_separately(editing, provider):
    gates = Gate(), Gate()
    provider.script(answer("uno = 1\n", gates[0]))
    rewrite(editing, 1, "Spanish.")
    provider.wait_for_request(1)
    provider.script(answer("vier = 4\n", gates[1]))
    rewrite(editing, 4, "German.")
    provider.wait_for_request(2)
    editing.wait_for_text("Rewriting: Spanish. [Stop]")
    editing.wait_for_text("Rewriting: German. [Stop]")

    provider.open(gates[1])
    wait_for_rewrites(editing, 1)
    editing.wait_for_text("four = 4\nvier = 4")
    editing.wait_for_text("Rewriting: Spanish. [Stop]")
    editing.wait_for_text("Rewrite 2/2: C-c C-a accept, C-c C-k reject")
    provider.open(gates[0])
    wait_for_rewrites(editing, 2)
    editing.wait_for_text("one = 1\nuno = 1")
    assert editing.text == TEXT
    editing.keys("^C^A")
    editing.wait('(string-search "vier" (buffer-string))')
    editing.keys("^C^K")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == TEXT.replace("four", "vier")
    editing.wait_until_text_is_gone("Spanish.")


@pytest.mark.scenario("edits")
def test_the_keys_move_among_rewrites(two_rewrites):
    two_rewrites.wait_for_text("Rewrite 1/2: ")
    two_rewrites.keys("^C^[n")
    two_rewrites.wait_for_text("Rewrite 2/2: ")
    assert two_rewrites.eval("(line-number-at-pos)") == 4
    two_rewrites.keys("^C^[n")
    two_rewrites.wait_for_text("There is no next rewrite")
    two_rewrites.keys("^C^[p")
    two_rewrites.wait_for_text("Rewrite 1/2: ")
    two_rewrites.keys("^C^A")
    two_rewrites.wait_for_text("Rewrite: C-c C-a accept")
    assert two_rewrites.text == TEXT.replace("one", "uno")
    two_rewrites.keys("^C^A")
    two_rewrites.wait("(not jumpseat-rewrite-mode)")
    assert two_rewrites.text == TEXT.replace("one", "uno").replace("four", "vier")
    two_rewrites.keys("^_^_")
    two_rewrites.wait(f"(equal (buffer-string) {lisp(TEXT)})")


def test_stopping_one_rewrite_leaves_the_other(editing, provider):
    provider.script(answer("uno = 1\n", Gate()))
    rewrite(editing, 1, "Spanish.")
    provider.wait_for_request(1)
    provider.script(answer("vier = 4\n"))
    rewrite(editing, 4, "German.")
    wait_for_rewrites(editing, 1)
    editing.eval("(goto-char 1)")
    editing.keys("^C^K")
    provider.wait_for_disconnect(1)
    editing.wait_until_text_is_gone("Spanish.")
    editing.wait_for_text("four = 4\nvier = 4")
    editing.keys("^C^A")
    editing.wait("(not jumpseat-rewrite-mode)")
    assert editing.text == TEXT.replace("four", "vier")


def test_text_with_an_open_rewrite_is_not_rewritten_again(two_rewrites, provider):
    two_rewrites.eval("(progn (goto-char 1) (push-mark 12 t t))")
    two_rewrites.command("jumpseat-rewrite", "French.")
    two_rewrites.wait_for_text("This text has an open rewrite: accept or reject it first")
    assert len(provider.requests) == 2
    assert two_rewrites.eval("(length jumpseat--edit-list)") == 2


def test_a_button_above_a_rewrite_is_pressed_with_the_mouse(two_rewrites):
    two_rewrites.command("xterm-mouse-mode")
    two_rewrites.wait_for_text("Rewrite: German. [Accept] [Reject] [Again] [More]")
    lines = two_rewrites.screen.split("\n")
    row = next(number for number, line in enumerate(lines) if "German." in line)
    column = lines[row].index("[Accept]") + 3
    two_rewrites.keys(f"^[[<0;{column};{row + 1}M^[[<0;{column};{row + 1}m")
    two_rewrites.wait('(string-search "vier" (buffer-string))')
    assert two_rewrites.text == TEXT.replace("four", "vier")
    two_rewrites.wait_for_text("one = 1\nuno = 1")


def test_the_mouse_shows_a_menu_on_a_change(two_rewrites):
    two_rewrites.command("xterm-mouse-mode")
    two_rewrites.wait_for_text("vier = 4")
    two_rewrites.eval(
        "(fset 'popup-menu (lambda (menu &rest _) (setq popped (list menu (line-number-at-pos)))))"
    )
    lines = two_rewrites.screen.split("\n")
    row = next(number for number, line in enumerate(lines) if "four = 4" in line)
    two_rewrites.keys(f"^[[<2;3;{row + 1}M^[[<2;3;{row + 1}m")
    two_rewrites.wait("(bound-and-true-p popped)")
    assert two_rewrites.eval("(list (eq (car popped) jumpseat--rewrite-menu) (cadr popped))") == [True, 4]


def test_a_new_line_at_the_start_of_the_text_is_shown_below_the_buttons(editing, provider):
    provider.script(answer("# first\none = 1\n"))
    rewrite(editing, 1, "Comment.")
    wait_for_rewrites(editing, 1)
    editing.wait_for_text("[More]\n# first\none = 1")


@pytest.mark.scenario("edit-compare")
def test_the_review_goes_on_after_ediff(two_rewrites):
    two_rewrites.keys("^C^E")
    two_rewrites.wait('(get-buffer "*Ediff Control Panel*")')
    two_rewrites.wait_for_text("Rewrite: Spanish.")
    assert "uno" in two_rewrites.eval('(with-current-buffer "*jumpseat rewrite: a.py*" (buffer-string))')
    two_rewrites.keys("qy")
    two_rewrites.wait('(not (get-buffer "*Ediff Control Panel*"))')
    two_rewrites.wait_for_text("one = 1\nuno = 1")
    assert two_rewrites.eval('(get-buffer "*jumpseat rewrite: a.py*")') is None
    two_rewrites.keys("^C^A")
    two_rewrites.wait('(string-prefix-p "uno" (buffer-string))')


@pytest.mark.scenario("edit-compare")
def test_changes_that_are_copied_in_ediff_end_the_rewrite(two_rewrites):
    two_rewrites.keys("^C^E")
    two_rewrites.wait('(get-buffer "*Ediff Control Panel*")')
    two_rewrites.keys("nb")
    two_rewrites.wait('(string-prefix-p "uno" (with-current-buffer "a.py" (buffer-string)))')
    two_rewrites.keys("qy")
    two_rewrites.wait('(with-current-buffer "a.py" (= 1 (length jumpseat--edit-list)))')
    assert two_rewrites.eval('(with-current-buffer "a.py" (buffer-string))') == TEXT.replace("one", "uno")


@pytest.mark.scenario("edit-compare")
def test_the_changes_become_conflicts_that_one_undo_removes(two_rewrites):
    two_rewrites.keys("^C^S")
    two_rewrites.wait("(bound-and-true-p smerge-mode)")
    conflict = "<<<<<<< current\none = 1\n=======\nuno = 1\n>>>>>>> rewrite\n"
    assert two_rewrites.text == TEXT.replace("one = 1\n", conflict)
    assert two_rewrites.eval("(length jumpseat--edit-list)") == 1
    two_rewrites.eval("(smerge-keep-lower)")
    assert two_rewrites.text == TEXT.replace("one", "uno")
    two_rewrites.eval("(undo-boundary)")
    # The first step undoes `smerge-keep-lower`, the second one the conflicts.
    two_rewrites.keys("^_^_")
    two_rewrites.wait(f"(equal (buffer-string) {lisp(TEXT)})")


def test_conflicts_consist_of_whole_lines(editing, provider):
    provider.script(answer("zwei"))
    editing.eval(
        '(progn (goto-char (point-max)) (insert "a two b") (backward-char 2) (push-mark (- (point) 3) t t))'
    )
    editing.command("jumpseat-rewrite", "German.")
    wait_for_rewrites(editing, 1)
    editing.keys("^C^S")
    editing.wait("(bound-and-true-p smerge-mode)")
    assert editing.text == f"{TEXT}<<<<<<< current\na two b\n=======\na zwei b\n>>>>>>> rewrite\n"


def test_the_minibuffer_remembers_instructions_even_after_a_restart(editing, provider, home, package):
    provider.script(answer("uno = 1\n"))
    editing.eval("(savehist-mode 1)")
    rewrite(editing, 1, "Spanish.")
    wait_for_rewrites(editing, 1)
    editing.eval("(savehist-save)")
    with running_emacs(home, package=package) as other:
        other.eval("(savehist-mode 1)")
        assert other.eval("jumpseat-rewrite-history") == ["Spanish."]
        other.eval('(progn (switch-to-buffer "notes") (insert "one\\n") (goto-char 1))')
        other.keys("^[xjumpseat-rewrite^M")
        other.wait("(active-minibuffer-window)")
        other.keys("^[p")
        other.wait_for_text("Rewrite how? Spanish.")
        other.keys("^G")


@pytest.mark.scenario("edit-options")
def test_a_rewrite_has_its_own_model_system_prompt_and_context(editing, provider, tmp_path):
    provider.default(MODELS, path="/v1/models")
    (tmp_path / "notes.txt").write_text("Count in Latin.\n")
    provider.script(answer("unus = 1\n"), answer("duo = 1\n"), path=CHATS)
    editing.eval("(goto-char 1)")
    editing.keys("^[xjumpseat-rewrite-with^M")
    editing.wait_for_text("m model default")
    editing.keys("m")
    editing.answer("fake:other-model")
    editing.wait_for_text("m model fake:other-model")
    editing.keys("s")
    editing.answer("Be a Roman.")
    editing.wait_for_text("s system prompt Be a Roman.")
    editing.keys("f")
    editing.answer("^A^K" + str(tmp_path / "notes.txt"))
    editing.wait_for_text("notes.txt")
    editing.keys("^M")
    editing.answer("Rename.")
    wait_for_rewrites(editing, 1)
    editing.wait_for_text("Rewrite: Rename. (fake:other-model)")
    editing.keys("^C^R")
    editing.wait("(active-minibuffer-window)")
    editing.keys("^A^KAgain.^M")
    wait_for_rewrites(editing, 2)
    for request in [each for each in provider.requests if each.method == "POST"][:2]:
        assert request.json["model"] == "other-model"
        system, question = (str(each["content"]) for each in request.json["messages"])
        assert system.startswith("Be a Roman.")
        assert question.index("Count in Latin.") < question.index("one = 1")
    editing.eval("(goto-char 1)")
    editing.keys("^C^O")
    editing.wait_for_text("s system prompt Be a Roman.")
    editing.keys("x")
    editing.wait_for_text("x clear: none")
    editing.keys("^G")
    provider.script(answer("drei = 3\n"), path=CHATS)
    rewrite(editing, 3, "Plain.")
    wait_for_rewrites(editing, 3)
    assert provider.requests[-1].json["model"] == "fake-model"
