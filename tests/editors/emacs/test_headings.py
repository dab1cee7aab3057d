"""Headings that the configuration renames, in new and in opened chats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import Child, running_emacs
from tests.editors.programs import slow_program
from tests.editors.provider import WORDS, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

NAMES = 'roles = { user = "My question", assistant = "KI" }\n'


@pytest.fixture
def renamed(home: Path, provider: ThreadedUpstream) -> Path:
    """The home, whose configuration renames the headings."""
    write_config(home, provider.base_url, NAMES)
    return home


@pytest.fixture
def slow(renamed: Path, package: Path, tmp_path: Path) -> Iterator[tuple[Child, Path]]:
    """An Emacs with a new chat, and the path of a file: the daemon starts once the file exists."""
    go = tmp_path / "go"
    with running_emacs(renamed, package=package, options={"command": slow_program(tmp_path, go)}) as child:
        child.command("jumpseat")
        child.wait_for_text("## Me")
        yield child, go


def test_a_new_chat_has_the_headings_of_the_configuration(renamed, package, provider):
    provider.script(Reply.events(WORDS))
    with running_emacs(renamed, package=package) as child:
        child.command("jumpseat")
        child.wait_for_text("## My question")
        assert child.text == "## My question\n\n"
        state = child.eval("(list (= (point) (point-max)) (buffer-modified-p) buffer-undo-list)")
        assert state == [True, None, None]
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        chat = child.text.partition("---\n\n")[2]
        assert chat == "## My question\n\nHello?\n\n## KI\n\nHello there.\n\n## My question\n\n"
        for heading in ("## My question", "## KI", "## My question"):
            child.keys("^C^P")
            child.wait(f'(looking-at "{heading}$")')
        child.wait("(eq (get-text-property (point) 'face) 'font-lock-function-name-face)")


def test_a_heading_that_comes_late_keeps_the_typed_text_and_its_undo(slow):
    child, go = slow
    child.keys("Hello")
    child.wait_for_text("Hello")
    go.touch()
    child.wait_for_text("## My question")
    assert child.text == "## My question\n\nHello"
    assert child.eval("(= (point) (point-max))") is True
    child.keys("^_")
    child.wait_for_text("## Me")
    assert child.text == "## Me\n\nHello"
    child.keys("^_")
    child.wait_until_text_is_gone("Hello")
    assert child.text == "## Me\n\n"


def test_a_heading_that_the_user_has_changed_stays(slow):
    child, go = slow
    child.eval('(progn (goto-char 1) (search-forward "Me") (insert "!"))')
    go.touch()
    child.wait("(jumpseat--rpc-info)")
    child.eval(
        "(progn (setq asked nil) (jumpseat--transcript-fetch-headings nil (lambda (&rest _) (setq asked t))))"
    )
    child.wait("asked")
    assert child.text == "## Me!\n\n"


def test_a_question_about_a_region_takes_the_place_of_the_empty_one(renamed, package, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    with running_emacs(renamed, str(file), package=package) as child:
        child.command("jumpseat-ask", "What is it?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        chat = child.text.partition("---\n\n")[2]
        assert chat == "## My question\n\nWhat is it?\n\n## KI\n\nHello there.\n\n## My question\n\n"


def test_the_headings_of_a_chat_that_is_opened_are_known(renamed, package, tmp_path):
    file = tmp_path / "chat.md"
    file.write_text("## My question\n\nHello?\n\n## KI\n\nYes.\n\n## My question\n\n")
    with running_emacs(renamed, package=package) as child:
        child.command("jumpseat-open", f"^A^K{file}")
        child.wait_for_text("Yes.")
        child.wait('(progn (goto-char 1) (jumpseat-next-turn) (looking-at "## KI$"))')
        child.wait("(eq (get-text-property (point) 'face) 'font-lock-function-name-face)")
