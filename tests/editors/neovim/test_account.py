"""Models, settings, sign-ins, status, logs and the installation."""

from __future__ import annotations

from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import running_neovim
from tests.editors.provider import MODELS, WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PICK = """
    _G.offered = {}
    vim.ui.select = function(items, options, choose)
      for _, item in ipairs(items) do
        local text = (options.format_item or tostring)(item)
        table.insert(_G.offered, text)
        if text:find(_G.pick, 1, true) then choice = item end
      end
      choose(choice)
    end
"""


@pytest.mark.scenario("model-change")
def test_a_picked_model_is_named_in_the_front_matter_and_used_by_the_next_turn(child, provider):
    provider.default(MODELS, path="/v1/models")
    provider.script(Reply.events(WORDS), Reply.events(WORDS), path="/v1/chat/completions")
    child.ask("First.")
    child.wait_until_idle()
    child.lua("_G.pick = ...", "fake:other-model")
    child.lua(PICK)
    child.command("Jumpseat model")
    child.wait("vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == 'model: fake:other-model'")
    assert any(
        line.startswith("fake:fake-model") and line.endswith("default")
        for line in child.lua("return _G.offered")
    )
    child.ask("Second.")
    child.wait_until_idle()
    chats = [request for request in provider.requests if request.path == "/v1/chat/completions"]
    assert [request.json["model"] for request in chats] == ["fake-model", "other-model"]
    assert child.text.count("## Assistant") == 2


def test_a_model_that_is_named_outside_of_a_chat_becomes_the_default(home: Path) -> None:
    with running_neovim(home) as child:
        child.command("Jumpseat model fake:other-model")
        child.wait("#_G.messages == 1")
        assert "is now the default model" in child.messages[0]


def test_a_wrong_default_model_is_refused_with_similar_names(home, provider):
    provider.default(MODELS, path="/v1/models")
    with running_neovim(home) as child:
        child.command("Jumpseat model fake:fake-modle")
        child.wait("#_G.messages == 1")
        assert "fake:fake-model" in child.messages[0]
        assert "is now the default model" not in child.messages[0]
        child.command("Jumpseat")
        child.wait_for_text("default model")


def test_a_default_model_that_the_configuration_overrides_is_reported(home: Path) -> None:
    file = home / "config.toml"
    file.write_text('default_model = "fake:fake-model"\n' + file.read_text())
    with running_neovim(home) as child:
        child.command("Jumpseat model fake:other-model")
        child.wait("#_G.messages == 1")
        assert f'no effect here: {file} sets it to "fake:fake-model"' in child.messages[0]


def test_the_question_slash_model_chooses_the_model_and_is_not_sent(child, provider):
    child.ask("/model fake:other-model")
    child.wait("vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == 'model: fake:other-model'")
    assert "/model" not in child.text
    assert provider.requests == []


@pytest.mark.scenario("settings")
def test_settings_are_completed_explained_and_refused_with_the_rule(child, provider):
    child.lua(
        "vim.api.nvim_buf_set_lines(0, 0, 0, false, { '---', 'model: fake:fake-model', '', '---', '' })"
    )
    child.lua("require('jumpseat.daemon.lists').providers:get(function() _G.listed = true end)")
    child.wait("_G.listed")
    child.lua("vim.api.nvim_win_set_cursor(0, { 3, 0 })")
    child.keys("Atemp<C-x><C-o> 9<Esc>")
    assert "temperature: 9" in child.text
    child.wait("#vim.diagnostic.get(0) == 1")
    found = child.lua("return vim.diagnostic.get(0)[1]")
    place = [found[key] for key in ("lnum", "col", "end_col", "message")]
    assert place == [2, 0, 14, "settings.temperature must be at most 2."]

    child.lua("vim.api.nvim_win_set_cursor(0, { 3, 3 })")
    child.keys("K")
    child.wait_for_text("Higher values are more random")
    child.keys("$")
    child.wait("#vim.api.nvim_list_wins() == 1")
    child.keys("K")
    child.wait_for_text("Higher values are more random")
    child.keys("$r1")
    child.wait("#vim.diagnostic.get(0) == 0")
    assert provider.requests == []


