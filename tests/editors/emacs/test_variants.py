"""Questions that are asked again, and the variants that are kept."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Gate
from tests.editors.emacs.child import Child
from tests.editors.provider import hold_answer, list_sent_texts, script_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def conversation(child: Child) -> str:
    """Return the text of the chat below its front matter."""
    return child.text.rpartition("\n---\n\n")[2]


def ask(child: Child, question: str, answer: str) -> None:
    child.ask(question)
    child.wait_for_text(answer)
    child.wait_until_idle()


def retry(child: Child, answer: str) -> None:
    child.keys("^C^A")
    child.wait_for_text(answer)
    child.wait_until_idle()


@pytest.mark.scenario("regenerate")
def test_a_question_that_is_asked_again_keeps_the_old_answer_as_a_variant(child, provider):
    script_texts(provider, "Red.", "Blue.")
    ask(child, "Colour?", "Red.")
    first = conversation(child)
    retry(child, "Blue.")
    assert conversation(child) == first.replace("Red.", "Blue.")
    assert list_sent_texts(provider, 1) == ["Colour?"]
    child.wait_for_text("## Me variant 2 of 2")

    child.keys("^C^[p")
    child.wait_for_text("Red.")
    child.wait_for_text("## Me variant 1 of 2")
    assert conversation(child) == first
    child.keys("^C^[p")
    child.wait_for_text("Blue.")
    child.keys("^_")
    child.wait_for_text("Red.")
    assert conversation(child) == first


@pytest.mark.scenario("edit-question")
def test_an_earlier_question_is_edited_and_the_chat_goes_on_from_there(child, provider):
    script_texts(provider, "Red.", "Because.", "Rome.", "Old.")
    ask(child, "Colour?", "Red.")
    ask(child, "Why?", "Because.")
    before = conversation(child)
    child.eval('(progn (goto-char 1) (search-forward "Colour?") (replace-match "Town?"))')
    retry(child, "Rome.")
    assert list_sent_texts(provider, 2) == ["Town?"]
    assert conversation(child) == "## Me\n\nTown?\n\n## Assistant\n\nRome.\n\n## Me\n\n"
    ask(child, "Since when?", "Old.")
    after = conversation(child)

    child.eval('(progn (goto-char 1) (search-forward "Town?"))')
    child.keys("^C^[n")
    child.wait_for_text("Because.")
    assert conversation(child) == before
    child.keys("^C^[n")
    child.wait_for_text("Since when?")
    assert conversation(child) == after


def test_no_variant_is_lost_when_a_change_of_the_variant_is_undone(child, provider):
    script_texts(provider, "Red.", "Blue.", "Sure.")
    ask(child, "Colour?", "Red.")
    retry(child, "Blue.")
    child.keys("^C^[p")
    child.wait_for_text("Red.")
    child.keys("^_")
    child.wait_for_text("Blue.")
    ask(child, "Sure?", "Sure.")
    child.eval('(progn (goto-char 1) (search-forward "Colour?"))')
    texts = set()
    for _ in range(3):
        tick = child.eval("(buffer-chars-modified-tick)")
        child.keys("^C^[n")
        child.wait(f"(/= {tick} (buffer-chars-modified-tick))")
        texts.add(conversation(child))
    blue = "## Me\n\nColour?\n\n## Assistant\n\nBlue.\n\n## Me\n\n"
    assert texts == {blue.replace("Blue.", "Red."), f"{blue}Sure?\n\n## Assistant\n\nSure.\n\n## Me\n\n"}


def test_a_retry_in_the_middle_of_an_answer_is_refused(child, provider):
    gate = Gate()
    provider.script(hold_answer("Half", gate=gate))
    child.ask("Colour?")
    child.wait_for_text("Half")
    child.keys("^C^A")
    child.wait_for_text("An answer is being written; C-c C-k stops it")
    provider.open(gate)
    child.wait_until_idle()
    assert child.text.endswith("Half End.\n\n## Me\n\n")


def test_a_question_without_variants_says_how_to_ask_again(child, provider):
    script_texts(provider, "Red.")
    ask(child, "Colour?", "Red.")
    child.keys("^C^[n")
    child.wait_for_message("This question has no other variant; C-c C-a asks it again.")


@pytest.mark.scenario("regenerate")
def test_two_variants_are_compared_with_ediff(child, provider):
    script_texts(provider, "Red.", "Blue.")
    ask(child, "Colour?", "Red.")
    retry(child, "Blue.")
    child.eval("(setq ediff-window-setup-function #'ediff-setup-windows-plain)")
    child.keys("^C^E")
    child.wait('(get-buffer "*Ediff Control Panel*")')
    texts = child.eval("""(mapcar (lambda (name) (with-current-buffer name (buffer-string)))
                                  '("*jumpseat variant 1*" "*jumpseat variant 2*"))""")
    question = "## Me\n\nColour?\n\n## Assistant\n\n"
    assert texts == [f"{question}Red.\n", f"{question}Blue.\n"]
    differences = '(with-current-buffer "*Ediff Control Panel*" ediff-number-of-differences)'
    assert child.eval(differences) == 1
