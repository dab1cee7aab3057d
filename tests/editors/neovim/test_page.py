"""The blocks of the plug-in's README, run in a real Neovim."""

from __future__ import annotations

import shutil

import pytest

from tests.editors.neovim.child import PLUGIN, running_neovim
from tests.unit.pages import EDITOR_PAGES, blocks

pytestmark = [pytest.mark.editor]

UNLOADED = "vim.g.loaded_jumpseat = nil; vim.api.nvim_del_user_command('Jumpseat')"

LAZY = """
local spec = ...
for key in pairs(spec) do
  assert(vim.tbl_contains({ 'dir', 'lazy', 'opts', 'config', 'main' }, key), key)
end
assert(spec.lazy == false)
-- Do the same as lazy.nvim with this specification.
vim.opt.runtimepath:append(vim.fs.normalize(spec.dir))
vim.cmd.runtime('plugin/jumpseat.lua')
if spec.config or spec.opts then
  local run = spec.config == true and function(_, opts) require('jumpseat').setup(opts) end or spec.config
  run(spec, spec.opts or {})
end
"""

HELP = "help jumpseat-chats"
"""This must work without `:helptags`, which lazy.nvim does not run for a plug-in with `dir`."""

# Neovim 0.11 has no vim.pack. This replacement calls `load` with the arguments that its help names.
PACK = """
vim.pack = { add = function(specs, options)
  assert(specs[1] == 'file:///home/me/src/jumpseat')
  options.load({ path = vim.fs.normalize('~/src/jumpseat') })
end }
"""

LOADED = "return vim.fn.exists(':Jumpseat')"


def load_with_lazy(child, block):
    """Run a block that is the specification of a plug-in for lazy.nvim."""
    child.lua(f"local run = function(...) {LAZY} end\nrun({block})")
    assert child.lua(LOADED) == 2
    child.command(HELP)


def load_with_pack(child, block):
    """Run a block that loads the plug-in with `vim.pack`."""
    child.lua(PACK)
    child.lua(block)
    assert child.lua(LOADED) == 2
    child.command(HELP)


def load_from_path(child, block):
    """Run a block that adds the plug-in to the runtime path."""
    child.lua(block)
    child.command("runtime plugin/jumpseat.lua")
    assert child.lua(LOADED) == 2
    child.command(HELP)


def check_maps(child, block):
    """Run a block that maps keys, and check that every key is mapped to a map of the plug-in."""
    child.command("runtime plugin/jumpseat.lua")
    child.lua(block)
    found = child.lua(
        "return vim.tbl_map(function(each) return each.rhs end, vim.tbl_filter("
        "function(each) return each.lhs:find('^ c') end, vim.api.nvim_get_keymap('n')))"
    )
    assert len(found) > 1
    for target in found:
        assert child.lua("return vim.fn.maparg(..., 'n') ~= ''", target), target


RUN = {
    "{ dir": load_with_lazy,
    "vim.pack": load_with_pack,
    "vim.opt": load_from_path,
    "vim.keymap": check_maps,
}
"""The function that runs a block, by the beginning of the block."""


@pytest.mark.parametrize("block", blocks(EDITOR_PAGES["neovim"], "lua"), ids=str)
def test_every_block_of_the_readme_runs(home, block):
    (run,) = [each for begin, each in RUN.items() if block.text.startswith(begin)]
    shutil.copytree(PLUGIN, home / "src" / "jumpseat" / "editors" / "neovim")
    with running_neovim(home) as child:
        child.lua(f"vim.opt.runtimepath:remove({str(PLUGIN)!r})")
        child.lua(UNLOADED)
        child.lua("vim.g.mapleader = ' '")
        assert child.lua(LOADED) != 2
        run(child, block.text)