def test_the_status_lists_the_providers_and_the_daemon(child):
    child.command("Jumpseat status")
    child.wait_for_text("fake: configured")
    assert f"jumpseat {jumpseat.__version__}" in child.screen
    assert "copilot: signed out" in child.screen


def test_a_sign_in_is_offered_only_for_providers_that_have_one(child):
    child.lua("require('jumpseat.daemon.lists').providers:get(function() _G.listed = true end)")
    child.wait("_G.listed")
    assert child.lua("return vim.fn.getcompletion('JumpseatLogin ', 'cmdline')") == ["copilot"]

    child.command("Jumpseat login fake")
    child.wait("#_G.messages > 0")
    assert "There is no sign-in to fake: its key is set in the configuration." in child.messages[0]
    assert "Store the API key of fake" in child.messages[0]


def test_hints_name_the_commands_of_the_plug_in(empty_home):
    with running_neovim(empty_home) as child:
        child.script_choices("Not now")
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_choices()
        child.wait_for_text("✗ ")
        words = " ".join(child.screen.split())
        assert "run `:Jumpseat login`" in words
        assert "jumpseat login" not in words


def test_the_logs_are_opened(child):
    child.lua("for line = 1, 40 do require('jumpseat.core.log').write('%d', line) end")
    child.command("Jumpseat log")
    child.wait("vim.api.nvim_buf_get_name(0):find('jumpseat') ~= nil")
    assert "the log was opened" in child.lua(
        "return table.concat(vim.fn.readfile(require('jumpseat.core.log').path()), ' ')"
    )
    child.wait_for_text("the log was opened")
    assert child.lua("return vim.fn.line('.') == vim.fn.line('$')")


def test_the_health_check_names_the_program_and_the_providers(child):
    child.command("checkhealth jumpseat")
    assert "Program: " in child.text
    assert f"jumpseat {jumpseat.__version__} answers" in child.text
    assert "fake: configured" in child.text


def test_a_user_without_a_provider_is_offered_a_sign_in_or_the_local_model(empty_home):
    with running_neovim(empty_home) as child:
        child.lua("_G.pick = 'Not now'")
        child.lua(PICK)
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait("_G.offered and #_G.offered == 3")
        assert child.lua("return _G.offered") == ["Sign in", "Install the local model", "Not now"]
        child.wait_for_text("✗ ")
        assert child.text == "## Me\n\nHello?"


def test_the_health_check_reports_versions_clipboard_and_completion(child, tmp_path):
    child.command("checkhealth jumpseat")
    version = child.lua("return tostring(vim.version())")
    assert f"Neovim {version} is recent enough for jumpseat " in child.text
    assert "Neither blink.cmp nor nvim-cmp is installed" in child.text
    assert "The history is listed in vim.ui.select" in child.text
    (tmp_path / "lua").mkdir()
    (tmp_path / "lua" / "cmp.lua").write_text("return {}")
    child.command(f"set rtp+={tmp_path}")
    child.lua("""
        local function ignore() end
        local paste = function() return { {}, 'v' } end
        vim.g.clipboard = { name = 'test', copy = { ['+'] = ignore, ['*'] = ignore },
          paste = { ['+'] = paste, ['*'] = paste } }
        vim.g.loaded_clipboard_provider = nil
        vim.cmd('runtime autoload/provider/clipboard.vim')
    """)
    child.command("checkhealth jumpseat")
    assert "Completion in chats through nvim-cmp" in child.text
    assert "There is a clipboard" in child.text


def test_the_health_check_reports_a_daemon_of_another_version(child):
    child.lua("require('jumpseat.core.config').version = '9.9.9'")
    child.command("checkhealth jumpseat")
    answers = f"jumpseat {jumpseat.__version__} answers, but this plug-in was made for 9.9.9."
    assert answers in child.text
