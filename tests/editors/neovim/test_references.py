"""The directory at which the paths of references start, and the size limit of texts that are sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.provider import WORDS, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

LARGE = "x = 1\n" * 400_000


def test_with_autochdir_paths_are_relative_to_the_directory_of_the_last_file(child, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    (tmp_path / "sub").mkdir()
    for name in ("a.py", "b.py", "sub/c.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    child.command("set autochdir")
    child.command(f"edit {tmp_path / 'a.py'}")
    # With autochdir, a saved chat makes its own directory the current one.
    child.command("Jumpseat")
    child.command("write ++p")
    child.command("edit")
    assert Path(child.lua("return vim.fn.getcwd()")) != tmp_path
    child.write("Compare @file:b")
    child.keys("A<C-x><C-o>")
    child.keys("<C-y><Esc>")
    assert child.text.endswith("Compare @file:b.py")
    child.write(" with @file:sub/c.py.")
    child.send()
    child.wait_until_idle()
    question = list_sent_texts(provider, 0)[0]
    assert "# b.py" in question
    assert "# sub/c.py" in question
    assert f"uri=file://{tmp_path}/sub/c.py" in child.text


@pytest.mark.parametrize("word", ["@buffer", "@file:a.py", "@selection"])
def test_a_text_of_more_than_a_megabyte_is_not_sent(child, provider, tmp_path, word):
    (tmp_path / "a.py").write_text(LARGE)
    child.command(f"cd {tmp_path}")
    if word == "@file:a.py":
        (tmp_path / "b.py").write_text("")
        child.command("edit b.py")
    else:
        child.command("edit a.py")
        child.keys("ggVG<Esc>")
    child.command("Jumpseat")
    child.ask(f"Explain {word}")
    child.wait_until_idle()
    name = word.removeprefix("@file:")
    shown = " ".join(child.screen.split())
    assert f"✗ {name} is 2.4 MB, and the limit is 1 MB. Select a part of it." in shown
    assert "x = 1" not in child.text
    assert provider.requests == []


@pytest.mark.parametrize("command", ["JumpseatAsk Why?", "JumpseatEdit Shorten it."])
def test_a_range_of_more_than_a_megabyte_is_not_sent(child, provider, tmp_path, command):
    (tmp_path / "a.py").write_text(LARGE)
    child.command(f"edit {tmp_path / 'a.py'}")
    child.command(f"%{command}")
    assert child.messages == ["jumpseat: The text is 2.4 MB, and the limit is 1 MB. Select a part of it."]
    assert provider.requests == []


@pytest.mark.parametrize("command", ["edit-before", "edit-after", "edit-new"])
def test_no_text_is_written_about_a_buffer_of_more_than_a_megabyte(child, provider, tmp_path, command):
    (tmp_path / "a.py").write_text(LARGE)
    child.command(f"edit {tmp_path / 'a.py'}")
    child.command(f"Jumpseat {command} Explain it.")
    assert child.messages == ["jumpseat: The text is 2.4 MB, and the limit is 1 MB. Select a part of it."]
    assert child.lua("return vim.api.nvim_buf_get_name(0)") == str(tmp_path / "a.py")
    assert child.lua("return require('jumpseat.edit').is_busy(vim.api.nvim_get_current_buf())") is False


@pytest.mark.parametrize(
    ("word", "fill"),
    [
        ("@quickfix", "vim.fn.setqflist({ { text = ('x'):rep(2e6) } })"),
        (
            "@diagnostics",
            "vim.diagnostic.set(vim.api.nvim_create_namespace('test'), vim.fn.bufnr('b.py'),"
            " { { lnum = 0, col = 0, message = ('x'):rep(2e6) } })",
        ),
    ],
)
def test_a_list_of_more_than_a_megabyte_is_not_sent(child, provider, tmp_path, word, fill):
    (tmp_path / "b.py").write_text("x = 1\n")
    child.command(f"edit {tmp_path / 'b.py'}")
    child.lua(fill)
    child.command("Jumpseat")
    child.ask(f"Explain {word}")
    child.wait_until_idle()
    assert f"✗ {word} is 2.0 MB, and the limit is 1 MB." in " ".join(child.screen.split())
    assert provider.requests == []
