"""Signing in and out, quotas and the default model, against the emulator of GitHub's services."""

from __future__ import annotations

import importlib.util
import re

import pytest

from jumpseat.adapters.local.model import ENGINE, FILE_NAME

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.fixture
def signed_out(window, daemon):
    """The window. A user who has signed in is signed out after the test."""
    yield window
    window.command("jumpseat.signOut", "copilot")


def sign_in(window, github) -> str:
    """Start to sign in, and return the code. Check that the page is opened and the code shown and copied."""
    with window.page.context.expect_page() as opened:
        window.start("jumpseat.signIn", "copilot")
    # VS Code in a browser forwards the address of the page, because its server may be another machine.
    assert opened.value.url.endswith("/login/device")
    opened.value.close()
    text = window.wait_for_notification("enter the code").inner_text()
    assert github.page in text
    code = re.search(r"enter the code (\S+),", text)[1]
    assert window.js("return vscode.env.clipboard.readText()") == code
    return code


@pytest.mark.scenario("sign-in", "quota")
def test_a_user_signs_in_by_code_and_page_and_sees_models_and_quota(signed_out, github):
    github.approve(sign_in(signed_out, github))
    signed_out.wait_for_notification("Signed in to copilot as octocat.")
    signed_out.wait("(await lm.models({ vendor: 'jumpseat' })).some(({ id }) => id.startsWith('copilot:'))")

    signed_out.start("jumpseat.status")
    signed_out.wait_for_text("signed in as octocat", within=signed_out.quick_input)
    signed_out.wait_for_text("% left", within=signed_out.quick_input)


@pytest.mark.scenario("sign-out-elsewhere")
def test_a_sign_out_in_another_window_is_noticed(signed_out, github, open_window):
    github.approve(sign_in(signed_out, github))
    signed_out.wait_for_notification("Signed in to copilot as octocat.")
    signed_out.command("notifications.clearAll")
    other = open_window()
    other.js("await vscode.extensions.getExtension('jumpseat.jumpseat').activate()")
    # VS Code does not show notifications in a hidden window.
    signed_out.page.bring_to_front()
    other.command("jumpseat.signOut", "copilot")
    signed_out.wait_for_notification("You are signed out of copilot.")
    other.close()


def test_a_sign_in_that_is_cancelled_ends(window, github):
    sign_in(window, github)
    shown = window.wait_for_notification("enter the code")
    shown.hover()
    shown.get_by_text("Cancel").click()
    window.wait_until_hidden(shown)


@pytest.mark.scenario("model-change")
def test_the_default_model_is_chosen_and_shown_in_the_status_bar(window):
    window.start("jumpseat.selectModel")
    window.pick("other-model")
    window.wait_until_shown(window.status.get_by_text("other-model"))
    window.start("jumpseat.selectModel")
    window.pick("fake-model")
    window.wait_until_shown(window.status.get_by_text("fake-model"))


def test_a_provider_with_an_api_key_says_how_to_set_the_key(window):
    window.start("jumpseat.signIn", "fake")
    shown = window.wait_for_notification("There is no sign-in to fake: its key is set in the configuration.")
    assert "jumpseat: Set API Key" in shown.inner_text()
    # The hint must not name the command `jumpseat keys set`.
    assert "keys set" not in shown.inner_text()


def test_the_configuration_file_is_opened(window, code_server):
    window.command("jumpseat.openConfiguration")
    window.wait(
        "vscode.window.activeTextEditor?.document.uri.fsPath === values[0]",
        str(code_server.home / "config.toml"),
    )


def test_a_default_model_that_the_configuration_overrides_is_reported(window, code_server):
    window.command("jumpseat.selectModel", "fake:other-model")
    window.wait_until_shown(window.status.get_by_text("other-model"))
    file = code_server.home / "config.toml"
    before = file.read_text()
    file.write_text(f'default_model = "fake:fake-model"\n{before}')
    try:
        window.wait_until_shown(window.status.get_by_text("fake-model"))
        window.start("jumpseat.selectModel", "fake:other-model")
        window.wait_for_notification(f'no effect here: {file} sets it to "fake:fake-model"')
    finally:
        file.write_text(before)
        window.command("jumpseat.selectModel", "fake:fake-model")


@pytest.mark.skipif(importlib.util.find_spec(ENGINE) is None, reason=f"{ENGINE} is not installed")
def test_a_local_model_that_is_removed_is_not_reported_as_a_sign_out(window, code_server):
    file = code_server.home / "models" / FILE_NAME
    file.parent.mkdir()
    file.write_bytes(b"GGUF")
    window.wait("(await lm.models({ vendor: 'jumpseat' })).some(({ id }) => id.startsWith('local:'))")
    file.unlink()
    shown = window.wait_for_notification("local is no longer ready.")
    assert "jumpseat: Install Local Model" in shown.inner_text()
    window.wait_until_shown(shown.get_by_text("Install Local Model", exact=True))
    # Clear the notification for the next test, because "clear all" leaves one that has just appeared.
    shown.hover()
    shown.get_by_role("button", name="Clear Notification").click()
    window.wait_until_hidden(shown)
    window.start("jumpseat.status")
    window.wait_for_text("not ready", within=window.quick_input)
