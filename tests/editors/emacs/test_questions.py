"""Questions with pieces of files, prompts and references; saved chats."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors import chats
from tests.editors.emacs.child import lisp, running_emacs
from tests.editors.provider import WORDS, list_sent_texts, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]


PROMPTS = """
[prompts.tidy]
text = "Tidy this: {{input}}"
description = "Tidy some code"
system = "Be neat."

[prompts.commit]
text = "Write a commit message."
"""


def find_file(child, path) -> None:
    child.eval(f"(find-file {lisp(str(path))})")


def wait_for_end(child, text) -> None:
    """Wait until the buffer ends with this text."""
    child.wait(f"(string-suffix-p {lisp(text)} (buffer-string))")


@pytest.mark.scenario("ask-on-selection")
def test_a_question_on_a_region_has_its_lines_with_file_and_language(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "a.py"
    file.write_text(chats.PYTHON)
    find_file(child, file)
    child.keys("^N^@^N^N")
    child.wait("(use-region-p)")
    child.command("jumpseat-ask", "Why two?")
    chats.check_question_on_two_lines(child, provider, file)


def test_a_question_is_refused_while_the_last_chat_is_answered(child, provider, tmp_path):
    file = tmp_path / "a.py"
    file.write_text(chats.PYTHON)
    gate = chats.begin_answer(child, provider, "One\n\n")
    find_file(child, file)
    child.keys("^[xjumpseat-ask^M")
    child.wait_for_text("*jumpseat* is being answered: C-c C-k stops that, C-u M-x jumpseat opens")
    child.command("jumpseat")
    provider.open(gate)
    child.wait_until_idle()
    assert child.text.endswith("## Assistant\n\nOne\n\n End.\n\n## Me\n\n")


def test_a_question_about_characters_contains_exactly_these_characters(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "a.txt"
    file.write_text("one 😀 two\nthree four\n", "utf-8")
    find_file(child, file)
    child.eval('(progn (goto-char 5) (push-mark nil t t) (search-forward "three"))')
    child.command("jumpseat-ask", "")
    child.wait_for_text("```context")
    assert "range=0:4-1:5\n😀 two\nthree\n```" in child.text
    child.ask("What is it?")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert "😀 two\nthree" in list_sent_texts(provider, 0)[0]


def test_references_become_context_blocks_in_the_question(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    find_file(child, tmp_path / "a.py")
    child.command("jumpseat")
    child.ask(f"Compare @buffer with @file:{tmp_path / 'b.py'}, please.")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    sent = str(provider.requests[0].json["messages"])
    assert sent.index("# a.py") < sent.index("# b.py") < sent.index("Compare @buffer with @file:")
    assert child.text.count("```context") == 2


def test_a_path_with_spaces_is_completed_and_sent_between_quotation_marks(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    folder = tmp_path / "my notes"
    folder.mkdir()
    (folder / "plan for today.txt").write_text("Rest.\n")
    (folder / "plan.txt").write_text("Work.\n")
    child.keys(f"Read @file:{tmp_path}/my^[^I")
    wait_for_end(child, f'@file:"{folder}/')
    child.keys("plan f^[^I")
    wait_for_end(child, f'@file:"{folder}/plan for today.txt"')
    child.keys(f', and @file:"{folder}/plan.^[^I')
    wait_for_end(child, f', and @file:"{folder}/plan.txt"')
    child.send()
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert child.text.count("```context") == 2
    (question,) = list_sent_texts(provider, 0)
    assert question.index("Rest.") < question.index("Work.")


def test_a_selection_and_diagnostics_are_references_too(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "a.txt"
    file.write_text("one two\n")
    find_file(child, file)
    child.eval("""(progn
        (add-hook 'flymake-diagnostic-functions
                  (lambda (report &rest _)
                    (funcall report (list (flymake-make-diagnostic (current-buffer) 5 8 :error "No."))))
                  nil t)
        (flymake-mode) (flymake-start))""")
    child.wait("(flymake-diagnostics)")
    child.eval("(progn (goto-char 1) (push-mark nil t t) (goto-char 4))")
    child.command("jumpseat")
    child.ask("See @selection and @diagnostics")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert "range=0:0-0:3\none\n```" in child.text
    assert "label=diagnostics\n1:5: ERROR: No.\n" in child.text


def test_a_rectangle_or_an_empty_region_is_not_sent(child, provider, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one two\n")
    find_file(child, file)
    for keys, reason in (
        ("", "@selection: Nothing is selected in the last buffer."),
        ("^X ^F", "@selection: A rectangle cannot be used: C-x SPC makes it"),
    ):
        child.keys(keys)
        child.eval("(jumpseat t)")
        child.ask("See @selection")
        child.wait_for_text(reason)
        child.wait_until_idle()
        find_file(child, file)
    assert provider.requests == []


def test_a_reference_to_a_missing_file_is_an_error_and_nothing_is_sent(child, provider):
    child.ask("Read @file:/nowhere/at/all.")
    child.wait_for_text("cannot be read")
    child.wait_until_idle()
    assert provider.requests == []


def test_a_prompt_sets_the_question_and_the_system_prompt(home, package, provider):
    write_config(home, provider.base_url, PROMPTS)
    provider.script(Reply.events(WORDS))
    with running_emacs(home, package=package) as child:
        child.command("jumpseat")
        child.ask("/tidy x=1")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert list_sent_texts(provider, 0) == ["Be neat.", "Tidy this: x=1"]
        assert "## Me\n\nTidy this: x=1\n\n## Assistant" in child.text
        assert "system: Be neat.\n" in child.text
        child.ask("/tid x=2")
        child.wait_for_text("did you mean tidy?")
        child.wait_until_idle()
    assert len(provider.requests) == 1


def test_references_files_and_prompts_are_completed(home, package, provider, tmp_path):
    write_config(home, provider.base_url, PROMPTS)
    (tmp_path / "some-file.py").write_text("")
    with running_emacs(home, package=package) as child:
        child.command("jumpseat")
        # The prompts are requested before the first slash is typed.
        child.wait("""(assoc "prompts/list" jumpseat-models--cache)""")
        words = """(progn (erase-buffer) (insert "## Me\n\n" %s)
             (let ((found (jumpseat--complete-at-point)))
               (append (and found (all-completions (buffer-substring (car found) (cadr found))
                                                   (nth 2 found))) nil)))"""
        assert child.eval(words % '"see @b"') == ["@buffer"]
        assert child.eval(words % lisp(f"see @file:{tmp_path}/some")) == ["some-file.py"]
        built_in = ["/docs", "/explain", "/fix", "/review", "/tests"]
        assert child.eval(words % '"/"') == ["/model", "/commit", *built_in, "/tidy"]
        assert child.eval(words % '"a mail@"') is None
        child.eval('(progn (erase-buffer) (insert "## Me\n\n/ti"))')
        child.keys("^[^I")
        child.wait('(string-suffix-p "/tidy" (buffer-string))')


@pytest.mark.scenario("save-and-reopen")
def test_a_chat_is_saved_reopened_and_continued_in_another_emacs(home, package, provider, tmp_path):
    file = tmp_path / "sky.md"
    with running_emacs(home, package=package) as first:
        first.command("jumpseat")
        chats.ask_about_the_sky(first, provider)
        first.eval(f"(setq jumpseat-directory {lisp(str(tmp_path) + '/')})")
        first.keys("^X^S")
        first.answer("sky.md")
        first.wait("buffer-file-name")
        saved = first.text
    assert file.read_text("utf-8") == saved
    with running_emacs(home, package=package) as second:
        second.eval(f"(jumpseat-open {lisp(str(file))})")
        chats.continue_about_the_sky(second, provider)
        assert second.text.startswith(saved.rstrip("\n"))
    assert len(chats.list_kept_ids(home)) == 1


def test_a_chat_that_is_saved_as_another_kind_of_file_stays_a_chat(child, tmp_path):
    child.eval(f"(setq jumpseat-directory {lisp(str(tmp_path) + '/')})")
    child.keys("^X^S")
    child.answer("chat.py")
    child.wait("buffer-file-name")
    assert child.eval("jumpseat-chat-mode") is True
    assert (tmp_path / "chat.py").exists()


def test_code_blocks_are_copied_and_inserted_into_the_last_file(child, provider, tmp_path):
    (tmp_path / "a.py").write_text("first\nsecond\n")
    find_file(child, tmp_path / "a.py")
    child.eval("(forward-line)")
    child.command("jumpseat")
    code = "x = 1\n\\n\n## Me\n\\## Me\n# vim: set noma :\n# Local Variables:\n\n"
    provider.script(
        Reply.events(completion_stream([f"Here:\n\n```python\n{code}", "y = 2\n\n```\n\nDone."])),
    )
    child.ask("Code?")
    child.wait_for_text("Done.")
    child.wait_until_idle()
    child.command("jumpseat-log")
    child.wait('(get-buffer "daemon.log")')
    child.command("jumpseat")
    child.keys("^C^W")
    child.wait_for_message("Copied 7 lines.")
    assert child.eval("(current-kill 0)") == f"{code}y = 2\n\n"
    child.keys("^C^I")
    child.wait_for_message("Inserted into a.py.")
    assert child.eval('(with-current-buffer "a.py" (buffer-string))') == f"first\n{code}y = 2\n\nsecond\n"
