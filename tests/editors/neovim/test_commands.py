"""`:Jumpseat` with its subcommands, the keys of chats, and the windows in which chats open."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import running_neovim
from tests.editors.provider import WORDS, hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def test_subcommands_are_completed_and_unknown_ones_refused(child):
    found = child.lua("return vim.fn.getcompletion('Jumpseat s', 'cmdline')")
    assert found == ["send", "setting", "status", "stop"]
    child.command("Jumpseat snd")
    assert child.messages == ["jumpseat: There is no subcommand snd. See :help jumpseat-commands."]
    every = child.lua("return vim.fn.getcompletion('Jumpseat ', 'cmdline')")
    assert {"open", "toggle", "regenerate", "tools", "approve"} <= set(every)


def test_every_plug_map_runs_a_subcommand(child):
    known, unknown = child.lua("""
        local subcommands = require('jumpseat.commands').subcommands
        local known, unknown = {}, {}
        for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
          local name = map.lhs:match('^<Plug>%(jumpseat%-(.+)%)$')
          if name then
            local is_known = subcommands[name] and map.rhs:find('Jumpseat ' .. name, 1, true)
            table.insert(is_known and known or unknown, name)
          end
        end
        return { known, unknown }
    """)
    assert len(known) > 10
    assert unknown == []


def test_every_key_runs_a_subcommand_and_is_free_outside_of_chats(child):
    missing = child.lua("""
        local subcommands = require('jumpseat.commands').subcommands
        return vim.tbl_filter(function(each)
          return not subcommands[each.command] or vim.fn.maparg(each.keys[1], 'n', false, true).buffer ~= 1
        end, require('jumpseat.input.keys').KEYS)
    """)
    assert missing == []
    child.command("enew")
    assert child.lua("return vim.fn.maparg('gr', 'n')") == ""


@pytest.mark.scenario("chat-keys")
def test_keys_send_and_stop_and_a_question_mark_lists_the_keys(child, provider):
    gate = Gate()
    provider.script(hold_answer("Half", gate=gate))
    child.write("A story.")
    child.keys("<CR>")
    child.wait_for_text("Half")
    child.keys("q")
    child.wait_until_idle()
    child.wait_for_text("stopped")
    provider.script(Reply.events(WORDS))
    child.keys("iGo on.<C-s>")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    child.keys("?")
    child.wait_for_text("Keys in a chat")
    screen = child.screen
    assert "<CR> <C-s>  send the question" in screen
    assert "<C-s>       send the question, in Insert mode" in screen
    assert "gr" in screen
    assert "ask the question at the cursor again" in screen
    child.keys("q")
    assert "Keys in a chat" not in child.screen


def test_keys_can_be_changed_and_switched_off(home):
    keys = {"send": "<F5>", "stop": False}
    with running_neovim(home, options={"keys": keys}) as child:
        child.command("Jumpseat")
        assert child.lua("return vim.fn.maparg('<F5>', 'n')") == "<Cmd>Jumpseat send<CR>"
        assert child.lua("return vim.fn.maparg('<CR>', 'n') .. vim.fn.maparg('q', 'n')") == ""
        assert child.lua("return vim.fn.maparg('gr', 'n')") == "<Cmd>Jumpseat regenerate<CR>"
        child.lua("require('jumpseat').setup({ keys = false })")
        child.command("Jumpseat!")
        assert child.lua("return vim.fn.maparg('gr', 'n')") == ""
        child.command("Jumpseat keys")
        child.wait_for_text("The option keys is false.")


@pytest.mark.scenario("chat-keys")
def test_keys_show_the_next_chat_and_close_a_chat(child):
    first = child.lua("return vim.api.nvim_get_current_buf()")
    child.command("Jumpseat!")
    second = child.lua("return vim.api.nvim_get_current_buf()")
    shown = []
    for keys in ("}", "}", "{"):
        child.keys(keys)
        shown.append(child.lua("return vim.api.nvim_get_current_buf()"))
    assert shown == [first, second, first]
    child.command("split")
    child.keys("<C-c>")
    assert child.lua("return vim.fn.win_findbuf(...)", first) == []
    assert child.lua("return vim.api.nvim_buf_is_loaded(...)", first) is True


def test_toggle_hides_the_chats_and_opens_the_last_one(home, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("text\n")
    with running_neovim(home, str(file), options={"window": "right"}) as child:
        child.command("Jumpseat toggle")
        chat = child.lua("return vim.api.nvim_get_current_buf()")
        assert child.lua("return #vim.api.nvim_list_wins()") == 2
        child.command("Jumpseat toggle")
        assert child.lua("return #vim.api.nvim_list_wins()") == 1
        assert child.text == "text"
        child.command("Jumpseat toggle")
        assert child.lua("return vim.api.nvim_get_current_buf()") == chat
        child.command("only")
        child.command("Jumpseat toggle")
        assert child.text == "text"


@pytest.mark.parametrize(
    ("window", "size", "place"),
    [
        ("right", 30, [0, 50, 30]),
        ("left", 0.25, [0, 0, 20]),
        ("below", 8, [14, 0, 80]),
        ("above", 8, [0, 0, 80]),
        ("float", None, [1, 8, 64]),
        ("tab", None, [1, 0, 80]),
    ],
)
def test_the_option_window_determines_where_a_chat_opens(home, window, size, place):
    options = {"window": window} if size is None else {"window": window, "size": size}
    with running_neovim(home, options=options) as child:
        child.command("set laststatus=2")
        child.command("Jumpseat")
        child.wait_for_text("## Me")
        found = child.lua("""
            local row, column = unpack(vim.api.nvim_win_get_position(0))
            return { row, column, vim.api.nvim_win_get_width(0) }
        """)
        assert found == place
        if window in ("above", "below"):
            assert child.lua("return vim.api.nvim_win_get_height(0)") == size


def test_a_floating_chat_is_resized_with_the_screen(home):
    with running_neovim(home, options={"window": "float"}) as child:
        child.command("Jumpseat")
        child.command("set columns=60")
        child.wait("vim.api.nvim_win_get_width(0) == 48")
