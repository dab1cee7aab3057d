"""Saved chats: which files are recognised as chats, and what a model may have written into them."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import lisp, running_emacs
from tests.editors.emacs.test_units import batch, write_autoloads
from tests.editors.provider import WORDS, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

HEAD = "---\nmodel: fake:fake-model\n---\n\n"
VARIABLES = (
    "<!-- Local Variables: -->\n<!-- mode: python -->\n<!-- buffer-read-only: t -->\n"
    "<!-- eval: (setq hostile t) -->\n<!-- coding: latin-1 -->\n<!-- End: -->\n"
)
CHAT = f"{HEAD}## Me\n\nHöw?\n\n## Assistant\n\nSo:\n\n{VARIABLES}\n## Me\n\nThanks?\n"


WAYS = ["find-file", "recentf-open-most-recent-file", "project-find-file", "desktop-read"]


@pytest.mark.parametrize("way", WAYS)
def test_a_saved_chat_is_a_chat_however_it_is_visited(home, package, provider, tmp_path, way):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "sky.md"
    file.write_text(CHAT)
    (tmp_path / ".project").touch()
    before = "(setq hostile nil enable-local-variables :all enable-local-eval t)"
    with running_emacs(home, package=package, before=before) as child:
        child.eval(f"""(progn (cd {lisp(str(tmp_path))}) (require 'recentf) (recentf-mode)
            (recentf-push {lisp(str(file))})
            (setq project-vc-extra-root-markers '(".project")
                  project-find-functions (list (lambda (_) (cons 'transient default-directory)))))""")
        if way == "find-file":
            child.keys(f"^X^F^A^K{file}^M")
        elif way == "desktop-read":
            child.eval(f"""(progn (require 'desktop) (find-file {lisp(str(file))})
                (desktop-save default-directory t) (kill-buffer)
                (desktop-read default-directory) (switch-to-buffer "sky.md"))""")
        else:
            child.command(way, *(["sky.md"] if way == "project-find-file" else []))
        child.wait("jumpseat-chat-mode")
        assert child.eval("(list hostile buffer-read-only major-mode)") == [None, None, "jumpseat-plain-mode"]
        assert "Höw?" in child.text
        child.wait_for_text("fake:fake-model")
        child.keys("^[>")
        child.send()
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert list_sent_texts(provider, 0)[2] == "Thanks?"
        child.eval("(progn (set-buffer-modified-p nil) (revert-buffer t t))")
        assert child.eval("(list hostile buffer-read-only jumpseat-chat-mode)") == [None, None, True]


@pytest.mark.parametrize("command", ["jumpseat-open", "jumpseat-chat-mode"])
def test_local_variables_of_a_file_that_becomes_a_chat_are_ignored(home, package, tmp_path, command):
    file = tmp_path / "notes.md"
    file.write_text("## Me\n\nHow?\n\n## Assistant\n\nSo.\n")
    before = "(setq hostile nil enable-local-variables :all enable-local-eval t)"
    with running_emacs(home, package=package, before=before) as child:
        if command == "jumpseat-open":
            file.write_text(file.read_text() + VARIABLES)
            child.command(command, f"^A^K{file}")
        else:
            child.eval(f"(find-file {lisp(str(file))})")
            child.command(command)
            file.write_text(file.read_text() + VARIABLES)
        child.wait("jumpseat-chat-mode")
        for _ in range(2):
            assert child.eval("(list hostile buffer-read-only)") == [None, None]
            child.eval("(revert-buffer t t)")
            assert child.eval("(list jumpseat-chat-mode major-mode)") == [True, "jumpseat-plain-mode"]
            assert "buffer-read-only: t" in child.text


def test_other_files_are_not_chats(home, package, tmp_path):
    texts = {
        "cv.md": "## Me\n\nBorn in 1980.\n",
        "prompt.md": "---\nmodel: gpt-4o\n---\n\n## Task\n",
        "card.md": "---\nmodel: a:b\n---\n\nA model.\n",
        "chats/notes.md": "# Notes\n",
        "chats/draft.md": "## Me\n\nHow?\n",
    }
    (tmp_path / "chats").mkdir()
    with running_emacs(home, package=package, options={"directory": str(tmp_path / "chats")}) as child:
        found = []
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
            child.eval(f"(find-file {lisp(str(tmp_path / name))})")
            if child.eval("jumpseat-chat-mode"):
                found.append(name)
        assert found == ["chats/draft.md"]


def test_a_saved_chat_loads_the_package_and_another_file_does_not(tmp_path):
    (tmp_path / "sky.md").write_text(CHAT)
    (tmp_path / "cv.md").write_text("## Me\n\nBorn in 1980.\n")
    visit = """(progn (find-file "{}")
                      (princ (list (featurep 'jumpseat) (bound-and-true-p jumpseat-chat-mode))))"""
    ran = batch(
        *("-L", str(tmp_path), "-l", str(write_autoloads(tmp_path))),
        *("--eval", '(setq jumpseat-command \'("true"))'),
        *("--eval", visit.format(tmp_path / "cv.md"), "--eval", visit.format(tmp_path / "sky.md")),
    )
    assert ran.stdout == "(nil nil)(t t)", ran.stderr
