"""Models, settings, status and logs."""

from __future__ import annotations

import pytest

import jumpseat
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import lisp, running_emacs
from tests.editors.provider import MODELS, WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("model-change")
def test_a_picked_model_is_named_in_the_front_matter_and_used_by_the_next_turn(child, provider):
    provider.default(MODELS, path="/v1/models")
    provider.script(Reply.events(WORDS), Reply.events(WORDS), path="/v1/chat/completions")
    child.ask("First.")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    child.keys("^C^V")
    child.wait_for_text("Model: ")
    child.keys("?")
    child.wait_for_text("fake:fake-model")
    child.wait_for_text("default")
    child.keys("fake:other-model^M")
    child.wait('(equal (jumpseat--transcript-model) "fake:other-model")')
    assert child.text.count("conversation: ") == 1
    child.ask("Second.")
    child.wait('(= 2 (how-many "Hello there" 1))')
    child.wait_until_idle()
    chats = [request for request in provider.requests if request.path == "/v1/chat/completions"]
    assert [request.json["model"] for request in chats] == ["fake-model", "other-model"]
    assert child.text.count("## Assistant") == 2


def test_the_policy_of_a_model_is_described_unless_it_is_unknown(child):
    model = '(list :name "m" :model "m" :supportsToolUse t :policy "{}")'
    described = {
        policy: child.eval(f"(jumpseat--models-describe {model.format(policy)})")
        for policy in ("enabled", "unconfigured", "disabled", "sound_asleep")
    }
    assert described == {
        "enabled": "tools",
        "unconfigured": "tools · terms not accepted",
        "disabled": "tools · disabled",
        "sound_asleep": "tools",
    }


def test_a_model_that_is_chosen_outside_of_a_chat_becomes_the_default(home, package, provider):
    provider.default(MODELS, path="/v1/models")
    with running_emacs(home, package=package) as child:
        child.command("jumpseat-model", "fake:other-model")
        child.wait_for_message("fake:other-model is now the default model")


def test_a_default_model_that_the_configuration_overrides_is_reported(home, package, provider):
    provider.default(MODELS, path="/v1/models")
    file = home / "config.toml"
    file.write_text('default_model = "fake:fake-model"\n' + file.read_text())
    with running_emacs(home, package=package) as child:
        child.command("jumpseat-model", "fake:other-model")
        child.wait_for_message(f'no effect here: {file} sets it to "fake:fake-model"')


def test_the_question_slash_model_chooses_the_model_and_is_not_sent(child, provider):
    child.ask("/model fake:other-model")
    child.wait('(equal (jumpseat--transcript-model) "fake:other-model")')
    assert "/model" not in child.text
    assert provider.requests == []


def test_a_choice_waits_until_the_user_has_left_the_minibuffer(child, provider):
    provider.default(MODELS, path="/v1/models")
    child.eval("(run-at-time 0 nil #'jumpseat-model)")
    child.keys("^[xcommand")
    child.wait('(assoc "models/list" jumpseat-models--cache)')
    child.wait_for_text("M-x command")
    child.keys("^G")
    child.wait_for_text("Model: ")
    child.keys("^G")


@pytest.mark.scenario("settings")
def test_settings_are_completed_explained_and_refused_with_the_rule(child, provider):
    child.eval("""(progn (goto-char 1) (insert "---\nmodel: fake:fake-model\n\n---\n\n")
                         (goto-char 1) (forward-line 2) (jumpseat--models-known-providers))""")
    child.wait("(jumpseat--models-known-providers)")
    child.keys("temp^[^I9")
    child.wait('(string-search "temperature: 9" (buffer-string))')
    found = """(mapcar (lambda (each) (list (line-number-at-pos (flymake-diagnostic-beg each))
                                            (flymake-diagnostic-text each)))
                       (flymake-diagnostics))"""
    child.wait(found)
    assert child.eval(found) == [[3, "settings.temperature must be at most 2."]]
    child.keys("^_1")
    child.wait(f"(not {found})")

    child.keys("^C^O")
    child.wait_for_text("Setting: ")
    child.keys("?")
    child.wait_for_text("at least 0, at most 2")
    child.keys("top_p^M")
    child.wait_for_text("top_p (number, at least 0, at most 1")
    child.keys("5^M")
    child.wait_for_text("settings.top_p must be at most 1. top_p (number")
    assert "top_p: " not in child.text
    child.keys("^A^K0.5^M")
    child.wait_for_text("top_p: 0.5")
    child.wait_for_text("temperature: 1")
    assert provider.requests == []


def test_the_status_lists_the_providers_and_the_daemon(child):
    child.command("jumpseat-status")
    child.wait_for_text("fake: configured")
    assert f"jumpseat {jumpseat.__version__}" in child.screen
    assert "copilot: signed out" in child.screen


def test_a_sign_in_is_offered_only_for_providers_that_have_one(child):
    child.wait("(jumpseat--models-known-providers)")
    child.keys("^U^[xjumpseat-login^M")
    child.wait_for_text("Sign in to")
    child.keys("?")
    child.wait_for_text("copilot")
    assert "local" not in child.screen
    child.keys("fake^M")
    child.wait_for_text("There is no sign-in to fake")
    assert "Run `M-x jumpseat-set-key` for fake" in child.wait_for_message("There is no sign-in to fake")


def test_providers_are_completed_although_they_were_not_known_when_the_command_began(home, package):
    with running_emacs(home, package=package) as child:
        child.keys("^[xjumpseat-doctor^M")
        child.wait_for_text("Check the provider")
        child.wait("""(assoc "providers/list" jumpseat-models--cache)""")
        child.keys("fa\t")
        child.wait_for_text("the default one): fake")


def test_a_key_needs_the_name_of_its_provider(child):
    for command, prompt in (("set", "Set the API key for: "), ("remove", "Remove the API key of: ")):
        child.keys(f"^[xjumpseat-{command}-key^M")
        child.wait_for_text(prompt)
        child.keys("^M")
        child.wait_for_text("No provider was entered")


def test_a_provider_is_checked(child, provider):
    provider.default(MODELS, path="/v1/models")
    child.command("jumpseat-doctor", "fake")
    child.wait_for_text("Checks of fake")
    child.wait_for_text("✓ connection")


def test_the_logs_are_opened(child):
    child.wait("(progn (jumpseat--rpc-start) (jumpseat--rpc-info))")
    child.command("jumpseat-log")
    child.wait('(get-buffer-window "daemon.log")')
    assert "the log was opened" in child.eval('(with-current-buffer "*jumpseat log*" (buffer-string))')
    for name in ("daemon.log", "*jumpseat log*"):
        child.eval(f"(select-window (get-buffer-window {lisp(name)}))")
        child.keys("q")
        child.wait(f"(not (get-buffer-window {lisp(name)}))")


def test_a_user_without_a_provider_is_offered_a_sign_in_or_the_local_model(empty_home, package):
    with running_emacs(empty_home, package=package) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("No provider is ready (Sign in, Install the local model, Not now): ")
        child.keys("?")
        for offer in ("Sign in", "Install the local model", "Not now"):
            child.wait_for_text(offer)
        child.keys("Not now^M")
        child.wait_for_text("✗ ")
        assert child.text == "## Me\n\nHello?"
