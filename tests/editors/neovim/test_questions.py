"""Questions with references and with prompts, and their completion."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.provider import WORDS, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PROMPTS = """
[prompts.tidy]
text = "Tidy this:\\n{{input}}"
description = "Clean code"
system = "Be tidy."
settings = { temperature = 0.5 }

[prompts.words]
text = "Say some words."
"""


@pytest.fixture
def prompting(home: Path) -> Path:
    """The home directory, with prompts in the configuration."""
    with (home / "config.toml").open("a") as config:
        config.write(PROMPTS)
    return home


def complete_line(child: Child, text: str) -> list[str]:
    """Replace the last line with this text, and return the completions of its last word."""
    code = """
        local line = ...
        vim.o.virtualedit = 'onemore'
        vim.api.nvim_buf_set_lines(0, -2, -1, false, { line })
        vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), #line })
        local words
        require('jumpseat.input.complete').request(function(items)
          words = vim.tbl_map(function(item) return item.word end, items)
        end)
        vim.wait(20000, function() return words end)
        return words
    """
    return list(child.lua(code, text))


def test_references_become_context_blocks_in_the_question(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    child.command(f"edit {tmp_path / 'a.py'}")
    child.command("Jumpseat")
    child.ask(f"Compare (see @buffer) with @file:{tmp_path / 'b.py'}.")
    child.wait_until_idle()
    sent = str(provider.requests[0].json["messages"])
    assert sent.index("# a.py") < sent.index("# b.py") < sent.index("Compare (see @buffer)")
    # The question got longer; the window still follows the answer.
    assert child.lua("return vim.fn.line('.') == vim.fn.line('$')")
    assert child.text.count("```context") == 2


def test_a_file_with_changes_that_are_not_saved_is_sent_as_it_is_in_the_editor(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    (tmp_path / "a.py").write_text("x = 1\n")
    child.command(f"edit {tmp_path / 'a.py'}")
    child.command("substitute/1/2/")
    child.command("Jumpseat")
    child.ask(f"Is @file:{tmp_path / 'a.py'} right?")
    child.wait_until_idle()
    sent = list_sent_texts(provider, 0)[0]
    assert "x = 2" in sent
    assert "x = 1" not in sent


def test_a_reference_to_a_missing_file_is_an_error_and_nothing_is_sent(child, provider):
    child.ask("Read @file:/nowhere/at/all.")
    child.wait_for_text("cannot be read")
    child.wait_until_idle()
    assert provider.requests == []


def test_a_path_with_spaces_is_completed_and_read_in_double_quotes(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    (tmp_path / "my dir").mkdir()
    (tmp_path / "my dir" / "a file.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 2\n")
    path = f"{tmp_path}/my dir"
    assert complete_line(child, f"see @file:{tmp_path}/my") == [f'@file:"{path}/']
    assert complete_line(child, f'see @file:"{path}/a f') == [f'@file:"{path}/a file.py"']
    assert complete_line(child, f'see @file:"{tmp_path}/b') == [f'@file:"{tmp_path}/b.py"']
    child.keys(f"S<C-r>='Compare @file:\"{path}/a f'<CR><C-x><C-o><Esc>")
    assert child.lua("return vim.api.nvim_get_current_line()") == f'Compare @file:"{path}/a file.py"'
    child.ask(f' and "@file:{tmp_path}/b.py" with @file:"{tmp_path}/b.py", now.')
    child.wait_until_idle()
    sent = list_sent_texts(provider, 0)[0]
    assert sent.count("y = 2") == 1
    assert sent.index("x = 1") < sent.index("y = 2") < sent.index("Compare @file")


def test_an_image_is_sent_as_an_image_and_folded_and_other_bytes_are_refused(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    image = b"\x89PNG\r\n\x1a\n\0\0" + 3000 * b"\xff"
    (tmp_path / "x.png").write_bytes(image)
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04\0\0")
    child.command(f"edit {tmp_path / 'x.png'}")
    child.command("Jumpseat")
    child.ask(f"What is in @file:{tmp_path / 'x.zip'}?")
    child.wait_until_idle()
    shown = " ".join(child.screen.split())  # The path decides where the message is wrapped.
    assert "is neither text nor an image (PNG, JPEG, GIF or WebP)." in shown
    assert provider.requests == []

    child.keys(f"S<C-r>='What is in @file:{tmp_path / 'x.png'}?'<CR><Esc>")
    child.send()
    child.wait_until_idle()
    data = base64.b64encode(image).decode()
    (question,) = provider.requests[0].json["messages"]
    kinds = [part["type"] for part in question["content"]]
    assert sorted(kinds) == ["image_url", "text"]
    assert (
        question["content"][kinds.index("image_url")]["image_url"]["url"] == f"data:image/png;base64,{data}"
    )
    assert data in child.text
    child.wait_for_text("▸ Image (3 kB)")
    child.command("write")
    child.command("edit")
    child.wait_for_text("▸ Image (3 kB)")


def test_an_image_for_a_model_without_vision_is_refused(home, provider, tmp_path):
    with (home / "config.toml").open("a") as config:
        config.write('models = [{ id = "fake-model", supports_vision = false }]\n')
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    with running_neovim(home) as child:
        child.command("Jumpseat")
        child.ask(f"What is in @file:{tmp_path / 'x.png'}?")
        child.wait_for_text("✗ ")
        child.wait_until_idle()
        assert "does not accept images" in " ".join(child.screen.split())
    assert provider.requests == []


def test_the_selection_and_the_diagnostics_of_the_last_buffer_become_blocks(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    (tmp_path / "a.py").write_text("x = 1\ny = 2\nz = ü + 3\n", "utf-8")
    child.command(f"edit {tmp_path / 'a.py'}")
    child.lua("""
        local name = vim.api.nvim_create_namespace('test')
        vim.diagnostic.set(name, 0, { { lnum = 2, col = 4, message = 'ü is unknown', severity = 1 } })
    """)
    child.keys("ggjV<Esc>")
    child.command("Jumpseat")
    child.ask("Is @selection right? See @diagnostics.")
    child.wait_until_idle()
    sent = list_sent_texts(provider, 0)[0]
    assert "y = 2" in sent
    assert "x = 1" not in sent
    assert "3:5: ERROR: ü is unknown" in sent
    assert f"```context uri=file://{tmp_path}/a.py language=python range=1:0-2:0\ny = 2\n" in child.text
    assert child.text.count("```context") == 2


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("@selection", "@selection: nothing was selected in the last buffer."),
        ("@buffer", "@buffer: there is no buffer for it to refer to. Open a file first."),
    ],
)
def test_a_reference_that_refers_to_nothing_is_an_error_and_nothing_is_sent(
    home, provider, tmp_path, word, reason
):
    (tmp_path / "a.py").write_text("x = 1\n")
    files = [str(tmp_path / "a.py")] if word == "@selection" else []
    with running_neovim(home, *files) as child:
        child.command("Jumpseat")
        child.ask(f"What is {word} ?")
        child.wait_for_text(reason)
        child.wait_until_idle()
    assert provider.requests == []


def test_a_prompt_replaces_the_question_and_sets_the_front_matter(prompting, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(prompting) as child:
        child.command("Jumpseat")
        child.ask("/tidy x=1\ny=2")
        child.wait_until_idle()
        assert child.body.startswith("## Me\n\nTidy this:\nx=1\ny=2\n\n## Assistant\n")
        assert "\nsystem: Be tidy.\nsettings:\n  temperature: 0.5\n" in child.text
    sent = provider.requests[0].json
    assert sent["temperature"] == 0.5
    assert [message["content"] for message in sent["messages"]] == ["Be tidy.", "Tidy this:\nx=1\ny=2"]


def test_values_in_the_front_matter_take_precedence_over_those_of_a_prompt(prompting, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(prompting) as child:
        child.command("Jumpseat")
        head = ["---", "system: Be quick.", "temperature: 1", "---", ""]
        child.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, ...)", head)
        child.ask("/tidy")
        child.wait_until_idle()
    sent = provider.requests[0].json
    assert (sent["temperature"], sent["messages"][0]["content"]) == (1, "Be quick.")


def test_a_prompt_on_a_range_follows_the_block_with_the_range(prompting, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    (tmp_path / "a.py").write_text("x = 1\n")
    with running_neovim(prompting, str(tmp_path / "a.py")) as child:
        child.command("1JumpseatAsk /words")
        child.wait_for_text("Hello there.")
        assert "x = 1\n\n```\n\nSay some words.\n" in child.text


def test_an_unknown_prompt_is_an_error_with_similar_names_and_nothing_is_sent(prompting, provider):
    with running_neovim(prompting) as child:
        child.command("Jumpseat")
        child.ask("/tidyy x=1")
        child.wait_for_text("✗ There is no prompt named 'tidyy'; did you mean tidy?")
        child.wait_until_idle()
        assert child.text == "## Me\n\n/tidyy x=1"
    assert provider.requests == []


def test_a_question_that_begins_with_a_path_is_not_a_prompt(child, provider):
    provider.script(Reply.events(WORDS))
    child.ask("/usr/bin/env is what?")
    child.wait_until_idle()
    assert provider.requests[0].json["messages"][0]["content"] == "/usr/bin/env is what?"


BUILT_IN = ["/commit", "/docs", "/explain", "/fix", "/review", "/tests"]
"""The prompts that exist without any configuration."""


def test_references_files_prompts_and_models_are_completed(prompting, provider, tmp_path):
    provider.default(Reply.json({"data": [{"id": "fake-model"}]}), path="/v1/models")
    (tmp_path / "some-file.py").write_text("")
    with running_neovim(prompting) as child:
        child.command("Jumpseat")
        assert complete_line(child, "see @b") == ["@buffer", "@buffer:", "@buffers"]
        words = [each["word"] for each in child.lua("return require('jumpseat.input.contexts').WORDS")]
        assert complete_line(child, "wörter @") == words
        assert complete_line(child, f"see @file:{tmp_path}/some") == [f"@file:{tmp_path}/some-file.py"]
        assert complete_line(child, "/") == ["/model", *BUILT_IN, "/tidy", "/words"]
        assert complete_line(child, "/ti") == ["/tidy"]
        assert complete_line(child, "/model fake:f") == ["fake:fake-model"]
        assert complete_line(child, "a mail@") == []
        assert complete_line(child, "and/or /ti") == []


def test_a_prompt_added_to_the_configuration_is_completed(child, home):
    assert complete_line(child, "/") == ["/model", *BUILT_IN]
    with (home / "config.toml").open("a") as config:
        config.write(PROMPTS)
    # Wait for the new prompt itself. Waiting for an empty list is not enough: a notification about other
    # settings empties it too, perhaps before the daemon has read the file.
    child.wait(
        "vim.iter(require('jumpseat.daemon.lists').prompts:get_cached())"
        ":any(function(each) return each.name == 'tidy' end)"
    )
    assert complete_line(child, "/ti") == ["/tidy"]


def test_the_omnifunc_opens_its_menu_when_the_daemon_has_answered(prompting):
    with running_neovim(prompting) as child:
        child.command("Jumpseat")
        child.keys("i/<C-x><C-o>")
        child.wait("vim.fn.pumvisible() == 1")
        words = "vim.tbl_map(function(item) return item.word end, vim.fn.complete_info({ 'items' }).items)"
        assert child.lua(f"return {words}") == ["/model", *BUILT_IN, "/tidy", "/words"]
        child.keys("<C-n><C-n><C-y>")
        child.wait("vim.api.nvim_get_current_line():find('^/%a') ~= nil")
        # Now the list is known.
        child.keys("<Esc>S/w<C-x><C-o><Esc>")
        assert child.lua("return vim.api.nvim_get_current_line()") == "/words"


BLINK = """
-- Calls a source as blink.cmp does.
local M = { filetypes = {} }
function M.add_source_provider(id, config) M.id, M.config = id, config end
function M.add_filetype_source(filetype, id) table.insert(M.filetypes, filetype .. ' ' .. id) end
function M.complete()
  local source = require(M.config.module).new(M.config.opts or {}, M.config)
  if not source:enabled() then return nil end
  local cursor = vim.api.nvim_win_get_cursor(0)
  local context = { id = 1, cursor = cursor, line = vim.api.nvim_get_current_line(), bufnr = vim.fn.bufnr() }
  source:get_completions(context, function(response) M.response = response end)
  vim.wait(20000, function() return M.response end)
  return M.response
