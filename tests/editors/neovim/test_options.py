"""Wrong and unknown options, the advice in errors about options, and a Neovim that is too old."""

from __future__ import annotations

import re
import sys

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import running_neovim
from tests.editors.provider import WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]

WRONG = {
    "command": ("jumpseat", "a list of words, such as { '/path/to/jumpseat' }"),
    "args": ([1], "a list of words"),
    "config": ("x", "a table"),
    "model": (1, "a string"),
    "directory": (["x"], "a string"),
    "window": (True, "a string"),
    "picker": ("fzf", "one of snacks, fzf-lua, telescope, select"),
    "open_browser": ("no", "true or false"),
    "keep": ("no", "true or false"),
    "log_level": ("loud", "one of debug, info, warning, error"),
    "package": (False, "a string"),
}
"""A wrong value for each option, and the end of the error: what the option must be."""

OLD = """lua
local has = vim.fn.has
vim.fn.has = function(name) return name == 'nvim-0.10' and 0 or has(name) end
"""

OLD_HEALTH = """
local lines = {}
vim.health = {
  report_start = function(text) table.insert(lines, '# ' .. text) end,
  report_error = function(text) table.insert(lines, text) end,
}
require('jumpseat.health').check()
return lines
"""


def test_a_wrong_option_is_named_by_commands_and_by_checkhealth(child):
    for option, (value, words) in WRONG.items():
        child.lua("local name, value = ... vim.g.jumpseat = { [name] = value }", option, value)
        problem = f"The option {option} must be {words}."
        for command in ("Jumpseat!", "JumpseatSend", "JumpseatInstall"):
            child.command(command)
            assert child.messages[-1] == f"jumpseat: {problem} See :help jumpseat-options."
        child.command("checkhealth jumpseat")
        assert problem in child.text
    child.lua("vim.g.jumpseat = 'jumpseat attach'")
    child.command("Jumpseat")
    assert "vim.g.jumpseat must be a table." in child.messages[-1]


def test_stop_works_with_wrong_options(child):
    child.lua("vim.g.jumpseat = { keep = 'no' }")
    child.stop()
    assert "Nothing is running" in child.messages[-1]


def test_an_unknown_option_is_reported_by_checkhealth(home):
    with running_neovim(home, options={"modle": "x"}) as child:
        child.command("checkhealth jumpseat")
        assert "There is no option modle." in child.text
        assert "answers" in child.text


def test_the_advice_about_a_missing_program_works(home, provider):
    provider.script(Reply.events(WORDS))
    with running_neovim(home, options={"command": ["/nowhere/jumpseat"]}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("✗ The program /nowhere/jumpseat was not found.")
        child.wait_until_idle()
        shown = " ".join(child.screen.split())
        advice = re.search(r":(lua require\('jumpseat'\)\.setup\(.* \}\))", shown)
        assert advice, shown
        words = ", ".join(f"'{word}'" for word in (sys.executable, "-P", "-m", "jumpseat"))
        child.command(advice[1].replace("'/path/to/jumpseat'", words))
        child.send()
        child.wait_until_idle()
        assert "Hello there." in child.text


def test_a_neovim_that_is_too_old_says_which_one_is_needed(home):
    """A newer Neovim imitates 0.9: `has()` denies 0.10, and `vim.health` has the names of 0.9."""
    with running_neovim(home, "--cmd", OLD) as child:
        reason = child.lua("return vim.trim(vim.fn.execute('messages'))")
        assert re.fullmatch(r"jumpseat needs Neovim 0\.10 or newer; this is \d+\.\d+\.\d+\.", reason)
        assert child.lua("return vim.fn.exists(':Jumpseat')") < 2
        assert child.lua(OLD_HEALTH) == ["# jumpseat", reason]
