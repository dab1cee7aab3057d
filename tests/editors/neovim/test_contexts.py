"""The references of a question that add context, in Neovim."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.provider import WORDS, list_sent_texts, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with two Python files, in two directories, and with a hidden file and a binary file."""
    folder = tmp_path / "project"
    (folder / "src" / ".cache").mkdir(parents=True)
    (folder / "a.py").write_text("a = 1\n")
    (folder / "src" / "b.py").write_text("b = 2\n")
    (folder / "src" / ".cache" / "c.py").write_text("hidden = 3\n")
    (folder / "src" / "d.bin").write_bytes(b"\0\1")
    return folder


@pytest.fixture
def child(home: Path, provider, project: Path) -> Iterator[Child]:
    """A Neovim with `a.py` and an open chat."""
    provider.default(Reply.events(WORDS))
    with running_neovim(home, str(project / "a.py")) as running:
        running.command(f"cd {project}")
        running.command("Jumpseat")
        yield running


def ask_and_read(child: Child, provider, question: str) -> str:
    """Ask, and return what the provider received."""
    before = len(provider.requests)
    child.ask(question)
    provider.wait_for_request(before + 1)
    child.wait_until_idle()
    return list_sent_texts(provider, before)[-1]


@pytest.mark.scenario("contexts")
def test_files_of_a_directory_and_of_a_pattern_are_sent(child, provider):
    question = ask_and_read(child, provider, "What is @file:src ?")
    assert "b = 2" in question
    assert "hidden" not in question
    child.wait_for_text("▸ src/b.py (6 bytes)")

    question = ask_and_read(child, provider, "And @file:*.py or @file:s*/*.py ?")
    assert "a = 1" in question
    assert "b = 2" in question
    child.ask("And @file:*.lua ?")
    child.wait_for_text("✗ No file matches *.lua.")


@pytest.mark.scenario("contexts")
def test_open_files_are_sent_all_together_or_one_by_name(child, provider, project):
    child.command(f"badd {project / 'src' / 'b.py'}")
    child.command(f"call bufload('{project / 'src' / 'b.py'}')")
    question = ask_and_read(child, provider, "Compare @buffers.")
    assert "a = 1" in question
    assert "b = 2" in question
    child.command("Jumpseat!")
    question = ask_and_read(child, provider, "What is @buffer:src/b.py ?")
    assert "a = 1" not in question
    assert "b = 2" in question
    child.command("Jumpseat!")
    child.ask("What is @buffer:x.py ?")
    child.wait_for_text("✗ @buffer: no open file has the name x.py.")


def test_quickfix_and_location_list_viewport_and_help_are_sent(child, provider, project):
    child.lua("vim.fn.setqflist({ { filename = 'a.py', lnum = 1, col = 2, text = 'odd' } })")
    assert "a.py:1:2: odd" in ask_and_read(child, provider, "Why @quickfix?")
    child.command("split a.py")
    child.lua("vim.fn.setloclist(0, { { filename = 'a.py', lnum = 1, col = 1, text = 'even' } })")
    child.lua("vim.api.nvim_buf_set_lines(0, 1, -1, false, vim.split(('x\\n'):rep(40) .. 'last', '\\n'))")
    child.command("wincmd p")
    question = ask_and_read(child, provider, "Why @loclist, and what is in @viewport?")
    assert "a.py:1:1: even" in question
    assert "a = 1\nx\n" in question
    assert "last" not in question
    assert "jumpseat-tools" in ask_and_read(child, provider, "What is @help:jumpseat-tools ?")
    child.command("only")
    child.ask("What is @help:no-such-tag ?")
    child.wait_for_text("✗ @help: there is no tag no-such-tag.")


