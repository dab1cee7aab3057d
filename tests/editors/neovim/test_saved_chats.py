"""Saved chats: how they are opened, and what the editor must not obey in them."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import running_neovim
from tests.editors.provider import WORDS, hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MODELINE = "vim: set nomodifiable tabstop=3 :"
HEAD = "---\nmodel: fake:fake-model\n---\n\n"
CHAT = f"## Me\n\nHello?\n\n## Assistant\n\nHi.\n\n{MODELINE}\n\n## Me\n\n"
SETTINGS = "return { vim.bo.modifiable, vim.bo.tabstop == 3 }"
SETTINGS_WITHOUT_MODELINE = [True, False]
"""The result of `SETTINGS` if the modeline was not obeyed."""


@pytest.fixture
def saved(home, tmp_path):
    """A saved chat whose answer contains a modeline that is not escaped."""
    file = tmp_path / "saved" / "chat.md"
    file.parent.mkdir()
    file.write_text(HEAD + CHAT)
    return file


def neovim(home, *files):
    """Run a Neovim that obeys modelines, which Neovim does not do by default for the superuser."""
    return running_neovim(home, "--cmd", "set modeline", *files)


def check_is_a_chat(child):
    """Check that the current buffer is a chat whose modeline was not obeyed."""
    child.wait("require('jumpseat.core.chats').get(vim.api.nvim_get_current_buf())")
    child.wait_for_text("fake:fake-model")
    assert child.lua(SETTINGS) == SETTINGS_WITHOUT_MODELINE


def test_a_saved_chat_named_on_the_command_line_is_a_chat(home, provider, saved):
    provider.script(Reply.events(WORDS))
    with neovim(home, str(saved)) as child:
        check_is_a_chat(child)
        child.ask("And now?")
        child.wait_until_idle()
        assert "Hello there." in child.text


def test_the_modelines_of_a_saved_chat_are_not_obeyed_however_it_is_opened(home, saved):
    with neovim(home) as child:
        ways = [
            *(f"edit {saved}", f"split {saved}", f"tabedit {saved}", f"Jumpseat {saved}", f"view {saved}"),
            *(f"args {saved}", f"drop {saved}", f"badd {saved} | buffer {saved}"),
            f"call bufload(bufadd('{saved}')) | buffer {saved}",
            f"edit {saved.parent}",
        ]
        for way in ways:
            child.command(way)
            if way == f"edit {saved.parent}":
                # Neovim lists the directory. Open the chat from the list.
                child.lua("vim.fn.search([[^chat\\.md]])")
                child.keys("<CR>")
            child.wait("vim.endswith(vim.api.nvim_buf_get_name(0), 'chat.md')")
            check_is_a_chat(child)
            child.command("edit")
            check_is_a_chat(child)
            child.command("doautocmd BufReadPost")
            assert child.lua(SETTINGS) == SETTINGS_WITHOUT_MODELINE
            child.command("enew | bwipeout! #")


def test_the_modelines_of_a_chat_in_a_session_are_not_obeyed(home, saved, tmp_path):
    session = tmp_path / "Session.vim"
    with neovim(home, str(saved)) as child:
        check_is_a_chat(child)
        child.command(f"mksession {session}")
    with neovim(home, "-S", str(session)) as child:
        check_is_a_chat(child)


def test_the_modelines_of_a_file_that_is_opened_as_a_chat_are_not_obeyed(home, tmp_path):
    (tmp_path / "plain.md").write_text(f"Hello?\n{MODELINE}\n")
    with neovim(home) as child:
        child.command(f"Jumpseat {tmp_path / 'plain.md'}")
        assert child.lua(SETTINGS) == SETTINGS_WITHOUT_MODELINE
        assert child.lua("return vim.go.modeline") is True


@pytest.mark.parametrize(
    "text",
    [
        f"---\nmodel: sonnet\nname: reviewer\n---\n\nReview the code.\n\n{MODELINE}\n",
        f"# Notes\n\n## Me\n\n{MODELINE}\n",
    ],
    ids=["front matter of another tool", "a heading of another document"],
)
def test_another_document_is_not_a_chat(home, tmp_path, text):
    (tmp_path / "other.md").write_text(text)
    with running_neovim(home, str(tmp_path / "other.md")) as child:
        assert child.lua("return package.loaded['jumpseat.chat'] == nil")
        assert "default model" not in child.screen


def test_the_directory_of_new_chats_can_begin_with_a_tilde(home, provider):
    provider.script(Reply.events(completion_stream([f"Hi.\n\n{MODELINE}"])))
    with running_neovim(home, options={"directory": "~/notes"}) as child:
        child.command("cd ~")
        child.command("Jumpseat")
        child.command("write")
        (file,) = (home / "notes").iterdir()
        assert not (home / "~").exists()
    with running_neovim(home, str(file), options={"directory": "~/notes"}) as child:
        child.wait("require('jumpseat.core.chats').get(vim.api.nvim_get_current_buf())")


def test_the_reference_buffer_means_the_buffer_that_was_left_for_a_saved_chat(
    home, provider, saved, tmp_path
):
    provider.script(Reply.events(WORDS))
    (tmp_path / "a.py").write_text("x = 1\n")
    with running_neovim(home, str(tmp_path / "a.py")) as child:
        child.command(f"edit {saved}")
        child.ask("What is in @buffer?")
        child.wait_until_idle()
        assert "Hello there." in child.text
    assert "x = 1" in str(provider.requests[0].json)


MODIFIED = "return vim.bo.modified"


def test_neovim_quits_without_asking_to_save_a_chat_that_is_kept(home, provider, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    provider.script(Reply.events(WORDS), Reply.events(WORDS), Reply.events(WORDS))
    with running_neovim(home, str(tmp_path / "a.py")) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        assert child.lua(MODIFIED) is True
        child.wait("not vim.bo.modified")
        child.wait_until_idle()
        child.ask("What is in @buffer?")
        child.wait_for_text("a.py, line 1")
        child.wait("not vim.bo.modified")
        child.wait_until_idle()
        child.write("A draft.")
        assert child.lua(MODIFIED) is True
        assert child.lua("return pcall(vim.cmd, 'qall')") is False
        child.send()
        child.wait("not vim.bo.modified")
        child.wait_until_idle()
        child.lua("vim.defer_fn(function() vim.cmd('qall') end, 0)")
        child.wait_for_end()


def test_a_chat_with_text_that_is_not_kept_counts_as_modified(child, provider, tmp_path):
    gate = Gate()
    provider.script(hold_answer("Hello.", gate=gate), Reply.events(WORDS))
    child.ask("Hello?")
    child.wait_for_text("Hello.")
    child.keys("ggO> a note<Esc>")
    provider.open(gate)
    child.wait_until_idle()
    assert child.lua(MODIFIED) is True

    child.command(f"saveas {tmp_path / 'chat.md'}")
    child.ask("And now?")
    child.wait_until_idle()
    assert child.lua(MODIFIED) is True


def test_a_chat_counts_as_modified_if_the_option_keep_is_false(home, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(home, options={"keep": False}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_until_idle()
        assert child.lua(MODIFIED) is True
