"""Branches of chats in Org: headlines divide the conversation."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import chunk
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import Child, lisp
from tests.editors.provider import hold_answer, list_sent_texts, script_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def ask(child: Child, question: str, answer: str) -> None:
    """Ask at point, and wait for the answer."""
    child.eval(f"(insert {lisp(question)})")
    child.send()
    wait_for(child, answer)
    child.wait_until_idle()


def wait_for(child: Child, text: str) -> None:
    """Wait until the chat contains this text, which may be outside of the window."""
    child.wait(f"(string-search {lisp(text)} (buffer-string))")


def start_branch(child: Child, words: str, title: str) -> None:
    """Start a branch at the line with these words."""
    go_to(child, words)
    child.keys("^C^[b")
    child.answer(title)
    child.wait(f"(save-excursion (goto-char 1) (search-forward {lisp(f'* {title}')} nil t))")


def go_to(child: Child, words: str) -> None:
    child.eval(f"(progn (goto-char 1) (search-forward {lisp(words)}))")


def conversation(child: Child) -> str:
    """Return the chat below its front matter, without the ids of conversations."""
    lines = child.text.partition(":END:\n\n")[2].splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(":conversation:"))


@pytest.mark.scenario("org-branches")
def test_branches_continue_the_conversation_from_their_headline(org, provider):
    script_texts(provider, "Rust or Go.", "loop {}", "chan", "Fine.", "break;")
    ask(org, "Which language?", "Rust or Go.")
    start_branch(org, "Rust or Go.", "Rust")
    ask(org, "Show me a loop.", "loop {}")
    start_branch(org, "Rust or Go.", "Go")
    ask(org, "Show me a channel.", "chan")
    org.eval("(goto-char (point-max))")
    ask(org, "Thanks.", "Fine.")
    go_to(org, "loop {}\n\n*** Me\n\n")
    ask(org, "And out of it?", "break;")

    start = ["Which language?", "Rust or Go."]
    assert [list_sent_texts(provider, number) for number in range(5)] == [
        start[:1],
        [*start, "Show me a loop."],
        [*start, "Show me a channel."],
        [*start, "Thanks."],
        [*start, "Show me a loop.", "loop {}", "And out of it?"],
    ]
    drawer = ":PROPERTIES:\n:END:\n"
    assert conversation(org) == (
        "* Me\n\nWhich language?\n\n* Assistant\n\nRust or Go.\n\n"
        f"** Rust\n{drawer}\n*** Me\n\nShow me a loop.\n\n*** Assistant\n\nloop {{}}\n\n"
        "*** Me\n\nAnd out of it?\n\n*** Assistant\n\nbreak;\n\n*** Me\n\n\n"
        f"** Go\n{drawer}\n*** Me\n\nShow me a channel.\n\n*** Assistant\n\nchan\n\n*** Me\n\n\n"
        "* Me\n\nThanks.\n\n* Assistant\n\nFine.\n\n* Me\n\n"
    )
    assert org.messages == []


@pytest.mark.scenario("org-branches")
def test_each_branch_is_a_kept_conversation_of_its_own(org, provider):
    script_texts(provider, "One.", "Two.", "Three.", "Four.", "Five.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    ask(org, "B", "Two.")
    start_branch(org, "One.", "Other")
    ask(org, "C", "Three.")
    go_to(org, "Two.\n\n*** Me\n\n")
    ask(org, "D", "Four.")
    org.eval("(goto-char (point-max))")
    ask(org, "E", "Five.")

    ids = [line.split()[1] for line in org.text.splitlines() if line.startswith(":conversation:")]
    assert len(set(ids)) == 3
    for number, words in enumerate(["Five.", "Four.", "Three."]):
        org.eval("(setq kept nil)")
        org.eval(
            f'(jumpseat--rpc-request "conversations/get" \'(:id {lisp(ids[number])})'
            " (lambda (_err result) (setq kept result)))"
        )
        org.wait("kept")
        last = "(car (last (append (plist-get kept :messages) nil)))"
        assert org.eval(f"(plist-get (elt (plist-get {last} :content) 0) :text)") == words
    assert "fork" not in org.screen


@pytest.mark.scenario("org-branches")
def test_a_branch_may_have_a_model_and_settings_of_its_own(org, provider):
    script_texts(provider, "One.", "Two.", "Three.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    org.eval("""(jumpseat--transcript-update
                 (lambda (now) (append '(:settings (:temperature 0.5) :model "fake:other-model") now))
                 (lambda () (setq changed t)))""")
    org.wait("(bound-and-true-p changed)")
    assert org.eval('(jumpseat--transcript-value "model")') == "fake:other-model"
    ask(org, "B", "Two.")
    org.eval("(goto-char (point-max))")
    assert org.eval('(jumpseat--transcript-value "model")') == "fake:fake-model"
    ask(org, "C", "Three.")

    requests = [request.json for request in provider.requests if request.method == "POST"]
    asked = [(request["model"], request.get("temperature")) for request in requests]
    assert asked == [("fake-model", None), ("other-model", 0.5), ("fake-model", None)]


@pytest.mark.scenario("org-branches")
def test_the_answer_in_a_branch_leaves_point_and_the_headline_below_alone(org, provider):
    gate = Gate()
    script_texts(provider, "One.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    provider.script(hold_answer("Two ", "words.", gate=gate))
    org.eval('(insert "B")')
    org.send()
    org.wait_for_text("Two words.")
    before = org.eval('(list (point) (= (point) (save-excursion (search-backward "words.") (match-end 0))))')
    assert before[1]
    provider.open(gate)
    org.wait_until_idle()
    assert org.eval("(buffer-substring (- (point) 16) (+ (point) 6))") == ". End.\n\n*** Me\n\n\n* Me\n"
    assert org.eval("(buffer-substring (point) (+ (point) 6))") == "\n* Me\n"

    org.keys("^_")
    org.wait('(not (string-search "words." (buffer-string)))')
    assert conversation(org).endswith("*** Me\n\nB\n* Me\n\n")


@pytest.mark.scenario("org-branches")
def test_a_question_in_a_branch_is_asked_again_and_keeps_its_variants(org, provider):
    script_texts(provider, "One.", "Two.", "Three.", "Four.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    ask(org, "B", "Two.")
    go_to(org, "\nB\n")
    org.keys("^C^A")
    org.wait_for_text("Three.")
    org.wait_until_idle()
    org.wait_for_text("*** Me variant 2 of 2")
    assert "Two." not in org.text
    below = org.text.partition("Three.")[2]
    assert below == "\n\n*** Me\n\n\n* Me\n\n"

    go_to(org, "\nB\n")
    org.keys("^C^[p")
    org.wait_for_text("Two.")
    assert org.text.partition("Two.")[2] == below
    assert list_sent_texts(provider, 2) == ["A", "One.", "B"]


@pytest.mark.scenario("org-branches")
def test_asking_again_at_a_headline_repeats_the_question_of_its_branch(org, provider):
    script_texts(provider, "One.", "Two.", "Three.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    ask(org, "B", "Two.")
    go_to(org, "** Side")
    org.keys("^C^A")
    org.wait_for_text("Three.")
    org.wait_until_idle()
    assert list_sent_texts(provider, 2) == ["A", "One.", "B"]
    assert "One." in org.text


@pytest.mark.scenario("org-branches")
def test_a_failed_question_in_a_branch_is_explained_there(org, provider):
    script_texts(provider, "One.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    go_to(org, "** Side\n")
    org.eval('(insert ":PROPERTIES:\\n:model: [\\n:END:\\n")')
    org.eval('(progn (search-forward "*** Me\\n\\n") (insert "B"))')
    org.eval("(recenter)")
    org.send()
    org.wait_for_text("✗ ")
    org.wait_until_idle()
    # Newer releases of Emacs have a margin for the marks of Flymake.
    rows = [row.strip() for row in org.screen.splitlines()]
    assert rows[rows.index("B") + 1].startswith("✗ ")


@pytest.mark.scenario("org-branches")
def test_the_text_below_a_headline_is_the_first_question_of_a_branch(org, provider):
    script_texts(provider, "One.", "Three.", "Four.", "Five.")
    ask(org, "A", "One.")
    drawer = ":PROPERTIES:\n:settings: {temperature: 0.5}\n:END:\n"
    go_to(org, "One.\n\n")
    branch = f"** Side\n{drawer}B\n*** Assistant\nTwo.\n*** Me\nC\n\n"
    org.eval(f"(insert {lisp(branch)})")
    go_to(org, "\nC")
    org.send()
    wait_for(org, "Three.")
    org.wait_until_idle()
    assert list_sent_texts(provider, 1) == ["A", "One.", "B", "Two.", "C"]

    go_to(org, "B\n")
    org.keys("^C^A")
    wait_for(org, "Four.")
    org.wait_until_idle()
    assert list_sent_texts(provider, 2) == ["A", "One.", "B"]
    assert ":temperature: 0.5" not in org.text
    assert "** Side\n:PROPERTIES:\n:settings: {temperature: 0.5}\n:conversation: " in org.text
    go_to(org, ":END:\n*** Me\n\nB")
    org.keys("^C^[p")
    wait_for(org, "Three.")
    assert org.text.endswith("Three.\n\n*** Me\n\n\n* Me\n\n")


@pytest.mark.scenario("org-branches")
def test_a_reference_below_a_headline_leaves_the_headline_alone(org, provider, tmp_path):
    file = tmp_path / "x.py"
    file.write_text("x = 1\n")
    script_texts(provider, "One.", "Two.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    go_to(org, "** Side\n")
    question = f":PROPERTIES:\n:system: Be brief\n:END:\nB @file:{file}"
    org.eval(f"(insert {lisp(question)})")
    org.send()
    wait_for(org, "Two.")
    org.wait_until_idle()
    assert "** Side\n:PROPERTIES:\n:system: Be brief\n" in org.text
    assert "x = 1" in list_sent_texts(provider, 1)[-1]


@pytest.mark.scenario("org-branches")
def test_a_slash_word_in_a_branch_removes_only_itself(org, provider):
    script_texts(provider, "One.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    org.eval('(insert "/model fake:other-model\n**** Idea\n***** Me\nDraft")')
    go_to(org, "/model")
    org.send()
    org.wait('(equal (jumpseat--transcript-value "model") "fake:other-model")')
    assert "\n**** Idea\n***** Me\nDraft\n" in org.text
    assert "/model" not in org.text
    # Only the first question was sent.
    assert [request.method for request in provider.requests].count("POST") == 1


@pytest.mark.scenario("org-branches")
def test_a_failed_answer_in_a_branch_is_asked_again_only_there(org, provider):
    script_texts(provider, "One.")
    provider.script(Reply.events([chunk({"content": "Partial"})]))
    script_texts(provider, "Two.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    org.eval('(insert "B")')
    org.send()
    org.wait_for_text("✗ ")
    org.wait_until_idle()
    org.eval("(goto-char (point-max))")
    org.send()
    org.wait_for_message("There is no question")
    assert "One." in org.text
    assert "Partial" in org.text
    go_to(org, "Partial")
    org.send()
    wait_for(org, "Two.")
    org.wait_until_idle()
    assert "Partial" not in org.text
    assert list_sent_texts(provider, 2) == ["A", "One.", "B"]


@pytest.mark.scenario("org-branches")
def test_variants_are_found_after_a_question_and_another_branch_were_edited(org, provider):
    script_texts(provider, "One.", "Old.", "New.", "Red.", "Blue.", "More.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    ask(org, "Bold", "Old.")
    org.eval('(progn (goto-char 1) (search-forward "Bold") (replace-match "Bnew"))')
    org.keys("^C^A")
    wait_for(org, "New.")
    org.wait_until_idle()
    org.eval("(goto-char (point-max))")
    ask(org, "Colour?", "Red.")
    org.keys("^C^A")
    wait_for(org, "Blue.")
    org.wait_until_idle()
    go_to(org, "New.\n\n*** Me\n\n")
    ask(org, "And?", "More.")
    go_to(org, "Colour?")
    org.keys("^C^[p")
    wait_for(org, "Red.")
    go_to(org, "Bnew")
    org.keys("^C^[p")
    wait_for(org, "Old.")
    assert "Red." in org.text


@pytest.mark.scenario("org-branches")
def test_a_branch_of_an_answer_that_is_being_written_is_refused(org, provider):
    gate = Gate()
    provider.script(hold_answer("One ", "word.", gate=gate))
    org.eval('(insert "A")')
    org.send()
    wait_for(org, "One word.")
    org.keys("^C^[b")
    org.answer("Side")
    org.wait_for_text("This answer is being written")
    provider.open(gate)
    org.wait_until_idle()
    assert "Side" not in org.text


@pytest.mark.scenario("org-branches")
def test_a_kept_conversation_of_a_branch_continues_in_its_branch(org, provider):
    script_texts(provider, "One.", "Two.", "Three.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    ask(org, "B", "Two.")
    kept = org.eval('(jumpseat--transcript-value "conversation")')
    org.eval("(goto-char (point-max))")
    ask(org, "C", "Three.")
    org.eval(f"(jumpseat-history--continue {lisp(kept)})")
    assert org.eval("(buffer-substring (- (point) 9) (1+ (point)))") == "\n*** Me\n\n\n"


@pytest.mark.scenario("org-branches")
def test_a_question_from_elsewhere_leaves_the_heading_of_a_branch_alone(org, provider):
    script_texts(provider, "One.", "Two.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    org.eval("(delete-region (point) (point-max))")
    org.command("jumpseat-ask", "B")
    wait_for(org, "Two.")
    org.wait_until_idle()
    assert "*** Me\n\n* Me\n\nB\n" in org.text
    assert list_sent_texts(provider, 1) == ["A", "One.", "B"]


@pytest.mark.scenario("org-branches")
def test_a_branch_can_be_without_the_tools_of_the_chat(org, provider):
    script_texts(provider, "One.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    changes = (
        ("(goto-char 1)", '(:daemonTools ["files/*"])'),
        ('(search-forward "** Side")', "(:daemonTools [])"),
        ('(search-forward "** Side")', '(:model "fake:other-model")'),
    )
    for place, values in changes:
        org.eval(f"""(progn (setq changed nil) (goto-char 1) {place}
                            (jumpseat--transcript-update (lambda (now) (append '{values} now))
                                                         (lambda () (setq changed t))))""")
        org.wait("changed")
    assert "** Side\n:PROPERTIES:\n:model: fake:other-model\n:tools: []\n:END:\n" in org.text
    assert ":tools: [files/*]" in org.text.partition(":END:")[0]


@pytest.mark.scenario("org-branches")
def test_a_mistake_in_a_branch_is_marked_while_point_is_in_it(org, provider):
    script_texts(provider, "One.")
    ask(org, "A", "One.")
    start_branch(org, "One.", "Side")
    go_to(org, "** Side\n")
    org.eval("""(progn (insert ":PROPERTIES:\n:settings: {temperature: 9}\n:END:\n")
                       (search-forward "*** Me") (flymake-start))""")
    org.wait("(flymake-diagnostics)")
    org.eval("(progn (goto-char (point-max)) (flymake-start))")
    org.wait("(not (flymake-diagnostics))")


def test_chats_in_markdown_have_no_branches(child):
    child.command("jumpseat-branch")
    child.wait_for_text("Only chats in Org have branches")
