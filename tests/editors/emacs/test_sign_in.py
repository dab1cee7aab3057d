"""Signing in and out, quotas and terms, against the emulator of GitHub's services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.emacs.child import Child, running_emacs
from tests.editors.github import GitHub

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.fixture
def child(empty_home: Path, package: Path, github: GitHub) -> Iterator[Child]:
    """An Emacs of a user who is signed out."""
    with running_emacs(empty_home, package=package) as running:
        yield running


def sign_in(child: Child, github: GitHub) -> str:
    """Sign in, and return the screen with the code."""
    child.eval('(jumpseat-login "copilot")')
    child.wait_for_text("Code:  ")
    screen = child.screen
    code = screen.partition("Code:  ")[2].split()[0]
    assert child.eval("(current-kill 0)") == code
    github.approve(code)
    child.wait_for_message("Signed in to copilot as octocat.")
    return screen


@pytest.mark.scenario("sign-in", "quota")
def test_a_user_signs_in_by_code_and_page_and_sees_the_quota(child, github):
    screen = sign_in(child, github)
    assert f"Page:  {github.page}" in screen
    child.wait('(not (get-buffer "*jumpseat sign-in*"))')

    child.command("jumpseat")
    child.ask("Hello")
    child.wait_for_text("You said: Hello")
    child.wait_until_idle()
    child.wait_for_text("% left")
    child.command("jumpseat-status")
    child.wait_for_text("copilot: signed in as octocat")


def test_the_error_of_a_user_who_is_signed_out_names_the_command_of_emacs(child):
    child.command("jumpseat")
    child.ask("Hello")
    child.wait_for_text("✗ ")
    child.wait_for_text("M-x jumpseat-login")
    assert "jumpseat login" not in child.screen


def test_a_sign_in_whose_window_is_closed_is_cancelled(child, github):
    child.eval('(jumpseat-login "copilot")')
    child.wait_for_text("Code:  ")
    child.keys("q")
    child.wait_for_message("The sign-in was cancelled.")
    child.wait_until_text_is_gone("Code:  ")


@pytest.mark.scenario("sign-out-elsewhere")
def test_a_sign_out_in_another_emacs_is_noticed(child, github, empty_home, package):
    with running_emacs(empty_home, package=package) as second:
        sign_in(child, github)
        second.command("jumpseat")
        second.ask("Hello")
        second.wait_for_text("You said: Hello")
        second.wait_until_idle()
        child.eval('(jumpseat-logout "copilot")')
        second.wait_for_message("You are signed out of copilot.")
        child.wait_for_message("copilot: signed out.")
        # Besides the sign-in, only the sign-out is reported here.
        assert len(child.messages) == 2


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_the_terms_of_a_model_are_shown_and_accepted_only_by_the_user(child, github, answer):
    sign_in(child, github)
    child.command("jumpseat")
    child.keys("^C^V")
    child.wait_for_text("Model: ")
    child.keys("copilot:claude?")
    child.wait_for_text("terms not accepted")
    child.keys("-haiku^I^M")
    child.wait_for_text("Enable access to the latest Claude Haiku 4.5 model from Anthropic.")
    child.wait_for_text("Accept the terms for your account? (yes or no)")
    child.keys(f"{answer}^M")
    if answer == "yes":
        child.wait('(equal (jumpseat--transcript-model) "copilot:claude-haiku-4.5")')
    else:
        child.wait("(not (active-minibuffer-window))")
        child.eval("(jumpseat--models-providers (lambda (&rest _) (setq asked t)))")
        child.wait("(bound-and-true-p asked)")
        assert "model:" not in child.text
    assert github.policies() == ([{"state": "enabled"}] if answer == "yes" else [])
