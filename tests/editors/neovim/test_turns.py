"""Turns in Neovim: moving between them, asking a question again, and the variants that this creates."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import Child
from tests.editors.provider import hold_answer, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def ask(child: Child, provider, question: str, answer: str) -> None:
    """Ask, and wait for the answer."""
    provider.script(Reply.events(completion_stream([answer])))
    child.ask(question)
    child.wait_until_idle()


def move_to(child: Child, text: str) -> None:
    """Put the cursor on the first line with this text."""
    child.lua("vim.api.nvim_win_set_cursor(0, { vim.fn.search(..., 'cnw'), 0 })", text)


@pytest.mark.scenario("regenerate")
def test_the_last_question_is_asked_again_and_the_answers_are_variants(child, provider):
    ask(child, provider, "First?", "Yes.")
    ask(child, provider, "Colour?", "Blue.")
    provider.script(Reply.events(completion_stream(["Red."])))
    child.keys("gr")
    child.wait_for_text("Red.")
    child.wait_until_idle()
    assert "Blue." not in child.text
    assert list_sent_texts(provider, 2) == ["First?", "Yes.", "Colour?"]
    assert "## Me variant 2 of 2" in child.screen

    child.keys("[v")
    assert child.text.endswith("Colour?\n\n## Assistant\n\nBlue.\n\n## Me\n\n")
    assert "## Me variant 1 of 2" in child.screen
    child.keys("]v")
    assert child.text.endswith("Colour?\n\n## Assistant\n\nRed.\n\n## Me\n\n")
    child.keys("[v")
    child.keys("u")
    assert "Red." in child.text
    child.keys("[v")
    assert "Blue." in child.text

    ask(child, provider, "Sure?", "Sure.")
    assert list_sent_texts(provider, 3) == ["First?", "Yes.", "Colour?", "Blue.", "Sure?"]


@pytest.mark.parametrize(("keys", "answer", "label"), [("]v", "Blue.", "1 of 1"), ("gr", "Green.", "2 of 2")])
def test_a_variant_that_was_undone_does_not_count(child, provider, keys, answer, label):
    ask(child, provider, "Colour?", "Blue.")
    provider.script(Reply.events(completion_stream(["Red."])), Reply.events(completion_stream(["Green."])))
    child.keys("gr")
    child.wait_for_text("Red.")
    child.wait_until_idle()
    # Undo until the first answer is back.
    child.lua("for _ = 1, 20 do if vim.fn.search('Blue', 'nw') == 0 then vim.cmd('silent undo') end end")
    child.keys(keys)
    child.wait_for_text(answer)
    child.wait_until_idle()
    assert "Red." not in child.text
    assert f"## Me variant {label}" in child.screen


def test_a_question_is_asked_again_although_another_window_gets_the_cursor(child, provider):
    ask(child, provider, "Colour?", "Blue.")
    provider.script(Reply.events(completion_stream(["Red."])))
    child.lua("""
        _G.ended = false
        local function note() _G.ended = true end
        vim.api.nvim_create_autocmd('User', { pattern = 'JumpseatTurnEnded', callback = note })
        require('jumpseat.chat.turns').regenerate(vim.api.nvim_get_current_buf())
        vim.cmd('new')
    """)
    child.wait("_G.ended")
    assert child.text == ""
    child.command("close")
    assert "Red." in child.text


@pytest.mark.scenario("edit-question")
def test_an_earlier_question_is_edited_and_the_chat_goes_on_from_there(child, provider):
    ask(child, provider, "Colour of the sky?", "Blue.")
    ask(child, provider, "Sure?", "Sure.")
    move_to(child, "Colour of the sky")
    child.command("substitute/sky/sea/")
    provider.script(Reply.events(completion_stream(["Green."])))
    child.keys("gr")
    child.wait_for_text("Green.")
    child.wait_until_idle()
    assert child.body.startswith("## Me\n\nColour of the sea?\n\n## Assistant\n\nGreen.\n\n## Me\n")
    assert list_sent_texts(provider, 2) == ["Colour of the sea?"]

    child.keys("[v")
    assert child.body == (
        "## Me\n\nColour of the sky?\n\n## Assistant\n\nBlue.\n\n## Me\n\nSure?\n\n"
        "## Assistant\n\nSure.\n\n## Me\n\n"
    )


def test_variants_of_a_later_turn_belong_to_a_variant_of_the_earlier_turn(child, provider):
    ask(child, provider, "One?", "A1.")
    ask(child, provider, "Two?", "B1.")
    provider.script(Reply.events(completion_stream(["B2."])))
    child.keys("gr")
    child.wait_for_text("B2.")
    child.wait_until_idle()
    move_to(child, "One?")
    provider.script(Reply.events(completion_stream(["A2."])))
    child.keys("gr")
    child.wait_for_text("A2.")
    child.wait_until_idle()
    assert "Two?" not in child.text
    child.keys("[v")
    assert "A1." in child.text
    assert "B2." in child.text
    child.keys("G[v")
    assert child.text.endswith("A1.\n\n## Me\n\nTwo?\n\n## Assistant\n\nB1.\n\n## Me\n\n")


def test_a_question_without_an_answer_is_sent_and_makes_no_variant(child, provider):
    provider.script(Reply.json({"error": {"message": "The key is wrong."}}, 401))
    child.ask("Hello?")
    child.wait_for_text("✗ ")
    child.wait_until_idle()
    provider.script(Reply.events(completion_stream(["Hi."])))
    child.keys("gr")
    child.wait_for_text("Hi.")
    child.wait_until_idle()
    assert "variant" not in child.screen
    child.keys("]v")
    assert child.messages == ["jumpseat: There are no variants here. :Jumpseat regenerate makes one."]


def test_nothing_is_asked_again_while_an_answer_is_written(child, provider):
    gate = Gate()
    provider.script(hold_answer("Half", gate=gate))
    child.ask("Hello?")
    child.wait_for_text("Half")
    child.keys("gr")
    assert child.messages == ["jumpseat: An answer is being written; :Jumpseat stop stops it."]
    provider.open(gate)
    child.wait_until_idle()
    assert child.text.count("Half End.") == 1


@pytest.mark.scenario("chat-keys")
def test_keys_go_to_the_next_and_the_previous_turn(child, provider):
    ask(child, provider, "One?", "First.\n\n## Summary\n\nText.")
    child.command("normal! gg")
    lines = []
    for keys in ("]]", "]]", "]]", "]]", "[[", "[["):
        child.keys(keys)
        child.lua("vim.wait(100, function() return false end)")
        lines.append(child.lua("return vim.api.nvim_get_current_line()"))
    assert lines == ["## Me", "## Assistant", "## Me", "## Me", "## Assistant", "## Me"]


@pytest.mark.parametrize("reload", ["edit!", "enew | bunload # | buffer #"])
def test_variants_survive_the_reload_of_a_saved_chat(child, provider, reload):
    ask(child, provider, "Colour?", "Blue.")
    provider.script(Reply.events(completion_stream(["Red."])))
    child.keys("gr")
    child.wait_for_text("Red.")
    child.wait_until_idle()
    child.command("write")
    child.command(reload)
    child.wait_for_text("## Me variant 2 of 2")
    child.keys("G[v")
    assert "Blue." in child.text
    assert "Red." not in child.text
    child.command("write")

    # Another program changes the file. The variants are dropped, because they would overwrite its change.
    child.lua("vim.fn.writefile({ 'More?' }, vim.api.nvim_buf_get_name(0), 'a')")
    child.command(reload)
    child.keys("G]v")
    assert child.messages[-1].startswith("jumpseat: There are no variants here.")
    assert "More?" in child.text
