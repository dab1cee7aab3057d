"""The installation of the daemon; help, `setup` and status line; and the oldest Neovim that is supported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import PLUGIN, Child, running_neovim
from tests.editors.neovim.test_account import PICK
from tests.editors.programs import path_with_uv, path_with_uv_that_says, program
from tests.editors.provider import WORDS, hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]

DIRECTORY = "return require('jumpseat.core.config').install_directory()"


def install(child: Child) -> None:
    """Install the daemon, without the option `command`, which would be used instead of it."""
    child.lua("local o = vim.g.jumpseat o.command = nil vim.g.jumpseat = o")
    child.lua("""
        vim.api.nvim_create_autocmd('User', { pattern = 'JumpseatInstalled',
          callback = function(args) _G.installed = args.data.ok end })
    """)
    child.command("Jumpseat install")
    for _ in range(10):  # Each request must end within our time limit for a response.
        if child.lua("return vim.wait(15000, function() return _G.installed ~= nil end, 50)"):
            break


def test_a_failed_installation_says_why_and_what_to_do(home, tmp_path):
    path = path_with_uv_that_says(tmp_path, "No such release.")
    with running_neovim(home, options={"package": "~/jumpseat"}, env={"PATH": path}) as child:
        child.command("Jumpseat install")
        child.wait("#_G.messages == 2")
        message = child.messages[1]
        assert message.startswith("jumpseat: No such release.")
        assert message.endswith(
            " Set the option package to install a wheel or a checkout. :Jumpseat log shows all output."
        )
        arguments = f" --directory {child.lua(DIRECTORY)} --key {jumpseat.__version__} ~/jumpseat "
        assert arguments in message


def test_without_a_python_that_can_install_the_message_says_what_is_needed(home, tmp_path):
    path = path_with_uv_that_says(tmp_path, "", code=1).split(":")[0]
    with running_neovim(home, env={"PATH": path}) as child:
        child.command("Jumpseat install")
        child.wait("#_G.messages == 2")
        assert "needs uv, or Python 3.11 or newer with venv" in child.messages[1]


def test_a_user_without_the_program_is_offered_its_installation(home):
    with running_neovim(home, env={"PATH": "/usr/bin:/bin"}) as child:
        child.lua("_G.pick = 'Not now'")
        child.lua(PICK)
        child.lua("local o = vim.g.jumpseat o.command = nil vim.g.jumpseat = o")
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait("_G.offered and #_G.offered == 2")
        assert child.lua("return _G.offered") == ["Install jumpseat", "Not now"]


def test_an_installation_that_was_chosen_from_the_menu_shows_its_progress(home, tmp_path):
    go = tmp_path / "go"
    path = path_with_uv(
        tmp_path,
        "import os, time\nprint('Downloading it', flush=True)\n"
        f"for _ in range(6000):\n  os.path.exists({str(go)!r}) or time.sleep(0.01)\n"
        "print('It is installed.')\n",
    )
    with running_neovim(home, env={"PATH": path}) as child:
        child.lua("local o = vim.g.jumpseat o.command = nil vim.g.jumpseat = o")
        child.command("Jumpseat")
        child.attach_terminal()
        child.ask("Hello?")
        child.type_answer("1<CR>")
        assert child.wait_for_mode("n", "r") == "n"
        child.wait_for_text("Downloading it")
        go.touch()
        child.wait_for_text("It is installed.")


def test_an_installed_daemon_answers(home, provider):
    provider.script(Reply.events(WORDS))
    env = {"PATH": f"{Path(program('uv')).parent}:/usr/bin:/bin", "UV_SYSTEM_CERTS": "1"}
    with running_neovim(home, env=env) as child:
        install(child)
        assert child.messages[-1] == f"jumpseat: jumpseat {jumpseat.__version__} is installed."
        log = child.lua("return table.concat(vim.fn.readfile(require('jumpseat.core.log').path()), '\\n')")
        assert "uv pip install " in log
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_until_idle()
        assert "Hello there." in child.text
        assert child.lua("return require('jumpseat.core.config').find_command()[1]").startswith(
            child.lua(DIRECTORY)
        )


def test_each_line_of_the_installer_is_logged_as_one_line(home, tmp_path):
    # Neovim reads a line of this length in several pieces.
    path = path_with_uv(
        tmp_path,
        "import sys\nprint('pip install ' * 20_000 + '.', file=sys.stderr)\n"
        "sys.stderr.write('the end')\nsys.exit(20)\n",
    )
    with running_neovim(home, env={"PATH": path}) as child:
        child.command("Jumpseat install")
        child.wait("#_G.messages == 2")
        log = child.lua("return vim.fn.readfile(require('jumpseat.core.log').path())")
        lines = [line.partition(" ")[2] for line in log]
        assert "pip install " * 20_000 + "." in lines
        assert "the end" in lines


@pytest.mark.parametrize("content", ["", "3", "[]", json.dumps({"key": jumpseat.__version__})])
def test_a_corrupt_record_of_the_installation_is_ignored(home, content):
    with running_neovim(home) as child:
        directory = Path(child.lua(DIRECTORY))
        directory.mkdir(parents=True)
        (directory / "current.json").write_text(content)
        assert child.lua("return require('jumpseat.core.config').find_installed()") is None


def test_an_installed_version_is_installed_again_only_on_request(home, tmp_path):
    path = path_with_uv_that_says(tmp_path, "No network.")
    with running_neovim(home, env={"PATH": path}) as child:
        directory = Path(child.lua(DIRECTORY))
        directory.mkdir(parents=True)
        (directory / "current.json").write_text(
            json.dumps({"key": jumpseat.__version__, "program": f"{tmp_path}/bin/uv"})
        )
        child.command("Jumpseat install")
        assert child.messages[-1].endswith("is already installed; run :Jumpseat install! to reinstall it.")
        child.command("Jumpseat install!")
        child.wait("#_G.messages == 3")
        assert " --again" in child.messages[-1]


def test_the_help_tags_match_the_help(child, tmp_path):
    doc = tmp_path / "doc"
    doc.mkdir()
    (doc / "jumpseat.txt").write_bytes((PLUGIN / "doc/jumpseat.txt").read_bytes())
    child.command(f"helptags {doc}")
    tags = (doc / "tags").read_text("utf-8")
    assert (PLUGIN / "doc/tags").read_text("utf-8") == tags, "run :helptags editors/neovim/doc"
    commands = child.lua(
        "return vim.tbl_filter(function(name) return vim.startswith(name, 'Jumpseat') end, "
        "vim.tbl_keys(vim.api.nvim_get_commands({})))"
    )
    assert len(commands) > 15
    assert [name for name in commands if f"\n:{name}\t" not in f"\n{tags}"] == []


def test_setup_sets_options_and_keeps_the_others(home):
    with running_neovim(home, options={"log_level": "info"}) as child:
        child.lua("require('jumpseat').setup({ model = 'fake:fake-model', window = 'enew' })")
        child.lua("require('jumpseat').setup()")
        child.command("Jumpseat")
        assert child.text.startswith("---\nmodel: fake:fake-model\n---\n\n## Me\n")
        assert child.lua("return require('jumpseat.core.config').get().log_level") == "info"
        # Wait for the daemon, which checks the model. It must not start after Neovim has ended.
        child.wait("require('jumpseat.daemon.client').info() ~= nil")


def test_the_status_line_shows_the_model_and_the_state_of_the_chat(child, provider):
    gate = Gate()
    provider.script(hold_answer("Half", gate=gate))
    child.command("set statusline=%{v:lua.require'jumpseat'.statusline()}.")
    line = "return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str"
    assert child.lua(line) == "."
    child.ask("Hello?")
    child.wait_for_text("Half")
    assert child.lua(line) == "fake-model answering."
    provider.open(gate)
    child.wait_until_idle()
    assert child.lua(line) == "fake-model."
    child.command("enew")
    assert child.lua(line) == "."


API_OF_0_10 = 12
"""The API level of Neovim 0.10. The description of each function names the level that introduced it."""

NEWER = {"vim.fn.getregionpos": "region.lua", "vim.text.diff": "diff.lua"}
"""Functions that Neovim 0.10 lacks, each with the module that calls it only if it exists."""


def test_only_functions_of_neovim_0_10_are_called(child):
    since = child.lua("""
        local since = {}
        for _, each in ipairs(vim.fn.api_info().functions) do since[each.name] = each.since end
        return since
    """)
    used = {
        (name, file.name)
        for file in PLUGIN.rglob("*.lua")
        for name in re.findall(r"\bvim\.api\.(nvim_\w+)\(", file.read_text("utf-8"))
    }
    assert len(used) > 20
    # Names with two underscores are not public, and have no level.
    assert {(name, file) for name, file in used if since.get(name, 0) > API_OF_0_10} == set()
    for name, module in NEWER.items():
        places = [file.name for file in PLUGIN.rglob("*.lua") if name in file.read_text("utf-8")]
        assert places == [module]


def test_a_selection_is_whole_lines_in_neovim_0_10(child, provider, tmp_path):
    """A newer Neovim imitates 0.10 by removing `getregionpos`, the function that 0.10 lacks."""
    child.command("enew")
    child.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'ab', 'cd' })")
    child.lua("""
        local exists = vim.fn.exists
        vim.fn.exists = function(name) return name == '*getregionpos' and 0 or exists(name) end
    """)
    child.keys("gg0lvj<Esc>")
    region = child.lua("return require('jumpseat.core.region').last_selection(0)")
    assert (region["kind"], [span["last"] for span in region["spans"]]) == ("line", [2, 2])
