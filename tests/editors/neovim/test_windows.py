"""Windows of chats, and commands that run in the window of a file."""

from __future__ import annotations

import time

import pytest

from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import running_neovim
from tests.editors.programs import WAIT_SECONDS
from tests.editors.provider import hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]

WINDOWS = "return #vim.api.nvim_list_wins()"


def test_a_chat_opens_in_the_window_of_the_previous_chat(home, tmp_path):
    (tmp_path / "chat.md").write_text("## Me\n\nSaved?\n")
    with running_neovim(home, options={"window": "botright vsplit"}) as child:
        child.command("set nohidden")
        child.command("Jumpseat")
        child.keys("iFirst?<Esc>")
        assert child.lua(WINDOWS) == 2
        child.command("Jumpseat!")
        child.keys("iSecond?<Esc>")
        child.command("wincmd p")
        child.command(f"Jumpseat {tmp_path / 'chat.md'}")
        child.wait_for_text("Saved?")
        assert child.lua(WINDOWS) == 2
        texts = child.lua(
            "return vim.tbl_map(function(buf) return table.concat("
            "vim.api.nvim_buf_get_lines(buf, 0, -1, false), ' ') end, require('jumpseat.core.chats').list())"
        )
        assert [text.strip() for text in texts] == ["## Me  First?", "## Me  Second?", "## Me  Saved?"]


def test_the_only_answer_is_stopped_from_any_window(home, provider, tmp_path):
    provider.script(hold_answer("Half", gate=Gate()), Reply.events([Gate()]), Reply.events([Gate()]))
    with running_neovim(home, options={"window": "botright vsplit"}) as child:
        child.command(f"edit {tmp_path / 'a.py'}")
        child.command("Jumpseat")
        child.ask("Question.")
        child.wait_for_text("Half")
        child.command("wincmd p")
        child.stop()
        provider.wait_for_disconnect(1)
        child.wait_for_text("stopped")
        child.stop()
        assert child.messages == ["jumpseat: Nothing is running in this buffer."]

        child.command("wincmd p")
        child.ask("Question.")
        child.command("Jumpseat!")
        child.ask("Question.")
        provider.wait_for_request(3)
        child.command("wincmd p")
        child.stop()
        assert child.messages[1] == (
            "jumpseat: Several chats are being answered. Run :Jumpseat stop in one of them."
        )


DRAWN = """
local cells = {}
for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(1, column) end
return table.concat(cells)
"""
"""Returns the first line of the screen. Unlike `Child.screen`, this does not redraw the screen first."""


def test_the_bar_of_a_chat_is_drawn_again_when_its_state_changes(child):
    child.attach_terminal()
    child.command("redraw!")
    child.lua("require('jumpseat.display.view').update(vim.api.nvim_get_current_buf(), { quota = 'half' })")
    deadline = time.monotonic() + WAIT_SECONDS
    while "default model · half" not in child.lua(DRAWN):
        assert time.monotonic() < deadline, child.lua(DRAWN)
        time.sleep(0.01)
