"""The daemon's prompts, the palette, and the rules of the workspace, in Neovim."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.changes import NOTE, WARNING, WIDE, git, stage_long_change
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.provider import WORDS, list_sent_texts, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.fixture
def editing(home: Path, tmp_path: Path) -> Iterator[Child]:
    """A Neovim with a file of two lines."""
    file = tmp_path / "a.py"
    file.write_text("x = 1\ny = 2\n")
    with running_neovim(home, str(file)) as child:
        yield child


@pytest.mark.scenario("prompts")
def test_a_prompt_is_applied_to_the_range_or_to_the_file(editing, provider):
    provider.default(Reply.events(WORDS))
    editing.command("2Jumpseat prompt explain")
    editing.wait_for_text("Hello there.")
    editing.wait_until_idle()
    (question,) = list_sent_texts(provider, 0)
    assert "y = 2" in question
    assert "x = 1" not in question
    assert "/explain" not in question

    editing.command("Jumpseat!")
    editing.command("buffer a.py")
    editing.command("Jumpseat prompt review briefly")
    # Wait until the chat has replaced the file in the window.
    editing.wait("#vim.fn.win_findbuf(1) == 0")
    provider.wait_for_request(2)
    editing.wait_until_idle()
    assert "briefly" in list_sent_texts(provider, 1)[-1]


def test_a_built_in_prompt_without_a_selection_is_about_the_whole_file(editing, provider):
    provider.default(Reply.events(WORDS))
    editing.command("Jumpseat prompt explain")
    editing.wait_for_text("Hello there.")
    editing.wait_until_idle()
    assert "x = 1\ny = 2" in list_sent_texts(provider, 0)[0]
    editing.wait("vim.fn.getcompletion('Jumpseat prompt ex', 'cmdline')[1] == 'explain'")


def test_a_prompt_that_needs_input_waits_for_it_in_the_chat(home, provider):
    write_config(home, provider.base_url, '[prompts.title]\ntext = "A title for: {{input}}"\n')
    with running_neovim(home) as child:
        child.command("Jumpseat prompt title")
        child.wait_for_text("/title")
        child.wait_until_idle()
        assert provider.requests == []
        provider.script(Reply.events(WORDS))
        child.ask(" my page")
        child.wait_until_idle()
        assert list_sent_texts(provider, 0) == ["A title for: my page"]


@pytest.mark.scenario("prompts")
def test_the_palette_offers_prompts_and_commands(editing, provider):
    provider.default(Reply.events(WORDS))
    editing.script_choices("/fix", ":Jumpseat keys")
    editing.command("1Jumpseat palette")
    editing.wait_for_text("Hello there.")
    editing.wait_until_idle()
    assert "x = 1" in list_sent_texts(provider, 0)[0]
    editing.command("Jumpseat palette")
    editing.wait_for_text("Keys in a chat")


@pytest.mark.scenario("workspace-rules")
def test_workspace_rules_are_sent_only_with_the_option_and_named_in_the_chat(home, provider, tmp_path):
    (tmp_path / "AGENTS.md").write_text("Answer like a pirate.\n")
    provider.default(Reply.events(WORDS))
    with running_neovim(home) as child:
        child.command(f"cd {tmp_path}")
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_until_idle()
        assert "pirate" not in str(provider.requests[0].json)
        child.lua("require('jumpseat').setup({ rules = true })")
        child.ask("Hello?")
        child.wait_until_idle()
        assert "pirate" in provider.requests[1].json["messages"][0]["content"]
        child.wait_for_text("Rules of the workspace: AGENTS.md")
        assert "AGENTS.md" not in child.text


@pytest.mark.scenario("commit-message")
def test_a_file_whose_diff_is_too_long_is_left_out_of_a_commit_message(home, provider, tmp_path):
    provider.default(Reply.events(WORDS))
    with (home / "config.toml").open("a") as config:
        config.write(WIDE)
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text("limit = 3\n")
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "First")
    git(root, "add", "a.py")
    stage_long_change(root)
    with running_neovim(home, str(root / "a.py")) as child:
        child.command("Jumpseat prompt commit")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert child.messages == [f"jumpseat: {WARNING}"]
        assert "\ngit diff HEAD\n" in child.text
        child.command("Jumpseat regenerate")
        provider.wait_for_request(2)
        child.wait_until_idle()
        child.command("Jumpseat!")
        head = ["---", "model: fake:other-model", "---", ""]
        child.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, ...)", head)
        child.ask("/commit @staged")
        provider.wait_for_request(3)
        child.wait_until_idle()
        assert child.messages == [f"jumpseat: {WARNING}"]
    first, again, whole = (list_sent_texts(provider, number)[-1] for number in range(3))
    assert first == again
    assert "+limit = 3" in first
    assert NOTE in first
    assert "pinned" not in first
    assert whole.count("+pinned = 1\n") == 7000
    assert whole.endswith("\n\ngit diff --staged")
