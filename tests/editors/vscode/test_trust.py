"""Workspace trust: what a folder that someone else wrote decides, before and after a person trusts it."""

from __future__ import annotations

import json

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.vscode.code_server import VSIX, running_code_server, workspace_of
from tests.editors.vscode.conftest import configuration
from tests.editors.vscode.provider import hello
from tests.editors.vscode.pythons import create_broken_pythons, create_python_extension
from tests.editors.vscode.requests import begin

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MODEL = "fake:fake-model"
MODELS = "(await lm.models({ vendor: 'jumpseat' })).map(({ id }) => id)"


@pytest.fixture
def home(tmp_path, provider, github):
    """The home of a separate VS Code."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(configuration(provider, github))
    return home


@pytest.fixture
def open_restricted(browser):
    """Open a window of a folder that nobody trusts yet."""
    from tests.editors.vscode.window import Window

    context = browser.new_context(viewport={"width": 1280, "height": 800})

    def open_window(server):
        window = Window(server, context)
        window.wait_for_text("Restricted Mode")
        assert not window.js("return vscode.workspace.isTrusted")
        return window

    yield open_window
    context.close()


def trust(window) -> None:
    """Trust the folder, as a person does."""
    window.command("workbench.trust.manage")
    window.page.locator(".workspace-trust-editor").get_by_role("button", name="Trust", exact=True).click()
    window.wait("vscode.workspace.isTrusted")
    window.command("workbench.action.closeActiveEditor")


def write_program(file, ran):
    """Write a program that creates the file `ran`."""
    file.write_text(f"#!/bin/sh\ntouch {ran}\nexit 1\n")
    file.chmod(0o755)
    return file


def test_a_folder_cannot_name_a_program_and_its_settings_wait_for_trust(home, provider, open_restricted):
    with running_code_server(home, asks_for_trust=True) as server:
        ran = home / "ran"
        config = server.workspace / "config.toml"
        config.write_text(f'[providers.other]\nkind = "openai"\nbase_url = "{provider.base_url}"\n')
        settings = {
            "path": str(write_program(server.workspace / "jumpseat", ran)),
            "config": str(config),
            "keep": False,
        }
        folder = server.workspace / ".vscode"
        folder.mkdir()
        (folder / "settings.json").write_text(
            json.dumps({f"jumpseat.{name}": value for name, value in settings.items()})
        )

        def ask_and_count_kept(question):
            """Ask a question, and return how many conversations are kept after it."""
            provider.script(hello())
            window.command("workbench.action.chat.newChat")
            window.wait_for_count(window.answers, 0)
            window.ask(f"@jumpseat {question}")
            window.wait_for_answer_text("Hello there.")
            window.wait_for_answer()
            return len(list((home / "conversations").glob("*.jsonl")))

        window = open_restricted(server)
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
        models = window.js(f"return {MODELS}")
        assert not [each for each in models if each.startswith("other:")]
        assert ask_and_count_kept("While it is restricted.") == 1

        gate = Gate()
        provider.script(Reply.events([chunk({"content": "Half "}), gate, *completion_stream(["an answer."])]))
        begin(window, MODEL, [{"role": "user", "content": "Hi"}])
        window.wait("state.running.parts.length === 1")
        trust(window)
        window.wait("vscode.workspace.getConfiguration('jumpseat').get('keep') === false")
        provider.open(gate)
        assert "error" not in window.js("return state.running.ended"), "trust has restarted the daemon"

        assert ask_and_count_kept("When it is trusted.") == 1
        assert window.js(f"return {MODELS}") == models
        assert not ran.exists()


def test_the_python_of_a_folder_installs_nothing_until_the_folder_is_trusted(home, tmp_path, open_restricted):
    nothing = create_broken_pythons(home / "no-python")
    write_program(nothing / "uv", home / "uv-ran")
    extension = create_python_extension(tmp_path, workspace_of(home) / "python")
    with running_code_server(
        home, path=f"{nothing}:/usr/bin:/bin", extensions=(VSIX, extension), asks_for_trust=True
    ) as server:
        ran = home / "ran"
        write_program(server.workspace / "python", ran)
        window = open_restricted(server)
        window.start("jumpseat.status")
        window.wait_for_notification(
            "jumpseat needs uv, or Python 3.11 or newer with venv. Neither was found."
        )
        assert not ran.exists()

        trust(window)
        window.wait(
            "vscode.workspace.fs.stat(vscode.Uri.file(values[0])).then(() => true, () => false)", str(ran)
        )
