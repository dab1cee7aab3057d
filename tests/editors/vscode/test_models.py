"""The list of models in VS Code while providers and their models come and go."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jumpseat.testing.upstream import Gate, Reply
from tests.editors.vscode.code_server import CodeServer
from tests.editors.vscode.provider import hello
from tests.editors.vscode.requests import ask

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MODEL = "fake:fake-model"
# The extension makes VS Code wait for less than this. Waiting for a silent daemon would take much longer.
SOON_MS = 10_000
# This must be longer than the ten seconds for which the daemon repeats a failure.
LATE_SECONDS = 60.0


@contextlib.contextmanager
def add_provider(
    code_server: CodeServer, name: str, base_url: str, change: tuple[str, str] = ("", "")
) -> Iterator[None]:
    """Add a provider to the configuration, and replace `change[0]` with `change[1]`, during the block."""
    file = code_server.home / "config.toml"
    text = file.read_text()
    table = f'\n[providers.{name}]\nkind = "openai"\nbase_url = "{base_url}"\nmax_retries = 0\n'
    file.write_text(text.replace(*change, 1) + table)
    try:
        yield
    finally:
        file.write_text(text)


def rows(*names: str) -> Reply:
    return Reply.json({"data": [{"id": name} for name in names]})


def test_the_default_row_follows_the_default_model_and_the_answer_names_it(chat, provider):
    chat.choose_model("(default) fake-model")
    provider.script(hello())
    chat.ask("@jumpseat Who answers?")
    chat.wait_until_shown(chat.answers.last.locator("code").get_by_text(MODEL))
    chat.wait_for_answer()
    chat.command("jumpseat.selectModel", "fake:other-model")
    try:
        provider.script(hello())
        ask(chat, "default", [{"role": "user", "content": "And now?"}])
        assert {each["model"] for each in provider.chats} == {"fake-model", "other-model"}
    finally:
        chat.command("jumpseat.selectModel", MODEL)
    chat.choose_model("fake-model")
    provider.script(hello())
    chat.ask("@jumpseat Who answers?")
    chat.wait_for_answer_text("Hello there.")
    assert chat.answers.last.locator("code").count() == 0, "the picker already names the model"


def test_refresh_models_and_restart_server_list_new_models(window, provider):
    window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
    provider.set_model_list(rows("fake-model", "other-model", "pulled"))
    window.command("jumpseat.refreshModels")
    window.wait_for_notification("models are available.")
    window.wait("(await lm.models({ id: 'fake:pulled' })).length === 1")
    provider.set_model_list(rows("fake-model", "other-model"))
    window.command("jumpseat.restart")
    window.wait("(await lm.models({ id: 'fake:pulled' })).length === 0")


def test_the_models_of_a_server_that_is_started_later_are_listed(window, provider, code_server):
    provider.set_model_list(Reply.json({"error": {"message": "Not yet."}}, 503), path="/late/models")
    with add_provider(code_server, "late", provider.base_url.replace("/v1", "/late")):
        provider.wait_for_list("/late/models")
        provider.set_model_list(rows("woken"), path="/late/models")
        window.wait("(await lm.models({ id: 'late:woken' })).length === 1", wait_seconds=LATE_SECONDS)


def test_extensions_do_not_wait_for_a_silent_daemon_or_provider(window, provider, daemon, code_server):
    window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
    listing = """
        const begin = Date.now();
        const found = await lm.models({ vendor: 'jumpseat' });
        return [found.map(({ id }) => id), Date.now() - begin];
        """
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        found, elapsed = window.js(listing)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert MODEL in found
    assert elapsed < SOON_MS

    gate = Gate()
    provider.set_model_list(replace(rows("slow"), held=gate), path="/silent/models")
    with add_provider(code_server, "silent", provider.base_url.replace("/v1", "/silent")):
        provider.wait_for_list("/silent/models")
        found, elapsed = window.js(listing)
        assert MODEL in found
        assert elapsed < SOON_MS
        provider.open(gate)
        window.wait("(await lm.models({ id: 'silent:slow' })).length === 1")


def test_a_provider_that_cannot_be_reached_is_not_shown_as_ready(window, code_server):
    first = 'default_provider = "gone"\ndefault_model = "gone:m"\n'
    with add_provider(code_server, "gone", "http://127.0.0.1:9/v1", ('default_provider = "fake"\n', first)):
        window.wait_until_shown(window.status.get_by_text("gone does not answer"))
        window.start("jumpseat.status")
        row = window.quick_input.locator(".monaco-list-row").filter(has_text="gone")
        window.wait_for_text("does not answer", within=row)
        window.page.keyboard.press("Escape")
    window.wait_until_shown(window.status.get_by_text("fake-model"))


def test_the_models_of_vs_codes_own_features_are_recommended_and_set(window, provider):
    # The daemon keeps this list after the test, so the list contains the models that other tests need.
    provider.set_model_list(rows("fake-model", "other-model", "fake-model-mini"))
    window.command("jumpseat.refreshModels")
    window.start("jumpseat.setUtilityModels")
    window.wait_for_text("Model for summaries", within=window.quick_input)
    window.page.keyboard.press("Enter")
    window.wait_for_text("Model for titles", within=window.quick_input)
    window.page.keyboard.press("Enter")
    window.wait_for_notification("VS Code now uses fake-model for texts and fake-model-mini for titles.")
    chosen = "['utilityModel', 'utilitySmallModel'].map((name) => settings.get(name))"
    settings = "const settings = vscode.workspace.getConfiguration('chat');"
    assert window.js(f"{settings} return {chosen}") == [f"jumpseat/{MODEL}", "jumpseat/fake:fake-model-mini"]
    window.js(
        f"{settings} for (const name of ['utilityModel', 'utilitySmallModel']) "
        "await settings.update(name, undefined, 1)"
    )
