"""From nothing to an answer: the extension installs the daemon that it carries."""

from __future__ import annotations

import sys

import pytest

from tests.editors.vscode.code_server import running_code_server
from tests.editors.vscode.conftest import configuration
from tests.editors.vscode.provider import hello
from tests.editors.vscode.requests import ask

pytestmark = [pytest.mark.editor, pytest.mark.slow, pytest.mark.timeout(300)]

MODEL = "fake:fake-model"
INSTALL_SECONDS = 240.0


@pytest.mark.scenario("missing-binary")
def test_without_a_program_the_extension_installs_its_own(tmp_path, browser, provider, github):
    from tests.editors.vscode.window import Window

    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(configuration(provider, github))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys._base_executable)
    with running_code_server(home, path=f"{programs}:/usr/bin:/bin") as server:
        context = browser.new_context()
        window = Window(server, context)
        window.notified("Installing jumpseat")
        window.js("await vscode.lm.selectChatModels({ vendor: 'jumpseat' })", seconds=INSTALL_SECONDS)
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
        provider.script(hello())
        parts, _ = ask(window, MODEL, [{"role": "user", "content": "Hi"}])
        assert "".join(part for part in parts if isinstance(part, str)) == "Hello there."

        # It is there the next time.
        window.load()
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
        context.close()
    storage = home / "data/User/globalStorage/jumpseat.jumpseat/daemon"
    (environment,) = [each for each in storage.iterdir() if each.is_dir()]
    assert (environment / "bin/jumpseat").exists()
    assert server.log().count(" -m pip install ") == 1
