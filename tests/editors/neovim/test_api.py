"""The Lua functions, events, file type and highlight groups of the plug-in."""

from __future__ import annotations

import re

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import PLUGIN, running_neovim
from tests.editors.provider import MODELS, WORDS, hold_answer, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

HELP = (PLUGIN / "doc" / "jumpseat.txt").read_text("utf-8")


@pytest.mark.scenario("lua-api")
def test_ask_streams_the_answer_to_a_function(home, provider, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    provider.script(Reply.events(completion_stream(["It ", "is two."])))
    with running_neovim(home, str(tmp_path / "a.py")) as child:
        child.lua("""
            _G.text = ''
            require('jumpseat').ask({
              question = 'What is y?', buffer = 0, first = 2, last = 2, system = 'Be brief.',
              on_delta = function(text) _G.text = _G.text .. text end,
              on_done = function(err, result)
                _G.done = { err or vim.NIL, result.text, result.stopReason }
              end,
            })
        """)
        child.wait("_G.done")
        assert child.lua("return _G.done") == [None, "It is two.", "end_turn"]
        assert child.lua("return _G.text") == "It is two."
        assert child.lua("return #require('jumpseat').chats()") == 0
    system, question = list_sent_texts(provider, 0)
    assert system == "Be brief."
    assert "y = 2" in question
    assert "x = 1" not in question


def test_a_question_from_lua_can_be_stopped_and_reports_errors(child, provider):
    provider.script(hold_answer("Half", gate=Gate()), Reply.json({"error": {"message": "Wrong key."}}, 401))
    child.lua("""
        _G.turn = require('jumpseat').ask({ question = 'A story.',
          on_delta = function(text) _G.text = text end, on_done = function(err) _G.stopped = err.code end })
    """)
    child.wait("_G.text == 'Half'")
    child.lua("_G.turn.stop()")
    child.wait("_G.stopped")
    assert child.lua("return _G.stopped") == -32800
    child.lua("require('jumpseat').ask({ question = 'Hi', on_done = function(err) _G.err = err end })")
    child.wait("_G.err")
    assert child.lua("return _G.err.code") == 1000


def test_edit_rewrites_the_lines_of_a_buffer(home, provider, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    provider.script(Reply.events(completion_stream(["y = 3\n"])))
    with running_neovim(home, str(tmp_path / "a.py")) as child:
        child.lua("require('jumpseat').edit({ instruction = 'Add one.', first = 2, last = 2 })")
        child.wait("#_G.messages == 1")
        child.command("Jumpseat accept")
        assert child.text == "x = 1\ny = 3"


def test_chats_and_models_are_listed(child, provider):
    provider.script(MODELS, path="/v1/models")
    provider.script(Reply.events(WORDS))
    child.ask("Hello?")
    child.wait_until_idle()
    (chat,) = child.lua("return require('jumpseat').chats()")
    assert chat["model"] == "fake:fake-model"
    assert chat["conversation"]
    assert "state" not in chat
    child.lua("require('jumpseat').models(function(err, models) _G.models = models end)")
    child.wait("_G.models")
    assert "fake:other-model" in [each["id"] for each in child.lua("return _G.models")]


@pytest.mark.scenario("lua-api")
def test_events_report_the_turns(home, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(home) as child:
        child.lua("""
            _G.events = {}
            vim.api.nvim_create_autocmd('User', { pattern = 'Jumpseat*', callback = function(args)
              table.insert(_G.events, args.match)
            end })
        """)
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_until_idle()
        found = child.lua("return _G.events")
        assert found == ["JumpseatChatOpened", "JumpseatTurnStarted", "JumpseatTurnEnded"]


def test_a_chat_has_its_own_file_type_with_the_highlighting_of_markdown(child, provider):
    assert child.lua("return vim.bo.filetype") == "jumpseat"
    assert child.lua("return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil")
    assert child.lua("return vim.bo.comments") == child.lua("""
        local buf = vim.api.nvim_create_buf(false, true)
        vim.bo[buf].filetype = 'markdown'
        return vim.bo[buf].comments
    """)
    child.lua("vim.api.nvim_buf_set_lines(0, -1, -1, false, { '', '# Title' })")
    row = child.lua("return vim.api.nvim_buf_line_count(0) - 1")
    child.lua("vim.treesitter.get_parser(0):parse(true)")
    captures = child.lua("return vim.treesitter.get_captures_at_pos(0, ..., 2)", row)
    assert "markup.heading.1" in [each["capture"] for each in captures]


def test_a_long_chat_is_highlighted_without_tree_sitter(child, provider):
    provider.script(Reply.events(WORDS))
    child.lua("vim.api.nvim_buf_set_lines(0, -1, -1, false, vim.split(('line\\n'):rep(1200), '\\n'))")
    child.ask("Long?")
    child.wait_until_idle()
    assert child.lua("return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] == nil")
    assert child.lua("return vim.bo.syntax") == "markdown"


def test_highlight_groups_are_linked_by_default_and_can_be_changed(home):
    with running_neovim(home) as child:
        child.command("highlight JumpseatError guifg=#123456")
        child.command("Jumpseat")
        assert child.lua("return vim.api.nvim_get_hl(0, { name = 'JumpseatLabel' }).link") == "Comment"
        assert child.lua("return vim.api.nvim_get_hl(0, { name = 'JumpseatError' }).fg") == 0x123456
        child.command("highlight clear")
        assert child.lua("return vim.api.nvim_get_hl(0, { name = 'JumpseatLabel' }).link") == "Comment"
        groups = child.lua("return vim.tbl_keys(require('jumpseat.core.highlights'))")
    assert all(f"*hl-{group}*" in HELP for group in groups)


def test_every_option_command_event_and_function_has_a_help_tag(child):
    names = child.lua("return vim.tbl_keys(require('jumpseat.commands').subcommands)")
    assert [name for name in names if f"*:Jumpseat-{name}*" not in HELP] == []
    config = (PLUGIN / "lua" / "jumpseat" / "core" / "config.lua").read_text("utf-8")
    options = re.findall(r"^---@field (\w+)\?", config, re.MULTILINE)
    assert len(options) > 10
    assert [name for name in options if f"*jumpseat-option-{name}*" not in HELP] == []
    sources = "".join(file.read_text("utf-8") for file in PLUGIN.glob("lua/**/*.lua"))
    events = set(re.findall(r"\bfire\('(\w+)'", sources))
    assert len(events) > 4
    assert [name for name in events if f"*Jumpseat{name}*" not in HELP] == []
    functions = child.lua("return vim.tbl_keys(require('jumpseat'))")
    public = [name for name in functions if not name.startswith("_") and name != "setup"]
    assert [name for name in public if f"*jumpseat.{name}()*" not in HELP] == []
