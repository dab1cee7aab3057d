"""The chat buffer, against the real daemon and a scripted provider."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors import chats
from tests.editors.emacs.child import lisp, markdown_mode, running_emacs
from tests.editors.provider import WORDS, hold_answer, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("stream")
def test_an_answer_streams_below_the_question_and_the_next_question_follows(child, provider):
    gate = Gate()
    provider.script(hold_answer("Hel", "lo.", gate=gate))
    child.ask("Say hello.")
    child.wait_for_text("Hello.")
    child.wait_for_text("fake:fake-model · answering")
    child.wait_for_text("C-c C-k stops")

    provider.open(gate)
    child.wait_until_idle()
    child.wait_for_text("Hello. End.")
    head, _, rest = child.text.partition("\n\n")
    assert head.startswith("---\nmodel: fake:fake-model\nconversation: ")
    assert rest == "## Me\n\nSay hello.\n\n## Assistant\n\nHello. End.\n\n## Me\n\n"
    child.wait_for_text("## Assistant fake:fake-model · 10 → 5 tokens")
    child.wait_for_text("C-c C-c sends")
    assert child.messages == []


@pytest.mark.scenario("stop-after-first-token")
def test_a_stopped_answer_keeps_its_text_and_can_be_continued(child, provider):
    chats.check_answer_stopped_in_the_middle(child, provider)


@pytest.mark.scenario("stop-before-first-token")
def test_an_answer_stopped_while_the_question_is_parsed_leaves_the_question(child, provider):
    provider.script(Reply.events(WORDS))
    child.eval('(progn (insert "A slow one.") (jumpseat-send) (jumpseat-stop))')
    child.wait_until_idle()
    assert child.text == "## Me\n\nA slow one."
    assert provider.requests == []

    child.send()
    child.wait("jumpseat-send--turn")
    child.wait_until_idle()
    assert child.text.count("## Assistant") == 1


@pytest.mark.scenario("stop-before-first-token")
def test_a_request_that_waits_for_the_provider_is_stopped_too(child, provider):
    chats.check_answer_stopped_before_it_begins(child, provider)


@pytest.mark.scenario("thinking")
def test_thinking_is_folded_and_sent_back_as_thinking(child, provider):
    chats.check_thinking_is_folded(child, provider)
    child.keys("^C^T")
    child.wait_for_text("Let me think.")
    child.keys("^C^T")
    child.wait_until_text_is_gone("Let me think.")
    chats.check_thinking_is_sent_back(child, provider)


@pytest.mark.parametrize("shown", [False, True])
def test_thinking_that_ends_with_blank_lines_stays_folded_or_shown(child, provider, shown):
    gate = Gate()
    thinking = chunk({"reasoning_content": "Let me think. \n\n"})
    provider.script(Reply.events([thinking, chunk({"content": "Y"}), gate, *completion_stream(["es."])]))
    child.ask("Is it?")
    child.wait_for_text("▸ Thinking (1 line)\n\nY")
    if shown:
        child.keys("^C^T")
        child.wait_for_text("Let me think.")
    provider.open(gate)
    child.wait_until_idle()
    child.wait_for_text("Yes.")
    if shown:
        child.wait_for_text("Let me think.\n\n</details>\n\nYes.")
        child.keys("^C^T")
    child.wait_for_text("▸ Thinking (1 line)\n\nYes.")
    assert "Let me think.\n\n</details>\n\nYes." in child.text


def test_a_line_of_the_answer_that_looks_like_a_heading_stays_in_the_answer(child, provider):
    chats.check_line_that_looks_like_a_heading(child, provider)


def test_an_unfinished_answer_cannot_speak_for_the_user(child, provider):
    chats.check_unfinished_answer_with_a_heading(child, provider)


def test_an_empty_answer_is_reported(child, provider):
    chats.check_empty_answer(child, provider)


def test_an_answer_and_the_text_before_it_are_separate_steps_of_undo(child, provider):
    gate = Gate()
    provider.script(hold_answer("One ", "two ", gate=gate))
    child.keys("My question.")
    child.wait('(string-suffix-p "question." (buffer-string))')
    child.send()
    child.wait_for_text("One two")
    provider.open(gate)
    child.wait_until_idle()
    child.keys("^_")
    child.wait('(equal (buffer-string) "## Me\n\nMy question.")')
    child.keys("^_")
    child.wait('(equal (buffer-string) "## Me\n\n")')


def test_an_answer_is_one_step_of_undo_below_front_matter_too(child, provider):
    provider.script(Reply.events(WORDS))
    before = "---\nmodel: fake:fake-model\n---\n\n## Me\n\nMy question."
    child.eval(f"(progn (erase-buffer) (insert {lisp(before)}))")
    child.send()
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    child.wait('(save-excursion (goto-char 1) (search-forward "conversation: " nil t))')
    child.keys("^_")
    child.wait_until_text_is_gone("Hello there.")
    assert child.text == before


def test_an_edit_of_the_user_while_an_answer_streams_is_its_own_step_of_undo(child, provider):
    gate = chats.begin_answer(child, provider, "One ")
    child.wait('(save-excursion (goto-char (point-min)) (looking-at "---"))')
    child.eval('(progn (goto-char (point-min)) (search-forward "Question") (beginning-of-line))')
    child.keys("Mine: ")
    child.wait_for_text("Mine: Question.")
    provider.open(gate)
    child.wait_until_idle()
    assert "Mine: Question." in child.text
    assert "One  End." in child.text
    child.keys("^_")
    child.wait_until_text_is_gone("End.")
    assert "Mine: Question." in child.text
    child.keys("^_")
    child.wait_until_text_is_gone("Mine: ")
    assert "One" in child.text


def test_a_window_follows_only_if_its_point_was_at_the_end(child, provider):
    gate = Gate()
    lines = "".join(f"line {number}\n" for number in range(60))
    provider.script(Reply.events([chunk({"content": "start\n"}), gate, *completion_stream([lines])]))
    child.ask("Many lines.")
    child.wait_for_text("start")
    # Split the window at the beginning of the chat, and go to the end in one of the two windows.
    child.keys("^[<^X2^[>")
    child.wait("(and (cdr (window-list)) (eobp))")
    provider.open(gate)
    child.wait_until_idle()
    points = child.eval("(mapcar #'window-point (list (selected-window) (next-window)))")
    assert points == [child.eval("(point-max)"), 1]


def test_text_typed_at_the_end_while_an_answer_streams_becomes_the_next_question(child, provider):
    gate = chats.begin_answer(child, provider, "One")
    child.keys(" next?")
    child.wait_for_text("One next?")
    provider.open(gate)
    child.wait_until_idle()
    child.keys(" More")
    child.wait_for_text("next? More")
    assert child.text.endswith("## Assistant\n\nOne End.\n\n## Me\n\n next? More")


@pytest.mark.scenario("opaque-data")
def test_a_second_turn_keeps_opaque_data_after_an_edit_elsewhere_in_the_buffer(child, provider):
    def replace(old, new):
        child.eval(f'(save-excursion (goto-char 1) (search-forward "{old}") (replace-match "{new}" t t))')

    def origin():
        child.eval("""(progn
            (setq parsed nil)
            (jumpseat--transcript-parse (jumpseat--transcript-text)
                                       (lambda (_ result) (setq parsed result))))""")
        child.wait("parsed")
        answer = "(elt (plist-get (elt (plist-get parsed :messages) 1) :content) 1)"
        return child.eval(f"(jumpseat--get {answer} :origin)")

    chats.check_opaque_data(child, provider, replace, origin)


@pytest.mark.scenario("two-chats")
def test_two_chats_stream_concurrently_into_their_own_buffers(child, provider):
    gates = Gate(), Gate()
    provider.script(hold_answer("alpha", gate=gates[0]), hold_answer("beta", gate=gates[1]))
    child.ask("First.")
    child.wait_for_text("alpha")
    child.keys("^U")
    child.command("jumpseat")
    child.wait('(equal (buffer-name) "*jumpseat*<2>")')
    child.ask("Second.")
    child.wait_for_text("beta")
    for gate in gates:
        provider.open(gate)
    child.wait_until_idle()
    assert "beta End." in child.text
    child.command("previous-buffer")
    child.wait('(equal (buffer-name) "*jumpseat*")')
    child.wait_until_idle()
    assert "alpha End." in child.text
    assert "beta" not in child.text


def test_an_error_is_below_the_question_which_can_be_sent_again(child, provider):
    chats.check_error(child, provider)


def test_the_cursor_is_drawn_before_an_error_or_model_that_is_shown_after_the_text(child, provider):
    provider.script(Reply.json({"error": {"message": "The key is wrong."}}, 401), Reply.events(WORDS))
    child.ask("Hello?")
    child.wait_for_text("✗ ")
    child.wait_for_cursor_after("Hello?")

    child.send()
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    child.keys("^C^P^C^P^E")
    child.wait_for_cursor_after("## Assistant")


def test_a_partial_answer_stays_when_the_connection_breaks(child, provider):
    chats.check_broken_connection(child, provider)


def test_a_question_whose_answer_failed_halfway_is_sent_again_by_the_same_key(child, provider):
    provider.script(Reply.events([chunk({"content": "Half"})]).close_after(), Reply.events(WORDS))
    child.ask("Hello?")
    child.wait_for_text("✗ ")
    child.wait_until_idle()
    child.send()
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert "✗" not in child.screen
    assert child.text.endswith("## Me\n\nHello?\n\n## Assistant\n\nHello there.\n\n## Me\n\n")
    assert list_sent_texts(provider, 1) == ["Hello?"]
    child.keys("^_")
    child.wait_until_text_is_gone("there.")
    child.keys("^_")
    child.wait('(string-suffix-p "## Me\n\nHello?\n\n## Assistant\n\nHalf\n\n## Me\n\n" (buffer-string))')


def test_a_chat_has_a_menu(child, provider):
    child.wait_for_text("Jumpseat Help")
    child.keys("^[`")
    child.wait_for_text("Menu bar")
    child.keys("jN")
    child.wait("(and (not (active-minibuffer-window)) (= 2 (length (jumpseat--chat-list))))")


def test_a_chat_without_a_question_is_not_sent(child, provider):
    child.keys("^C^C")
    child.wait_for_message("There is no question")
    assert provider.requests == []


def test_front_matter_that_cannot_be_read_is_an_error_that_names_the_line(child, provider):
    child.eval('(progn (goto-char 1) (insert "---\nmodel: [\n---\n"))')
    child.ask("Hello?")
    child.wait_for_text("✗ ")
    child.wait_until_idle()
    assert "line" in child.screen
    assert provider.requests == []


def test_a_buffer_that_is_killed_stops_its_answer(child, provider):
    provider.script(hold_answer("Half", gate=Gate()))
    child.ask("Hello?")
    child.wait_for_text("Half")
    child.command("kill-current-buffer")
    provider.wait_for_disconnect(1)
    assert child.eval("(length (jumpseat--chat-list))") == 0


def test_without_markdown_mode_headings_and_the_front_matter_have_faces(child, provider):
    provider.script(Reply.events(completion_stream(["Some `code`.\n"])))
    child.ask("Hello?")
    child.wait_for_text("Some `code`.")
    child.wait_until_idle()
    face = (
        "(progn (goto-char 1) (search-forward %s) (font-lock-ensure) (get-text-property (1- (point)) 'face))"
    )
    assert child.eval("major-mode") == "jumpseat-plain-mode"
    assert child.eval(face % '"## Assistant"') == "font-lock-function-name-face"
    assert child.eval(face % '"`code`"') == "font-lock-constant-face"
    assert child.eval(face % '"model:"') == "font-lock-keyword-face"


def test_the_heading_of_an_answer_has_its_face_from_the_start(child, provider):
    provider.script(Reply.events([chunk({"content": "Half"}), Gate()]))
    child.ask("Hello?")
    child.wait_for_text("Half")
    heading = '(save-excursion (goto-char 1) (search-forward "## Assistant") (match-beginning 0))'
    child.wait(f"(eq (get-text-property {heading} 'face) 'font-lock-function-name-face)")


def test_a_chat_uses_an_installed_markdown_mode_and_keeps_its_own_keys(home, package, provider):
    provider.script(Reply.events(completion_stream(["Some **bold** text.\n\n```python\nx = 1\n```"])))
    with running_emacs(home, package=package, before=markdown_mode()) as child:
        child.command("jumpseat")
        child.wait("(derived-mode-p 'markdown-mode)")
        child.ask("Hello?")
        child.wait_for_text("Some **bold** text.")
        child.wait_until_idle()
        assert child.text.endswith("\n```\n\n## Me\n\n")
        face = """(progn (goto-char 1) (search-forward "bold") (font-lock-ensure)
                         (format "%S" (get-text-property (1- (point)) 'face)))"""
        assert "markdown-bold-face" in child.eval(face)
        assert child.eval('(key-binding (kbd "C-c C-c"))') == "jumpseat-send"
        assert child.eval('(key-binding (kbd "C-c C-k"))') == "jumpseat-stop"


def test_a_change_of_the_front_matter_that_fails_lets_the_next_ones_run(child):
    child.eval("""(progn
        (jumpseat--transcript-update (lambda (_now) (error "Broken change")))
        (jumpseat--transcript-when-settled (lambda () (error "Broken wait")))
        (jumpseat--transcript-update (lambda (now) (append '(:model "fake:other-model") now))))""")
    child.wait_for_text("model: fake:other-model")
    child.wait_for_message("Broken change")
    child.wait("(not jumpseat-transcript--updating)")
    child.eval('(jumpseat--transcript-update (lambda (now) (append \'(:system "Be brief.") now)))')
    child.wait_for_text("system: Be brief.")
