"""From nothing to an answer: the extension installs the daemon that it carries."""

from __future__ import annotations

import re
import sys

import pytest

from tests.editors.programs import program
from tests.editors.vscode.code_server import VSIX, running_code_server
from tests.editors.vscode.conftest import configuration
from tests.editors.vscode.provider import hello
from tests.editors.vscode.pythons import create_broken_pythons, create_python_extension
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
    python = tmp_path / "python3"
    python.symlink_to(sys._base_executable)
    with running_code_server(
        home, path="/usr/bin:/bin", extensions=(VSIX, create_python_extension(tmp_path, python))
    ) as server:
        context = browser.new_context()
        window = Window(server, context)
        shown = window.wait_for_notification("Installing jumpseat")
        assert window.js("return lm.models({ vendor: 'jumpseat' })") == [], "the list must not wait"
        shown.get_by_text(re.compile(r"Installing packages: unpacking \(\d+ s\)")).wait_for(
            timeout=INSTALL_SECONDS * 1000
        )
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL, wait_seconds=INSTALL_SECONDS)
        provider.script(hello())
        parts, _ = ask(window, MODEL, [{"role": "user", "content": "Hi"}])
        assert "".join(part for part in parts if isinstance(part, str)) == "Hello there."

        # The installed daemon is used when the window is loaded again.
        window.load()
        window.new_chat()
        assert window.model_button.get_attribute("aria-label") == "Models, (default) fake-model"
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
        context.close()
    storage = home / "data/User/globalStorage/jumpseat.jumpseat/daemon"
    (environment,) = [each for each in storage.iterdir() if each.is_dir()]
    assert (environment / "bin/jumpseat").exists()
    log = server.log()
    assert f"{python} -m venv " in log
    assert log.count(" -m pip install ") == 1


def test_uv_installs_the_daemon_if_no_python_works(tmp_path, browser, provider, github, monkeypatch):
    from tests.editors.vscode.window import Window

    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(configuration(provider, github))
    first = create_broken_pythons(home / "first")
    (first / "uv").symlink_to(program("uv"))
    # uv searches more places for a Python than the extension, and downloads one only if it finds none.
    last = home / "last"
    last.mkdir()
    (last / "python3").symlink_to(sys._base_executable)
    monkeypatch.setenv("UV_SYSTEM_CERTS", "1")
    with running_code_server(home, path=f"{first}:/usr/bin:/bin:{last}") as server:
        context = browser.new_context()
        window = Window(server, context)
        window.wait_for_notification("Installing jumpseat")
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL, wait_seconds=INSTALL_SECONDS)
        context.close()
        log = server.log()
    storage = home / "data/User/globalStorage/jumpseat.jumpseat/daemon"
    (environment,) = [each for each in storage.iterdir() if each.is_dir()]
    assert "uv = " in (environment / "pyvenv.cfg").read_text()
    assert f"Starting {environment}/bin/jumpseat attach" in log


@pytest.mark.scenario("missing-binary")
def test_a_window_that_never_had_a_model_says_why(tmp_path, browser, provider, github):
    from tests.editors.vscode.window import Window

    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(configuration(provider, github))
    with running_code_server(home) as server:
        server.configure(path="/nowhere/jumpseat")
        context = browser.new_context()
        window = Window(server, context)
        # Do not ask a question: VS Code itself would answer it with "Language model unavailable".
        shown = window.wait_for_notification(
            'The program "/nowhere/jumpseat" of the setting jumpseat.path was not found.'
        )
        shown.get_by_text("Restart Server", exact=True).wait_for()
        context.close()
