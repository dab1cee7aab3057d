"""The VS Code extension, installed from its file into a VS Code without a configuration."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.editors.vscode.code_server import PACKAGE, running_code_server
from tests.editors.vscode.conftest import browser as browser
from tests.editors.vscode.requests import ask
from tests.packaging.home import Home
from tests.release.conftest import INSTALL_SECONDS, QUESTION

pytestmark = pytest.mark.editor

MODEL = "local:smollm2-135m-instruct"


def test_the_local_model_answers(built: Callable[[str], Path], home: Home, browser) -> None:
    from tests.editors.vscode.window import Window

    extension = built("jumpseat-{}.vsix")
    path = home.variables["PATH"]
    with running_code_server(home.directory, extensions=(extension,), path=path) as server:
        context = browser.new_context()
        window = Window(server, context)
        window.wait_for_notification("Installing jumpseat")
        window.wait("vscode.extensions.getExtension('jumpseat.jumpseat').isActive")
        window.js("vscode.commands.executeCommand('jumpseat.installLocalModel')", seconds=INSTALL_SECONDS)
        window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL, wait_seconds=INSTALL_SECONDS)
        parts, _ = ask(window, MODEL, [{"role": "user", "content": QUESTION}])
        context.close()
    assert "".join(part for part in parts if isinstance(part, str)).strip()


@pytest.mark.skipif(PACKAGE.exists(), reason="VS Code is installed, so another test runs the extension")
def test_the_local_model_answers_through_the_wheel_in_the_extension(
    built: Callable[[str], Path], home: Home
) -> None:
    with zipfile.ZipFile(built("jumpseat-{}.vsix")) as archive:
        archive.extractall(home.directory)
    directory = home.directory / "daemon"
    command = ["python3", "extension/dist/bootstrap.py", "--directory", str(directory), "--key", "1"]
    with subprocess.Popen(
        command,
        env=home.variables,
        cwd=home.directory,
        # Keep stdin open, because its end would cancel the installation.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        *_, last = process.stdout.read().splitlines()
    assert last == f"jumpseat {__version__} is installed."
    program = json.loads((directory / "current.json").read_text("utf-8"))["program"]
    home.run(program, "local", "install", seconds=INSTALL_SECONDS)
    assert home.run(program, "chat", "--own", "--no-keep", QUESTION).strip()
