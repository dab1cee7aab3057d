"""Chats in Org mode, against the real daemon and a scripted provider."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import ORG_AS_FORMAT, lisp, running_emacs
from tests.editors.emacs.test_long_chats import FIVE_THOUSAND_LINES, MAX_MS, find_longest_step
from tests.editors.provider import WORDS, hold_answer, list_sent_texts, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

HEAD = ":PROPERTIES:\n:ID: 1-2-3\n:model: fake:fake-model\n:END:\n#+title: Sky\n\n"
HOSTILE = (
    "# -*- mode: python; eval: (setq hostile t) -*-\n,#+STARTUP: fold\n,#+TODO: Assistant | So\n"
    "# Local Variables:\n# mode: python\n# buffer-read-only: t\n# eval: (setq hostile t)\n"
    "# coding: latin-1\n# End:\n"
)
"""An answer with file variables that are not escaped, because another program saved the chat."""


@pytest.mark.scenario("org")
def test_an_answer_streams_into_a_chat_in_org(org, provider):
    gate = Gate()
    words = ["* one\n", "** two", "\n  #+STARTUP: fold\n"]
    provider.script(
        Reply.events([*(chunk({"content": each}) for each in words), gate, *completion_stream(["End."])])
    )
    assert org.eval("(list major-mode jumpseat-chat-mode)") == ["org-mode", True]
    org.ask("Say a list.")
    org.wait_for_text(",* one\n,** two\n  ,#+STARTUP: fold")
    org.wait_for_text("fake:fake-model · answering")
    provider.open(gate)
    org.wait_until_idle()
    org.wait_for_text("* Assistant fake:fake-model · 10 → 5 tokens")
    faces = """(mapcar (lambda (text) (save-excursion (goto-char 1) (search-forward text)
                                        (get-text-property (match-beginning 0) 'face)))
                       '(",* one" ",#+STARTUP" "* Assistant"))"""
    org.wait(f"(equal {faces} (quote (jumpseat-note jumpseat-note org-level-1)))")
    head, _, rest = org.text.partition("\n\n")
    assert head.startswith(":PROPERTIES:\n:model: fake:fake-model\n:conversation: ")
    assert rest == (
        "* Me\n\nSay a list.\n\n* Assistant\n\n,* one\n,** two\n  ,#+STARTUP: fold\nEnd.\n\n* Me\n\n"
    )
    assert org.messages == []

    provider.script(Reply.events(WORDS))
    org.ask("Again.")
    org.wait_for_text("Hello there.")
    org.wait_until_idle()
    assert list_sent_texts(provider, 1) == ["Say a list.", "".join(words) + "End.", "Again."]


def test_an_answer_in_org_is_one_step_of_undo(org, provider):
    gate = Gate()
    provider.script(hold_answer("* One ", "two ", gate=gate))
    before = f"{HEAD}* Me\n\nMy question."
    org.eval(f"(progn (erase-buffer) (insert {lisp(before)}))")
    org.send()
    org.wait_for_text(",* One two")
    provider.open(gate)
    org.wait_until_idle()
    org.wait('(save-excursion (goto-char 1) (search-forward ":conversation: " nil t))')
    org.keys("^_")
    org.wait_until_text_is_gone("One two")
    assert org.text == before


def test_thinking_and_calls_are_folded_in_org(home, package, provider, tmp_path):
    (tmp_path / ".git").mkdir()
    file = tmp_path / "greet.py"
    file.write_text("x = 1\n")
    call = FakeCall("c1", "files__read", ['{"path": "greet.py"}'])
    provider.script(
        Reply.events([chunk({"reasoning_content": "* Hm."}), *completion_stream(tool_calls=[call])]),
        Reply.events(completion_stream(["Done."])),
    )
    with running_emacs(
        home, str(file), package=package, options={"tools": ["files/*"]}, before=ORG_AS_FORMAT
    ) as child:
        child.command("jumpseat")
        child.wait("(derived-mode-p 'org-mode)")
        child.wait_for_text("tools: files")
        child.ask("Read it.")
        child.wait_for_text("Done.")
        child.wait_until_idle()
        folded = "▸ Thinking (1 line)\n\n▸ files/read greet.py · completed\n\n▸ Result (1 line)\n\nDone."
        child.wait_for_text(folded)
        assert "#+begin_thinking\n\n,* Hm.\n\n#+end_thinking\n\n#+begin_tool_use :id c1" in child.text
        saved = tmp_path / "chat.org"
        child.eval(f"(progn (write-region nil nil {lisp(str(saved))}) (find-file {lisp(str(saved))}))")
        child.wait("(and jumpseat-chat-mode (derived-mode-p 'org-mode))")
        child.wait_for_text(folded)
        child.keys("^[>^C^T")
        child.wait_for_text("x = 1")


@pytest.mark.parametrize("way", ["find-file", "jumpseat-open"])
def test_settings_in_the_text_of_a_saved_org_chat_are_not_obeyed(home, package, provider, tmp_path, way):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "sky.org"
    text = f"{HEAD}* Me :sky:\n\nHöw?\n\n* Assistant\n\nSo:\n\n{HOSTILE}\n* Me\n\nThanks?\n"
    file.write_text(text)
    before = "(setq hostile nil enable-local-variables :all enable-local-eval t)"
    with running_emacs(home, package=package, before=before) as child:
        child.keys(f"^X^F^A^K{file}^M") if way == "find-file" else child.command(way, f"^A^K{file}")
        child.wait("jumpseat-chat-mode")
        assert child.eval("(list hostile buffer-read-only major-mode)") == [None, None, "org-mode"]
        obeyed = child.eval("(list org-todo-keywords-1 (get-char-property (1- (point-max)) 'invisible))")
        assert obeyed == [["TODO", "DONE"], None]
        child.wait_for_text("Höw?")
        child.keys("^[>")
        child.send()
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert list_sent_texts(provider, 0)[::2] == ["Höw?", "Thanks?"]
        assert list_sent_texts(provider, 0)[1].startswith("So:\n\n# -*- mode: python")
        child.wait('(save-excursion (goto-char 1) (search-forward ":conversation: " nil t))')
        # The properties of other programs and the lines of the user stay.
        head = child.text.partition("* Me")[0]
        assert head.startswith(":PROPERTIES:\n:ID: 1-2-3\n:model: fake:fake-model\n:conversation: ")
        assert head.endswith("\n:END:\n#+title: Sky\n\n")
        child.keys("^X^S")
        child.wait("(not (buffer-modified-p))")
        child.eval("(revert-buffer t t)")
        assert child.eval("(list hostile jumpseat-chat-mode major-mode)") == [None, True, "org-mode"]


def test_text_of_a_model_is_never_obeyed_by_org_or_emacs(org, provider, tmp_path):
    hostile = HOSTILE.replace(",#+", "#+")
    provider.script(Reply.events(completion_stream([*hostile])))
    org.ask("Do it.")
    org.wait('(string-search "# End:" (buffer-string))')
    org.wait_until_idle()
    file = tmp_path / "written.org"
    org.eval(f"(write-region nil nil {lisp(str(file))})")
    # Open the file like an Emacs without the package.
    found = org.eval(f"""(let ((enable-local-variables :all) (enable-local-eval t) (hostile nil)
                              (magic-mode-alist nil) (jumpseat-chat-mode-hook nil))
        (advice-remove 'inhibit-local-variables-p #'jumpseat--file-p)
        (unwind-protect
            (with-current-buffer (find-file-noselect {lisp(str(file))})
              (list hostile buffer-read-only major-mode org-todo-keywords-1
                    (format "%s" buffer-file-coding-system)
                    (org-map-entries (lambda () (org-get-heading t t t t)))))
          (advice-add 'inhibit-local-variables-p :before-until #'jumpseat--file-p)))""")
    keywords, headings = ["TODO", "DONE"], ["Me", "Assistant", "Me"]
    assert found == [None, None, "org-mode", keywords, "utf-8-unix", headings]


def test_a_chat_is_read_in_its_own_format_whatever_its_file_is_called(home, package, provider, tmp_path):
    texts = {
        "markdown.org": ("---\nmodel: fake:fake-model\n---\n\n## Me\n\nHi.\n", "jumpseat-plain-mode"),
        "org.txt": (f"{HEAD}* Me\n\nHi.\n", "org-mode"),
    }
    with running_emacs(home, package=package) as child:
        for name, (text, mode) in texts.items():
            file = tmp_path / name
            file.write_text(text)
            child.eval(f"(find-file {lisp(str(file))})")
            assert child.eval("(list major-mode jumpseat-chat-mode)") == [mode, True], name


def test_an_org_file_without_a_chat_is_not_a_chat(home, package, provider, tmp_path):
    texts = {
        "notes": "* Me\n\nHi.\n",
        "roam": ":PROPERTIES:\n:ID: x\n:END:\n#+title: A\n\n* Me\n",
        "model": ":PROPERTIES:\n:model: T-800\n:END:\n\n* Me\n",
        "empty": "",
        "comments": "# x\n" * 20_000,
    }
    with running_emacs(home, package=package) as child:
        for name, text in texts.items():
            file = tmp_path / f"{name}.org"
            file.write_text(text)
            child.eval(f"(find-file {lisp(str(file))})")
            assert child.eval("(list major-mode jumpseat-chat-mode)") == ["org-mode", None], name


def test_the_settings_and_the_model_of_a_chat_in_org_are_properties(org, provider):
    before = f"{HEAD}* Me\n\n"
    org.eval(f"(progn (erase-buffer) (insert {lisp(before)}))")
    org.command("jumpseat-settings", "temperature", "0.5")
    org.wait('(save-excursion (goto-char 1) (search-forward ":settings: {temperature: 0.5}" nil t))')
    org.eval('(jumpseat-model "fake:other-model")')
    org.wait('(equal (jumpseat--transcript-model) "fake:other-model")')
    assert org.eval('(jumpseat--transcript-value "temperature")') == "0.5"
    assert org.text == (
        ":PROPERTIES:\n:ID: 1-2-3\n:model: fake:other-model\n:settings: {temperature: 0.5}\n:END:\n"
        "#+title: Sky\n\n* Me\n\n"
    )
    assert org.eval('(progn (goto-char 1) (org-entry-get (point) "model"))') == "fake:other-model"
    provider.script(Reply.events(WORDS))
    org.ask("Hi.")
    org.wait_for_text("Hello there.")
    org.wait_until_idle()
    request = provider.requests[-1].json
    assert (request["model"], request["temperature"]) == ("other-model", 0.5)


def test_a_mistake_in_the_properties_is_marked(org, provider):
    text = ":PROPERTIES:\n:ID: [\n:settings: {temperature: 9}\n:END:\n\n* Me\n\n"
    org.eval(f"(progn (erase-buffer) (insert {lisp(text)}) (flymake-start))")
    org.wait("(flymake-diagnostics)")
    assert org.eval("""(mapcar (lambda (each) (buffer-substring-no-properties
                                  (flymake-diagnostic-beg each) (flymake-diagnostic-end each)))
                               (flymake-diagnostics))""") == ["temperature: 9"]


def test_a_question_in_org_is_asked_again_and_code_is_copied_without_escapes(org, provider):
    code = "```\n* x\n  #+a\n,* y\n```"
    provider.script(*(Reply.events(completion_stream([each])) for each in (code, "Blue.")))
    org.ask("Colour?")
    org.wait_for_text(",,* y")
    org.wait_until_idle()
    org.command("jumpseat-copy-code")
    org.wait_for_message("Copied 3 lines.")
    assert org.eval("(current-kill 0)") == "* x\n  #+a\n,* y\n"
    org.keys("^C^A")
    org.wait_for_text("Blue.")
    org.wait_until_idle()
    org.wait_for_text("* Me variant 2 of 2")
    assert list_sent_texts(provider, 1) == ["Colour?"]
    org.keys("^C^[p")
    org.wait_for_text(",,* y")


def test_a_prefix_argument_chooses_the_other_format(home, package, provider):
    write_config(home, provider.base_url, 'roles = { user = "My question", assistant = "KI" }\n')
    provider.script(Reply.events(WORDS))
    with running_emacs(home, package=package) as child:
        child.keys("^U")
        child.command("jumpseat-new")
        child.wait_for_text("* My question")
        child.wait("(derived-mode-p 'org-mode)")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        chat = child.text.partition(":END:\n\n")[2]
        assert chat == "* My question\n\nHello?\n\n* KI\n\nHello there.\n\n* My question\n\n"
        for heading in ("* My question", "* KI", "* My question"):
            child.keys("^C^P")
            child.wait(f'(looking-at "{heading[0]} {heading[2:]}$")')
        child.keys("^X^S")
        child.answer("")
        child.wait('(and buffer-file-name (string-suffix-p ".org" buffer-file-name) jumpseat-chat-mode)')


def test_deltas_in_a_long_chat_in_org_never_block_for_over_16_ms(org, provider):
    org.eval(FIVE_THOUSAND_LINES.replace('"## ', '"* '))
    assert 0 < find_longest_step(org, provider, "* Assistant") <= MAX_MS
