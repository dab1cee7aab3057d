"""Changes that users make to the buffer and windows of a chat while an answer is written into it."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors import chats
from tests.editors.neovim.child import running_neovim
from tests.editors.provider import WORDS, hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.parametrize("command", ["bwipeout!", "bdelete!", "bunload!"])
def test_a_buffer_that_is_closed_stops_its_answer(child, provider, command):
    provider.script(hold_answer("Half", gate=Gate()))
    child.ask("Hello?")
    child.wait_for_text("Half")
    child.command(command)
    provider.wait_for_disconnect(1)
    assert child.lua("return require('jumpseat.core.chats').list()") == []


def test_a_chat_that_is_reloaded_stops_its_answer_and_stays_a_chat(child, provider):
    provider.script(hold_answer("Half", gate=Gate()), Reply.events(WORDS))
    child.write("Hello?")
    child.command("write")
    child.command("Jumpseat send")
    child.wait_for_text("Half")
    child.command("edit!")
    provider.wait_for_disconnect(1)
    child.wait_until_idle()
    assert child.text == "## Me\n\nHello?"

    child.command("Jumpseat send")
    child.wait_until_idle()
    assert child.text.endswith("## Me\n\nHello?\n\n## Assistant\n\nHello there.\n\n## Me\n\n")
    assert "complete'.omnifunc" in child.lua("return vim.bo.omnifunc")


@pytest.mark.parametrize("name", ["a.py", ".env", "notes.txt"])
def test_a_buffer_that_is_not_a_chat_is_not_sent(child, provider, tmp_path, name):
    (tmp_path / name).write_text("TOKEN = 'x'\n")
    child.command(f"edit {tmp_path / name}")
    child.command("Jumpseat send")
    child.wait("#_G.messages > 0")
    assert "This buffer is not a chat." in child.messages[0]
    assert (child.text, child.lua("return vim.bo.omnifunc ~= ''")) == (
        "TOKEN = 'x'",
        child.lua("return vim.go.omnifunc ~= ''"),
    )
    assert provider.requests == []


@pytest.mark.parametrize(("choice", "sent"), [(2, 0), (1, 1)])
def test_a_markdown_file_becomes_a_chat_only_if_the_user_wants(child, provider, tmp_path, choice, sent):
    provider.script(Reply.events(WORDS))
    (tmp_path / "notes.md").write_text("# Notes\n\nWhy?\n")
    child.command(f"edit {tmp_path / 'notes.md'}")
    child.lua("local choice = ... vim.fn.confirm = function() return choice end", choice)
    child.command("Jumpseat send")
    child.wait_until_idle()
    assert len(provider.requests) == sent
    assert ("Hello there." in child.text) is bool(sent)


def test_a_chat_that_is_deleted_and_opened_again_is_a_chat(child, provider):
    provider.script(Reply.events(WORDS))
    child.write("Hello?")
    child.command("write")
    file = child.lua("return vim.api.nvim_buf_get_name(0)")
    child.command("bdelete")
    child.command(f"edit {file}")
    child.wait_for_text("default model")
    child.command("Jumpseat send")
    child.wait_until_idle()
    assert "Hello there." in child.text


def test_two_neovims_on_one_saved_chat_each_have_their_own_answer(home, provider, tmp_path):
    provider.script(Reply.events(WORDS), Reply.events(completion_stream(["Other."])), Reply.events(WORDS))
    file = tmp_path / "chat.md"
    file.write_text("## Me\n\nHello?\n")
    with running_neovim(home) as first, running_neovim(home) as second:
        for child in (first, second):
            child.command("set autoread")
            child.command(f"Jumpseat {file}")
            child.command("Jumpseat send")
            child.wait_until_idle()
        first.command("write")
        assert "Hello there." in file.read_text("utf-8")
        assert "Other." in second.text
        # The second user reads the text that the first user has written to the file.
        second.command("edit!")
        second.ask("And you?")
        second.wait_until_idle()
        assert second.text.count("Hello there.") == 2
    sent = [message["content"] for message in provider.requests[2].json["messages"]]
    assert sent == ["Hello?", "Hello there.", "And you?"]


def test_a_chat_that_another_neovim_has_open_is_opened_with_a_warning(home, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    file = tmp_path / "chat.md"
    file.write_text("## Me\n\nHello?\n")
    with running_neovim(home) as first, running_neovim(home) as second:
        for child in (first, second):
            child.command("set updatecount=200 swapfile")
            child.command(f"Jumpseat {file}")
        assert first.messages == []
        assert "another Neovim has it open" in second.messages[0]
        second.command("Jumpseat send")
        second.wait_until_idle()
        assert "Hello there." in second.text


def test_an_answer_that_is_undone_while_it_streams_is_stopped_and_can_be_redone(child, provider):
    gate = Gate()
    provider.script(hold_answer("One ", gate=gate))
    child.keys("iMy question.<Esc>")
    child.command("Jumpseat send")
    child.wait_for_text("One")
    child.command("undo")
    provider.open(gate)
    child.wait_until_idle()
    assert child.messages == ["jumpseat: The answer was removed from the chat, so it was stopped."]
    assert child.text == "## Me\n\nMy question."
    assert "…" not in child.screen
    child.command("redo")
    assert child.text.endswith("## Me\n\nMy question.\n\n## Assistant\n\nOne")


def test_an_answer_whose_last_part_is_undone_is_stopped_and_gets_no_later_part(child, provider):
    gates = Gate(), Gate()
    pieces = [chunk({"content": "One "}), gates[0], chunk({"content": "two "}), gates[1]]
    provider.script(Reply.events([*pieces, *completion_stream(["three."])]))
    child.ask("Count.")
    child.wait_for_text("One")
    child.lua("vim.api.nvim_win_set_cursor(0, { vim.fn.search('Count', 'nw'), 0 })")
    child.keys("IPlease: <Esc>")
    provider.open(gates[0])
    child.wait_for_text("One two")
    child.command("undo")
    provider.open(gates[1])
    child.wait_until_idle()
    assert child.text.endswith("Please: Count.\n\n## Assistant\n\nOne")


def test_an_undo_of_the_users_own_change_does_not_stop_an_answer(child, provider):
    gate = chats.begin_answer(child, provider, "One ")
    child.lua("vim.api.nvim_win_set_cursor(0, { vim.fn.search('Question', 'nw'), 0 })")
    child.keys("IMine: <Esc>u")
    provider.open(gate)
    child.wait_until_idle()
    assert child.text.endswith("Question.\n\n## Assistant\n\nOne  End.\n\n## Me\n\n")


def test_a_chat_that_is_locked_during_an_answer_gets_the_whole_answer(child, provider):
    gate = chats.begin_answer(child, provider, "One")
    child.command("set nomodifiable")
    provider.open(gate)
    child.wait_until_idle()
    assert child.text.endswith("One End.\n\n## Me\n\n")
    assert child.lua("return vim.bo.modifiable") is False


def test_a_locked_chat_is_not_sent(child, provider):
    child.write("Question.")
    child.command("set nomodifiable")
    child.command("Jumpseat send")
    assert child.messages == ["jumpseat: The answer cannot be written into this buffer: 'modifiable' is off."]
    assert provider.requests == []


@pytest.mark.parametrize("window", ["enew", "botright vsplit"])
def test_a_window_whose_buffer_is_fixed_keeps_it(home, window):
    with running_neovim(home, options={"window": window}) as child:
        child.command("file fixed.txt")
        child.command("set winfixbuf")
        child.command("Jumpseat")
        child.wait_for_text("## Me")
        names = child.lua(
            "return vim.tbl_map(function(win) return vim.fs.basename(vim.api.nvim_buf_get_name("
            "vim.api.nvim_win_get_buf(win))) end, vim.api.nvim_list_wins())"
        )
        assert len(names) == 2
        assert "fixed.txt" in names


def test_every_window_of_a_chat_follows_the_answer_and_folds_thinking(child, provider):
    gate = Gate()
    thinking = [chunk({"reasoning_content": piece}) for piece in ("Let me ", "think")]
    provider.script(
        Reply.events([*thinking, chunk({"content": "Half "}), gate, *completion_stream(["done."])])
    )
    child.command("split")
    child.command("tab split")
    child.command("tabprevious")
    child.ask("Question.")
    child.wait_for_text("Half")
    provider.open(gate)
    child.wait_until_idle()
    states = child.lua("""
        return vim.tbl_map(function(win) return vim.api.nvim_win_call(win, function()
          local row = vim.fn.search('details', 'nw')
          return { vim.fn.line('.') == vim.fn.line('$'), vim.fn.foldclosed(row) > 0 }
        end) end, vim.api.nvim_list_wins())
    """)
    assert states == [[True, True]] * 3


def test_an_open_chat_is_shown_in_the_current_tab_page(child):
    child.command("tab split")
    child.command("split")
    child.command("wincmd t")
    child.command("enew")
    child.command("Jumpseat")
    assert child.lua("return vim.api.nvim_get_current_tabpage()") == 2


def test_an_error_is_wrapped_again_when_its_window_is_resized(child, provider):
    provider.script(Reply.json({"error": {"message": "The key is wrong " + 5 * "and so on "}}, 401))
    child.ask("Question.")
    child.wait_until_idle()
    child.wait_for_text("✗ fake does not accept the credential (HTTP 401): The key is wrong and")
    child.command("vertical botright new")
    child.command("vertical resize 56")
    child.wait_for_text("✗ fake does not accept")
    rows = [row.partition("│")[0].strip() for row in child.screen.splitlines()]
    start = next(number for number, row in enumerate(rows) if row.startswith("✗"))
    words = " ".join(rows[start : start + 14])
    assert "The key is wrong and so on and so on and so on and so on and so on" in words


def test_a_small_screen_has_room_for_the_status(child, provider):
    provider.script(Reply.events(WORDS))
    child.command("set columns=12 lines=4")
    child.ask("Question.")
    child.wait_until_idle()
    child.command("Jumpseat status")
    child.wait("vim.api.nvim_win_get_config(0).relative == 'editor'")
    assert child.lua("return vim.api.nvim_win_get_height(0)") == 1


def test_lines_of_100_kilobytes_are_written_whole(child, provider):
    long = ["x" * 100_000, " ", "y" * 100_000, "\n", "word " * 20_000]
    provider.script(Reply.events(completion_stream(long)))
    child.ask("Much.")
    child.wait_until_idle()
    assert "".join(long).rstrip() in child.text


def test_a_carriage_return_in_an_answer_is_not_kept(child, provider):
    provider.script(Reply.events(completion_stream(["one\r", "\ntwo 😀 wörd\r\n", "three"])))
    child.ask("Lines.")
    child.wait_until_idle()
    assert "## Assistant\n\none\ntwo 😀 wörd\nthree\n\n## Me" in child.text
