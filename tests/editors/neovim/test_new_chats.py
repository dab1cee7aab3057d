"""New chats: the heading that the configuration names, and undo."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import running_neovim
from tests.editors.programs import slow_program
from tests.editors.provider import WORDS, fake, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

ROLES = 'roles = { user = "Ich", assistant = "KI" }\n'


@pytest.fixture
def german(home, provider):
    """The home directory, with German headings in the configuration."""
    write_config(home, provider.base_url, ROLES)
    return home


def wait_for_a_later_response(child):
    """Wait for the response to a new request. The plug-in has then received the headings for its own one."""
    child.lua(
        "require('jumpseat.daemon.transcript').fetch_headings(nil, function() _G.is_answered = true end)"
    )
    child.wait("_G.is_answered")


def test_a_new_chat_gets_the_configured_heading_in_insert_mode(german):
    with running_neovim(german) as child:
        child.command("Jumpseat")
        child.keys("i")
        child.wait("vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == '## Ich'")
        assert child.lua("return vim.bo.modified") is False
        assert child.lua("return vim.api.nvim_win_get_cursor(0)") == [3, 0]
        child.keys("<Esc>u")
        assert child.text == "## Ich\n\n"


def test_a_new_chat_that_is_sent_without_insert_mode_gets_that_heading(german, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(german) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_until_idle()
        assert child.body.startswith("## Ich\n\nHello?\n\n## KI\n\n")


def test_a_new_chat_gets_the_configured_heading_once_the_program_is_found(german, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(german) as child:
        child.lua("_G.options = vim.g.jumpseat")
        child.lua("vim.g.jumpseat = vim.tbl_extend('force', _G.options, { command = { 'no-such-program' } })")
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("The program no-such-program was not found.")
        assert child.text == "## Me\n\nHello?"
        child.lua("vim.g.jumpseat = _G.options")
        child.send()
        child.wait_until_idle()
        assert child.body.startswith("## Ich\n\nHello?\n\n## KI\n\n")


def test_a_question_of_jumpseat_ask_has_the_configured_heading(german, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(german) as child:
        child.command("Jumpseat ask Hello?")
        child.wait("#vim.api.nvim_buf_get_lines(0, 0, -1, false) > 12")
        assert child.body == "## Ich\n\nHello?\n\n## KI\n\nHello there.\n\n## Ich\n\n"


def test_the_model_of_a_new_chat_determines_its_heading(home, provider):
    # Only the second provider has German headings.
    (home / "config.toml").write_text(
        'default_provider = "fake"\n'
        + fake(provider.base_url)
        + fake(provider.base_url).replace("providers.fake", "providers.deutsch")
        + ROLES
    )
    with running_neovim(home, options={"model": "deutsch:fake-model"}) as child:
        child.command("Jumpseat")
        child.wait("require('jumpseat.daemon.client').info()")  # Wait for the daemon, which checks the model.
        child.command("Jumpseat!")
        child.wait("vim.api.nvim_buf_get_lines(0, 4, 5, false)[1] == '## Ich'")
        assert child.text == "---\nmodel: deutsch:fake-model\n---\n\n## Ich\n\n"
        child.lua("local o = vim.g.jumpseat o.model = nil vim.g.jumpseat = o")
        child.command("Jumpseat!")
        wait_for_a_later_response(child)
        assert child.text == "## Me\n\n"


def test_the_heading_above_newly_typed_text_is_replaced(german, tmp_path):
    go = tmp_path / "go"
    with running_neovim(german, options={"command": slow_program(tmp_path, go)}) as child:
        child.command("Jumpseat")
        child.keys("iHel")
        assert child.text == "## Me\n\nHel"
        go.touch()
        child.wait("vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == '## Ich'")
        child.keys("lo<Esc>")
        assert child.text == "## Ich\n\nHello"
        child.keys("u")
        assert child.text.endswith("\n\n")


def test_a_heading_that_the_user_has_changed_stays(german, tmp_path):
    go = tmp_path / "go"
    with running_neovim(german, options={"command": slow_program(tmp_path, go)}) as child:
        child.command("Jumpseat")
        child.keys("ggA!<Esc>")
        go.touch()
        wait_for_a_later_response(child)
        assert child.text == "## Me!\n\n"


def test_a_file_that_does_not_exist_becomes_a_new_chat(child, tmp_path):
    file = tmp_path / "sky.md"
    child.command(f"Jumpseat {file}")
    assert child.text == "## Me\n\n"
    child.command("write")
    assert file.read_text("utf-8") == "## Me\n\n\n"


def test_undo_goes_back_to_the_text_that_a_new_chat_begins_with(child):
    child.keys("iHello?<Esc>uu")
    assert child.text == "## Me\n\n"