end
return M
"""

CMP = """
-- Calls a source as nvim-cmp does.
local M = { global = { { name = 'buffer' } } }
function M.register_source(name, source) M.name, M.source = name, source end
function M.get_config() return { sources = M.buffer or M.global } end
M.setup = { buffer = function(config) M.buffer = config.sources end }
function M.complete()
  local source = M.source
  if not source:is_available() then return nil end
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local before = vim.api.nvim_get_current_line():sub(1, col)
  local start = vim.regex([[\\%(]] .. source:get_keyword_pattern({}) .. [[\\)\\m$]]):match_str(before)
  local params = { offset = start + 1, context = { cursor = { row = row, col = col + 1 } },
    completion_context = { triggerKind = 1 } }
  source:complete(params, function(response) M.response = response end)
  vim.wait(20000, function() return M.response end)
  return { start = start, response = M.response, encoding = source:get_position_encoding_kind() }
end
return M
"""


@pytest.fixture
def hosted(prompting: Path) -> Path:
    """The home directory, with stand-ins for both completion plug-ins in the configuration of Neovim."""
    lua = prompting / "nvim-config" / "nvim" / "lua"
    (lua / "blink").mkdir(parents=True)
    (lua / "blink" / "cmp.lua").write_text(BLINK)
    (lua / "cmp.lua").write_text(CMP)
    return prompting


def type_at_the_end(child: Child, text: str) -> None:
    """Make the stand-ins available, type a text at the end of the chat, and stay in Insert mode."""
    child.lua("vim.opt.runtimepath:prepend(vim.env.XDG_CONFIG_HOME .. '/nvim')")
    child.keys(f"GA{text}")


def test_a_chat_registers_its_source_with_blink_which_gets_items_with_their_place(hosted):
    with running_neovim(hosted) as child:
        child.command("Jumpseat")
        assert child.lua("return package.loaded['blink.cmp']") is None
        type_at_the_end(child, "wörter @vi")
        assert child.lua("return require('blink.cmp').filetypes") == ["jumpseat jumpseat"]
        found = child.lua("return require('blink.cmp').complete()")
        assert found["is_incomplete_forward"] is found["is_incomplete_backward"] is True
        (item,) = found["items"]
        assert item["label"] == "@viewport"
        places = item["textEdit"]["range"]
        assert (places["start"], places["end"]) == ({"line": 2, "character": 8}, {"line": 2, "character": 11})
        child.keys("<Esc>")
        child.command("Jumpseat!")
        child.keys("A <Esc>")
        assert child.lua("return #require('blink.cmp').filetypes") == 1
        child.command("enew")
        assert child.lua("return require('blink.cmp').complete()") is None


def test_a_chat_registers_its_source_with_nvim_cmp_which_gets_items_with_their_place(hosted):
    with running_neovim(hosted) as child:
        child.command("Jumpseat")
        type_at_the_end(child, "wörter @vi")
        sources = child.lua("return require('cmp').buffer")
        assert sources == [{"name": "jumpseat"}, {"name": "buffer"}]
        found = child.lua("return require('cmp').complete()")
        assert (found["start"], found["encoding"]) == (8, "utf-8")
        (item,) = found["response"]["items"]
        assert (item["label"], item["textEdit"]["range"]["start"]["character"]) == ("@viewport", 8)
        assert found["response"]["isIncomplete"] is True
        child.keys("<Esc>S/ti")
        found = child.lua("local cmp = require('cmp') cmp.response = nil return cmp.complete()")
        assert [item["detail"] for item in found["response"]["items"]] == ["Clean code"]
        child.keys("<Esc>")
        child.command("enew")
        assert child.lua("return require('cmp').complete()") is None
