"""From an empty configuration to the local model, by the walkthrough."""

from __future__ import annotations

import importlib.util

import pytest

from jumpseat.adapters.local.model import ENGINE
from tests.editors.vscode.code_server import running_code_server

pytestmark = [pytest.mark.editor, pytest.mark.slow, pytest.mark.timeout(300)]

INSTALL_SECONDS = 120.0
LISTED = (
    "vscode.lm.selectChatModels({ id: 'local:smollm2-135m-instruct' }).then((found) => found.length === 1)"
)


@pytest.mark.skipif(importlib.util.find_spec(ENGINE) is None, reason=f"{ENGINE} is not installed")
def test_the_walkthrough_installs_the_local_model_and_then_checks_its_step(tmp_path, browser):
    from tests.editors.vscode.window import Window

    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").touch()
    with running_code_server(home) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        window = Window(server, context)
        window.command("workbench.action.openWalkthrough", "jumpseat.jumpseat#start", False)
        window.page.get_by_text("Sign in, or install the local model").first.click()
        window.wait_until_shown(window.status.get_by_text("no provider is ready"))
        window.page.get_by_role("button", name="Install Local Model").click()
        window.wait(LISTED, wait_seconds=INSTALL_SECONDS)

        window.wait_until_shown(window.status.get_by_text("SmolLM2-135M-Instruct"))
        window.wait_until_shown(
            window.page.get_by_role("checkbox", name="Sign in, or install the local model", checked=True)
        )
        context.close()


def test_steps_that_were_done_before_the_walkthrough_was_opened_are_checked(window):
    window.wait("(await lm.models({ vendor: 'jumpseat' })).length > 0")
    window.wait_until_shown(window.status.get_by_text("fake-model"))
    window.command("workbench.action.openWalkthrough", "jumpseat.jumpseat#start", False)
    for step in ("Start the daemon", "Sign in, or install the local model"):
        window.wait_until_shown(window.page.get_by_role("checkbox", name=step, checked=True))
    window.wait_until_shown(window.page.get_by_role("checkbox", name="Ask the first question", checked=False))