def git(project: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", project, *identity, *arguments], check=True, capture_output=True)


@pytest.mark.scenario("contexts")
def test_changes_are_sent_as_git_shows_them(child, provider, project):
    child.ask("What is @diff ?")
    child.wait_for_text("✗ @diff: ")
    child.command("Jumpseat!")
    child.ask("What is @staged ?")
    child.wait_for_text("✗ @staged: ")
    child.command("Jumpseat!")
    git(project, "init")
    git(project, "add", "a.py", "src/b.py")
    git(project, "commit", "-m", "first")
    (project / "a.py").write_text("a = 10\n")
    git(project, "add", "a.py")
    (project / "src" / "b.py").write_text("b = 20\n")
    everything = ask_and_read(child, provider, "What is @diff ?")
    assert "+a = 10" in everything
    assert "+b = 20" in everything
    staged = ask_and_read(child, provider, "What is @staged ?")
    assert "+a = 10" in staged
    assert "+b = 20" not in staged
    assert "+a = 10" not in ask_and_read(child, provider, "What is @unstaged ?")


def test_the_clipboard_is_sent_as_text_or_image(child, home, provider, tmp_path, project):
    child.lua("""
        local function ignore() end
        vim.g.clipboard = { name = 'test', copy = { ['+'] = ignore, ['*'] = ignore }, paste = {
          ['+'] = function() return { _G.clip or {}, 'v' } end,
          ['*'] = function() return { {}, 'v' } end } }
        _G.clip = { 'from elsewhere' }
        vim.g.loaded_clipboard_provider = nil
        vim.cmd('runtime autoload/provider/clipboard.vim')
    """)
    assert "from elsewhere" in ask_and_read(child, provider, "What is @clipboard ?")
    program = tmp_path / "bin" / "xclip"
    program.parent.mkdir()
    (tmp_path / "image.png").write_bytes(PNG)
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'image.png'}\n")
    program.chmod(0o755)
    child.lua("_G.clip = nil; vim.env.PATH = ... .. ':/usr/bin:/bin'", str(program.parent))
    child.command("Jumpseat!")
    child.write("What is @clipboard ?")
    child.send()
    child.wait_for_text("▸ Image (1 kB)")
    child.wait_until_idle()


def test_a_page_is_fetched(home, provider, project):
    write_config(home, provider.base_url, "[fetch]\nprivate = true\n")
    with running_neovim(home) as child:
        child.command("Jumpseat")
        provider.script(Reply.json({"title": "Start"}), Reply.events(WORDS))
        child.ask(f"What is @url:{provider.base_url}/page ?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert '"Start"' in list_sent_texts(provider, 1)[-1]
        child.ask("What is @url:ftp://example.com/ ?")
        child.wait_for_text("✗ ")


def test_symbols_of_a_language_server_are_sent(child, provider):
    child.command("buffer a.py")
    child.lua("""
        local function server(dispatchers)
          local closing = false
          return {
            request = function(method, params, callback)
              if method == 'initialize' then
                callback(nil, { capabilities = { documentSymbolProvider = true } })
              elseif method == 'textDocument/documentSymbol' then
                local range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }
                callback(nil, { { name = 'a', kind = 13, range = range, selectionRange = range,
                  children = { { name = 'inner', kind = 12, range = range, selectionRange = range } } } })
              else
                callback(nil, nil)
              end
              return true, 1
            end,
            notify = function() return true end,
            is_closing = function() return closing end,
            terminate = function() closing = true end,
          }
        end
        vim.lsp.start({ name = 'test', cmd = server })
    """)
    child.wait("#vim.lsp.get_clients({ method = 'textDocument/documentSymbol' }) == 1")
    child.command("Jumpseat")
    question = ask_and_read(child, provider, "List @symbols.")
    assert "1: Variable a\n" in question
    assert "  1: Function inner\n" in question


@pytest.mark.scenario("contexts")
def test_a_pinned_reference_is_refreshed_with_every_question(child, provider, project):
    assert "a = 1" in ask_and_read(child, provider, "Remember @pin:buffer and @pin:file:src/b.py .")
    assert "a = 1" not in ask_and_read(child, provider, "Nothing new?")
    child.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.py'), 0, 1, false, { 'a = 3' })")
    question = ask_and_read(child, provider, "And now?")
    assert "a = 3" in question
    assert "b = 2" not in question


def test_a_pinned_file_that_is_gone_does_not_keep_others_from_being_refreshed(child, provider, project):
    ask_and_read(child, provider, "Remember @pin:file:src/b.py and @pin:buffer .")
    (project / "src" / "b.py").unlink()
    child.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.py'), 0, 1, false, { 'a = 3' })")
    assert "a = 3" in ask_and_read(child, provider, "And now?")


@pytest.mark.scenario("token-count")
def test_the_tokens_of_the_question_are_shown_before_it_is_sent(child, provider):
    ask_and_read(child, provider, "Hello.")
    child.keys("GiWhat is @buffer ?<Esc>")
    child.wait_for_text("tokens to send")
    small = read_token_count(child)
    child.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.py'), 0, 1, false, { ('word '):rep(4000) })")
    child.keys("A?<Esc>")
    child.wait(
        "(tonumber(require('jumpseat.display.view').winbar():match('(%d+) tokens to send')) or 0) > "
        f"{small + 4000}"
    )
    assert len(provider.requests) == 1


def read_token_count(child: Child) -> int:
    """Return the number of tokens that the window bar shows."""
    return int(child.lua("return require('jumpseat.display.view').winbar():match('(%d+) tokens to send')"))
