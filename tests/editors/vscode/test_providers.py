"""Adding providers, setting keys and settings, and finding out why models are missing."""

from __future__ import annotations

import tomllib

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.provider import MODELS
from tests.editors.vscode.provider import hello
from tests.editors.vscode.requests import ask

pytestmark = [pytest.mark.editor, pytest.mark.slow]

KEY = "canary-of-a-key-12345"


@pytest.fixture
def configuration(window, provider):
    """The configuration file. Its text and the provider's list of models are restored after the test."""
    file = window.server.home / "config.toml"
    before = file.read_text()
    yield file
    provider.set_model_list(MODELS)
    file.write_text(before)
    # The daemon repeats the failure of a list for ten seconds.
    window.wait("(await lm.models({ id: 'fake:fake-model' })).length === 1", wait_seconds=60)


def providers(configuration) -> dict[str, dict[str, str]]:
    return tomllib.loads(configuration.read_text())["providers"]


def enter(window, title: str, text: str) -> None:
    """Answer the input box with this title."""
    window.wait_for_text(title, within=window.quick_input)
    window.quick_input.get_by_role("textbox").fill(text)
    window.page.keyboard.press("Enter")


def add_server(window, base_url: str, key: str) -> None:
    """Add the provider `lab` in VS Code's list of models."""
    window.command("workbench.action.chat.manage")
    window.page.get_by_role("button", name="Add Models").click()
    # Use the keyboard, because a menu that has just opened ignores clicks.
    vendor = window.page.locator(".context-view").get_by_text("jumpseat", exact=True)
    window.click_until_shown(vendor, window.quick_input.get_by_text("Add Provider"))
    window.pick("Add Provider")
    window.pick("Another server with OpenAI's chat completions")
    enter(window, "(1 of 3)", "lab")
    enter(window, "(2 of 3)", base_url)
    enter(window, "(3 of 3)", "")
    enter(window, "Set API Key", key)


def test_a_server_is_added_from_vs_codes_list_of_models(window, provider, configuration):
    add_server(window, provider.base_url, KEY)
    window.wait_for_notification("The key of lab works, and is stored")
    table = providers(configuration)["lab"]
    assert (table["kind"], table["base_url"]) == ("openai", provider.base_url)
    assert KEY not in configuration.read_text()
    assert KEY not in window.server.log()
    window.wait("(await lm.models({ id: 'lab:fake-model' })).length === 1")


def test_a_key_that_the_provider_refuses_is_not_stored(window, provider, configuration):
    configuration.write_text(
        f'{configuration.read_text()}\n[providers.keyed]\nkind = "openai"\nbase_url = "{provider.base_url}"\n'
    )
    provider.set_model_list(Reply.json({"error": {"message": "Bad key."}}, 401))
    window.start("jumpseat.setKey", "keyed")
    enter(window, "Set API Key", KEY)
    window.wait_for_notification("The key was not stored.")
    assert "api_key" not in providers(configuration)["keyed"]


def test_a_setting_of_a_provider_is_saved_for_all_chats(window, provider):
    window.start("jumpseat.manageProviders")
    window.pick("fake")
    window.pick("Settings…")
    window.pick("temperature")
    window.quick_input.get_by_role("textbox").fill("7")
    window.wait_for_text("Enter a number from 0 to 2.")
    window.quick_input.get_by_role("textbox").fill("0.5")
    window.page.keyboard.press("Enter")
    window.wait_for_text("0.5 · saved", within=window.quick_input)
    provider.script(hello())
    ask(window, "fake:fake-model", [{"role": "user", "content": "Hello?"}])
    assert provider.chats[0]["temperature"] == 0.5
    window.pick("temperature")
    window.quick_input.get_by_role("textbox").fill("")
    window.page.keyboard.press("Enter")
    window.wait_for_text("number from 0 to 2", within=window.quick_input)
    window.page.keyboard.press("Escape")


def test_the_diagnosis_says_why_models_are_missing_and_opens_the_fix(window, configuration):
    table = '[providers.gone]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmax_retries = 0\n'
    first = 'default_provider = "gone"\ndefault_model = "gone:m"'
    text = configuration.read_text().replace('default_provider = "fake"', first)
    configuration.write_text(f"{text}\n{table}")
    window.wait_until_shown(window.status.get_by_text("gone does not answer"))
    window.start("jumpseat.diagnoseModels")
    window.wait_for_text("no list of models", within=window.quick_input)
    window.wait_for_text("2 models in the picker", within=window.quick_input)
    window.wait_for_text("connection", within=window.quick_input)
    window.pick("signed out")
    shown = window.wait_for_notification("enter the code")
    shown.hover()
    shown.get_by_text("Cancel").click()
    window.wait_until_hidden(shown)


def test_a_server_without_a_key_is_added_by_keyboard_alone(window, provider, configuration):
    window.command("workbench.action.focusActiveEditorGroup")
    window.page.keyboard.press("F1")
    window.page.keyboard.type("jumpseat: Add Provider")
    window.page.keyboard.press("Enter")
    window.wait_for_text("Another server with OpenAI's chat completions", within=window.quick_input)
    window.page.keyboard.type("Another server with OpenAI's chat")
    window.page.keyboard.press("Enter")
    for title, text in (
        ("(1 of 3)", "desk"),
        ("(2 of 3)", provider.base_url),
        ("(3 of 3)", ""),
        ("Set API", ""),
    ):
        window.wait_for_text(title, within=window.quick_input)
        window.page.keyboard.press("Control+a")
        if text:
            window.page.keyboard.type(text)
        window.page.keyboard.press("Enter")
    window.wait_for_notification("desk was added to the configuration.")
    assert "api_key" not in providers(configuration)["desk"]
