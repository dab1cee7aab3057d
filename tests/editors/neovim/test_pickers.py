"""Kept conversations in the pickers of other plug-ins, in a real Neovim.

The pickers are not part of this project, and the tests do not install them: `JUMPSEAT_PICKERS` names a
directory with checkouts of snacks.nvim, fzf-lua (with the program fzf), telescope.nvim and plenary.nvim.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors.chats import list_kept_ids
from tests.editors.neovim.child import COLUMNS, Child, running_neovim

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PICKERS = {
    "snacks": ["snacks.nvim"],
    "fzf-lua": ["fzf-lua"],
    "telescope": ["plenary.nvim", "telescope.nvim"],
}


def load(child: Child, picker: str) -> None:
    """Load the plug-ins of a picker."""
    parent = os.environ.get("JUMPSEAT_PICKERS")
    if parent is None:
        pytest.skip("JUMPSEAT_PICKERS does not name a directory with the pickers")
    for name in PICKERS[picker]:
        child.lua("vim.opt.runtimepath:append(...)", str(Path(parent, name)))
        child.command("runtime! plugin/*.lua plugin/*.vim")


@pytest.fixture(params=PICKERS)
def child(request: pytest.FixtureRequest, home: Path, provider) -> Iterator[Child]:
    """A Neovim with one picker and two kept conversations."""
    with running_neovim(home) as running:
        load(running, request.param)
        running.command(f"set columns={2 * COLUMNS} lines=40")
        for question, answer in [("First?", "Red."), ("Second?", "Blue.")]:
            provider.script(Reply.events(completion_stream([answer])))
            running.command("Jumpseat!")
            running.ask(question)
            running.wait_for_text(answer)
            running.wait_until_idle()
        running.command("enew")
        yield running


def type_into_picker(child: Child, keys: str) -> None:
    """Type into the picker, once it shows both conversations."""
    child.wait_for_text("First?")
    child.wait_for_text("Second?")
    child.wait_for_mode("i", "t")
    child.keys(keys)


@pytest.mark.scenario("history-pickers")
def test_a_conversation_is_previewed_and_continued(child):
    child.command("Jumpseat history")
    child.wait_for_text("Blue.")
    type_into_picker(child, "First")
    child.wait_for_text("Red.")
    child.keys("<CR>")
    child.wait("vim.bo.filetype == 'jumpseat'")
    assert "First?" in child.text


@pytest.mark.scenario("history-pickers")
def test_marked_conversations_are_deleted_together(child, home):
    child.command("Jumpseat history")
    type_into_picker(child, "<Tab><Tab>")
    child.script_choices("Delete")
    child.keys("<C-x>")
    child.wait_for_choices()
    assert child.lua("return _G.prompts[1]") == "Delete 2 conversations?"
    child.wait("#_G.messages > 0")
    assert child.messages[0] == "jumpseat: 2 conversations were deleted."
    assert list_kept_ids(home) == []


def test_a_key_shows_further_actions(child):
    child.command("Jumpseat history")
    type_into_picker(child, "Second")
    child.lua("""
        vim.ui.select = function(items)
          _G.names = vim.tbl_map(function(each) return each.name end, items)
        end
    """)
    child.keys("<C-o>")
    child.wait("_G.names ~= nil")
    assert "Suggest a title" in child.lua("return _G.names")


@pytest.mark.scenario("history-pickers")
@pytest.mark.parametrize(
    ("program", "chosen", "picker"),
    [(None, None, "select"), ("fzf", None, "fzf-lua"), ("sk", None, "select"), ("sk", "sk", "fzf-lua")],
)
def test_fzf_lua_is_used_only_with_its_program(home, tmp_path, program, chosen, picker):
    if program is not None:
        (tmp_path / program).symlink_to("/bin/true")
    with running_neovim(home) as child:
        load(child, "fzf-lua")
        child.lua("vim.env.PATH = ...", str(tmp_path))
        if chosen is not None:
            child.lua("require('fzf-lua').setup({ fzf_bin = ... })", chosen)
        assert child.lua("return require('jumpseat.chat.pickers').find()") == picker


@pytest.mark.scenario("history-pickers")
def test_fzf_lua_is_used_with_the_program_that_the_plug_in_of_fzf_finds(home, tmp_path):
    program = tmp_path / "elsewhere"
    program.symlink_to("/bin/true")
    plugin = tmp_path / "fzf.vim"
    plugin.write_text(f"function! fzf#exec()\n  return '{program}'\nendfunction\n")
    with running_neovim(home) as child:
        load(child, "fzf-lua")
        child.lua("vim.env.PATH = ...", str(tmp_path))
        child.lua("vim.cmd.source(...)", str(plugin))
        assert child.lua("return require('jumpseat.chat.pickers').find()") == "fzf-lua"
