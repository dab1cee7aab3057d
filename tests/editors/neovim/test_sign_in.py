"""Signing in and out, also in another Neovim, and the quota, against the emulator of GitHub's services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.editors.github import GitHub
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.provider import write_config
from tests.fakes.mcp_http import AuthorizationServer, McpEndpoint

pytestmark = [pytest.mark.editor, pytest.mark.slow]

NO_BROWSER = {"open_browser": False}


@pytest.fixture
def child(empty_home: Path, github: GitHub) -> Iterator[Child]:
    """A Neovim of a user who is signed out."""
    with running_neovim(empty_home, options=NO_BROWSER) as running:
        yield running


def sign_in(child: Child, github: GitHub) -> str:
    """Sign in, and return the screen with the code."""
    child.command("Jumpseat login copilot")
    child.wait_for_text("Code:  ")
    screen = child.screen
    code = screen.partition("Code:  ")[2].split()[0].rstrip("│")
    github.approve(code)
    child.wait("#_G.messages > 0")
    return screen


@pytest.mark.scenario("sign-in", "quota")
def test_a_user_signs_in_by_code_and_page_and_sees_the_quota(child, github):
    screen = sign_in(child, github)
    assert f"Page:  {github.page}" in screen
    assert child.messages == ["jumpseat: Signed in to copilot as octocat."]
    child.wait("#vim.api.nvim_list_wins() == 1")

    child.command("Jumpseat")
    child.ask("Hello")
    child.wait_until_idle()
    child.wait_for_text("% left")
    assert "You said: Hello" in child.text
    child.command("Jumpseat status")
    child.wait_for_text("copilot: signed in as octocat")


def test_a_sign_in_whose_window_is_closed_is_cancelled(child, github):
    child.command("Jumpseat login copilot")
    child.wait_for_text("Code:  ")
    child.keys("q")
    child.wait("#_G.messages > 0")
    assert child.messages == ["jumpseat: The sign-in was cancelled."]


def test_a_sign_in_to_a_tool_server_shows_its_host_instead_of_a_code(home, provider):
    with ThreadedUpstream() as server, ThreadedUpstream() as issuer:
        endpoint = McpEndpoint(server)
        AuthorizationServer(issuer, endpoint)
        write_config(home, provider.base_url, f'[mcp.shop]\nurl = "{endpoint.url}"\n')
        with running_neovim(home, options=NO_BROWSER) as child:
            child.command("Jumpseat login mcp:shop")
            child.wait_for_text("Sign in to shop")
            assert f"Host:  {issuer.origin.removeprefix('http://')}" in child.screen
            assert "Code:" not in child.screen
            child.keys("q")
            child.wait("#_G.messages > 0")
            assert child.messages == ["jumpseat: The sign-in was cancelled."]


@pytest.mark.scenario("sign-out-elsewhere")
def test_a_sign_out_in_another_neovim_is_noticed(child, github, empty_home):
    with running_neovim(empty_home, options=NO_BROWSER) as second:
        sign_in(child, github)
        second.command("Jumpseat")
        second.ask("Hello")
        second.wait_until_idle()
        child.command("Jumpseat logout copilot")
        second.wait("#_G.messages > 0")
        assert "You are signed out of copilot." in second.messages[0]
        # The first Neovim has reported its own sign-in and sign-out, and nothing else.
        assert len(child.messages) == 2


@pytest.mark.parametrize("answer", ["Accept", "No"])
def test_the_terms_of_a_model_are_shown_and_accepted_only_by_the_user(child, github, answer):
    sign_in(child, github)
    child.command("Jumpseat")
    child.script_choices("terms not accepted", answer)
    child.command("Jumpseat model")
    child.wait_for_choices()
    terms = child.lua("return _G.prompts")[1]
    assert terms.endswith("\nAccept the terms for your account?")
    # The prompt has more text than the question: the terms.
    assert len(terms) > 60
    if answer == "Accept":
        child.wait("vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == 'model: copilot:claude-haiku-4.5'")
    assert github.policies() == ([{"state": "enabled"}] if answer == "Accept" else [])
    assert ("model:" in child.text) is (answer == "Accept")
