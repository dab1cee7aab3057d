"""The reader of the Neovim plug-in's imports."""

from __future__ import annotations

import pytest

from tests.unit.lua_modules import COMPUTED, find_imports, read_imports


@pytest.mark.parametrize(
    "source",
    [
        "local log = require('jumpseat.core.log')",
        'local log = require "jumpseat.core.log"',
        "local function f()\n  require('jumpseat.core.log').warn('--')\nend",
        "local found, log = pcall(require, 'jumpseat.core.log')",
        "local log = package.loaded['jumpseat.core.log']",
        "blink.add_source_provider('x', { module = 'jumpseat.core.log' })",
        """vim.bo.omnifunc = "v:lua.require'jumpseat.core.log'.path" """,
        "local text = '-- no comment' .. require('jumpseat.core.log').path()",
        "local text = [[--]] .. require('jumpseat.core.log').path()",
    ],
)
def test_an_import_is_read(source: str) -> None:
    assert find_imports(source) == {"jumpseat.core.log"}


@pytest.mark.parametrize(
    "source",
    [
        "--- Options, or what `require('jumpseat').setup` stored there.",
        "--[[ require('jumpseat.core.log')\n]]",
        """local advice = "Name it with :lua require('jumpseat').setup({})" """,
        "local name = path_of('jumpseat.log')",
        "local required, module = {}, 'jumpseat.core.log'",
    ],
)
def test_comments_and_other_strings_are_not_imports(source: str) -> None:
    assert find_imports(source) == set()


@pytest.mark.parametrize(
    "source", ["require('jumpseat.' .. name)", "require(name)", "vim.tbl_map(require, names)"]
)
def test_an_import_with_a_computed_name_is_found(source: str) -> None:
    assert COMPUTED in find_imports(source) or "jumpseat." in find_imports(source)


def test_every_import_of_the_plug_in_names_a_file() -> None:
    imports = read_imports()
    own = {each for reached in imports.values() for each in reached if each.startswith("jumpseat")}

    assert own <= imports.keys()
    assert COMPUTED not in set().union(*imports.values())
