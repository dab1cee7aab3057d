"""Questions that are asked in another buffer, with or without a part of its text."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Gate, Reply
from tests.editors import chats
from tests.editors.neovim.child import running_neovim
from tests.editors.programs import slow_program
from tests.editors.provider import WORDS, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("ask-on-selection")
def test_a_question_on_a_range_has_the_lines_with_their_file_and_language(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "a.py"
    file.write_text(chats.PYTHON)
    child.command(f"edit {file}")
    child.command("2,3JumpseatAsk Why two?")
    child.wait("#require('jumpseat.core.chats').list() == 1")
    chats.check_question_on_two_lines(child, provider, file)


def test_a_question_that_is_asked_while_an_answer_is_written_stays_below_it(child, provider, tmp_path):
    file = tmp_path / "a.py"
    file.write_text(chats.PYTHON)
    gate = chats.begin_answer(child, provider, "One\n\n")
    child.command(f"edit {file}")
    child.command("2,3JumpseatAsk Why two?")
    assert "The question is below it: :Jumpseat send sends it afterwards." in child.messages[0]
    child.wait("vim.fn.search('```context', 'nw') > 0")
    assert child.text.rstrip().endswith("y = 2\nz = 3\n\n```\n\nWhy two?")
    provider.open(gate)
    child.wait_until_idle()
    assert "## Assistant\n\nOne\n\n End.\n\n## Me\n\n" in child.text
    assert child.text.rstrip().endswith("\n\nWhy two?")

    provider.script(Reply.events(WORDS))
    child.send()
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    (*_, answer, question) = list_sent_texts(provider, 1)
    assert answer == "One\n\n End."
    assert "y = 2\nz = 3" in question
    assert question.endswith("Why two?")


def test_a_question_that_is_asked_before_the_first_words_of_an_answer_stays_below_it(child, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *WORDS]))
    child.ask("Question.")
    provider.wait_for_request(1)
    child.command("Jumpseat ask And then?")
    provider.open(gate)
    child.wait_until_idle()
    assert child.body.startswith("## Me\n\nQuestion.\n\n## Assistant\n\nHello there.\n\n## Me\n\n")
    assert child.body.rstrip().endswith("\n\nAnd then?")


def test_a_question_is_shown_with_a_state_while_the_program_starts(home, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    go = tmp_path / "go"
    (tmp_path / "a.py").write_text(chats.PYTHON)
    options = {"command": slow_program(tmp_path, go)}
    with running_neovim(home, str(tmp_path / "a.py"), options=options) as child:
        child.command("1JumpseatAsk Why is it one?")
        child.wait_for_text("Why is it one?")
        child.wait_for_text("starting jumpseat")
        child.command("Jumpseat ask And two?")
        go.touch()
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert child.body.startswith("## Me\n\n```context uri=file://")
        assert "\n```\n\nWhy is it one?\n\n## Assistant\n\nHello there.\n\n## Me\n\n" in child.body
        assert child.body.rstrip().endswith("\n\nAnd two?")
    assert "x = 1" in list_sent_texts(provider, 0)[0]


def test_a_question_stays_in_the_chat_when_the_program_is_missing(home, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    (tmp_path / "a.py").write_text(chats.PYTHON)
    with running_neovim(home, str(tmp_path / "a.py")) as child:
        child.lua("_G.options = vim.g.jumpseat")
        child.lua("vim.g.jumpseat = vim.tbl_extend('force', _G.options, { command = { 'no-such-program' } })")
        child.command("1JumpseatAsk Why is it one?")
        child.wait_for_text("The program no-such-program was not found.")
        assert child.text == "## Me\n\n```python\nx = 1\n```\n\nWhy is it one?"
        assert child.messages == []
        child.lua("vim.g.jumpseat = _G.options")
        child.send()
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
    assert "x = 1" in list_sent_texts(provider, 0)[0]


def test_a_question_about_a_selection_contains_exactly_its_characters(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "a.txt"
    file.write_text("one 😀 two\nthree four\n", "utf-8")
    child.command(f"edit {file}")
    child.command("xmap gj <Plug>(jumpseat-ask)")
    child.keys("wvjbegj")
    child.wait("vim.api.nvim_buf_get_lines(0, 0, -1, false)[1]:find('## Me') ~= nil")
    child.wait("vim.fn.search('```context', 'nw') > 0")
    assert "range=0:4-1:5\n😀 two\nthree\n```" in child.text
    child.ask("What is it?")
    child.wait_until_idle()
    assert "😀 two\nthree" in list_sent_texts(provider, 0)[0]
