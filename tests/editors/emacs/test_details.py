"""Keys, the dry run, marks and faces, sessions, and trust in servers."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import PACKAGE, Child, emacs, lisp, running_emacs
from tests.editors.provider import CHATS, MODELS, WORDS, fake, hold_answer, write_config
from tests.fakes import mcp_server

pytestmark = [pytest.mark.editor, pytest.mark.slow]

KEY = "canary-of-a-key-12345"


@pytest.fixture
def keyless(home: Path, provider) -> Path:
    """A home whose provider lacks a key."""
    text = fake(provider.base_url).replace('api_key = "fake-key"', 'api_key = "env:NO_SUCH_KEY"')
    (home / "config.toml").write_text(text)
    return home


@pytest.mark.scenario("keys")
def test_a_key_is_read_unseen_tested_stored_and_removed(keyless, package, provider):
    provider.default(MODELS, path="/v1/models")
    provider.script(Reply.events(WORDS), path=CHATS)
    with running_emacs(keyless, package=package) as child:
        child.command("jumpseat-set-key", "fake")
        child.wait_for_text("API key of fake:")
        child.keys(KEY)
        child.wait_for_text("API key of fake: ***")
        assert KEY not in child.screen
        child.keys("^M")
        child.wait_for_message("The key of fake works, and is stored in a private file.")
        assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
        child.command("jumpseat")
        child.wait("jumpseat-chat-mode")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert provider.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        texts = child.eval(
            '(mapconcat (lambda (each) (with-current-buffer each (buffer-string))) (buffer-list) "")'
        )
        assert KEY not in texts
        child.command("jumpseat-remove-key", "fake")
        child.wait_for_message("The key of fake was removed.")


@pytest.mark.scenario("keys")
def test_a_key_that_the_provider_refuses_is_not_stored(keyless, package, provider):
    provider.default(Reply.json({"error": {"message": "The key is wrong."}}, 401), path="/v1/models")
    with running_emacs(keyless, package=package) as child:
        child.command("jumpseat-set-key", "fake", KEY)
        child.wait_for_message("The key was not stored. ")
        assert "NO_SUCH_KEY" in (keyless / "config.toml").read_text()


def test_a_hint_about_a_key_names_the_command_of_emacs(child, provider):
    provider.default(MODELS, path="/v1/models")
    child.command("jumpseat-doctor", "fake")
    child.wait_for_text("M-x jumpseat-set-key")


def test_the_readme_takes_a_key_from_auth_source(home, package, provider):
    readme = (PACKAGE / "README.md").read_text("utf-8")
    (source,) = re.findall(r'^api_key = (""".*?""")$', readme, re.MULTILINE | re.DOTALL)
    assert source.replace("\n  ", " ") in " ".join((PACKAGE / "jumpseat.texi").read_text("utf-8").split())
    (home / ".authinfo").write_text(f"machine api.groq.com login me password {KEY}\n")
    (home / ".authinfo").chmod(0o600)
    table = fake(provider.base_url).replace('"fake-key"', source.replace("cmd:emacs", f"cmd:{emacs()}"))
    (home / "config.toml").write_text(table)
    provider.script(Reply.events(WORDS))
    with running_emacs(home, package=package) as child:
        child.command("jumpseat")
        child.wait("jumpseat-chat-mode")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


def read_request(child: Child) -> dict[str, object]:
    """Return the request that the dry run shows."""
    child.wait_for_text("This would be sent: about")
    assert child.eval("(buffer-name)") == "*jumpseat dry run*"
    return json.loads(child.text)


@pytest.mark.scenario("dry-run")
def test_a_dry_run_shows_the_request_without_sending_it_or_changing_the_chat(child, provider, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("See 100 % here.\n")
    text = f"---\nmodel: fake:fake-model\nsystem: Be brief.\n---\n\n## Me\n\nRead @file:{file}"
    child.eval(f"(progn (erase-buffer) (insert {lisp(text)}))")
    child.command("jumpseat-dry-run")
    request = read_request(child)
    assert (request["model"], request["system"]) == ("fake:fake-model", "Be brief.")
    blocks = request["messages"][0]["content"]
    assert [(each["type"], each["text"]) for each in blocks] == [
        ("context", "See 100 % here.\n"),
        ("text", f"Read @file:{file}"),
    ]
    child.keys("q")
    child.wait("jumpseat-chat-mode")
    assert child.text == text
    assert provider.requests == []
    assert child.eval('(seq-find (lambda (each) (string-search "dry run" (buffer-name each))) (buffer-list))')


def test_a_dry_run_reports_a_reference_to_a_missing_file(child, provider):
    child.eval('(insert "Read @file:no-such-file")')
    child.command("jumpseat-dry-run")
    child.wait_for_message("The file no-such-file cannot be read.")
    assert child.eval('(get-buffer "*jumpseat dry run*")') is None


@pytest.mark.scenario("dry-run")
def test_a_dry_run_outside_of_chats_shows_the_text_before_point(home, package, provider):
    with running_emacs(home, package=package) as child:
        child.eval('(progn (switch-to-buffer "notes") (insert "Why?\nLater") (goto-char 5))')
        child.command("jumpseat-dry-run")
        assert read_request(child)["messages"] == [{"role": "user", "content": "Why?"}]
        assert provider.requests == []


@pytest.mark.scenario("role-marks")
def test_marks_in_the_margin_show_the_roles(home, package, provider):
    gate = Gate()
    provider.script(hold_answer("Hello", gate=gate))
    with running_emacs(home, package=package) as child:
        child.eval("""(setq jumpseat-role-marks '("Q" . "A"))""")
        child.command("jumpseat")
        child.wait("jumpseat-chat-mode")
        child.wait_for_text("Q ## Me")
        child.ask("Hello?")
        child.wait_for_text("A ## Assistant")
        provider.open(gate)
        child.wait_for_text("Hello End.")
        child.wait_until_idle()
        child.wait('(string-match-p "## Me[^#]*## Assistant[^#]*## Me" (buffer-string))')
        assert child.screen.count("Q ## Me") == 2
        assert "Q" not in child.text
        child.eval("(jumpseat-chat-mode -1)")
        child.wait_until_text_is_gone("Q ## Me")
        assert child.eval("(car (window-margins))") is None
        marks = "(seq-filter (lambda (each) (eq 'mark (overlay-get each 'jumpseat-kind))) (overlays-in 1 99))"
        assert child.eval(marks) is None


def test_thinking_and_results_have_their_own_faces(child, provider):
    thought = [chunk({"reasoning_content": "Let me see."}), *completion_stream(["Done."])]
    provider.script(Reply.events(thought))
    child.ask("Think.")
    child.wait_for_text("▸ Thinking (1 line)")
    child.wait_until_idle()
    face = "(overlay-get (car (jumpseat-view--find-folds 1 (point-max))) 'face)"
    assert child.eval(f"(symbol-name {face})") == "jumpseat-thinking"
    child.keys("^C^T")
    child.wait_for_text("Let me see.")
    result = "```tool_result id=c1\nHello.\n```\n"
    child.eval(f"(progn (erase-buffer) (insert {lisp(result)}) (jumpseat--chat-fold))")
    child.wait_for_text("▸ Result (1 line)")
    assert child.eval(f"(symbol-name {face})") == "jumpseat-result"


@pytest.mark.scenario("sessions")
def test_a_saved_chat_is_a_chat_again_in_a_restored_session(home, package, provider, tmp_path):
    provider.script(Reply.events(WORDS), Reply.events(WORDS))
    chat, desktop = tmp_path / "chat.md", tmp_path / "desktop"
    desktop.mkdir()
    with running_emacs(home, package=package) as child:
        child.command("jumpseat")
        child.wait("jumpseat-chat-mode")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        child.eval(f"(progn (write-file {lisp(str(chat))}) (desktop-save {lisp(str(desktop))} t))")
    with running_emacs(home, package=package) as other:
        other.eval(f"(progn (setq desktop-load-locked-desktop t) (desktop-read {lisp(str(desktop))}))")
        other.wait('(get-buffer "chat.md")')
        other.eval('(switch-to-buffer "chat.md")')
        assert other.eval("(list jumpseat-chat-mode flymake-mode (buffer-modified-p))") == [True, True, None]
        other.ask("Again?")
        other.wait('(= 2 (how-many "Hello there" 1))')
        other.wait_until_idle()
    assert len(provider.requests[1].json["messages"]) == 3


@pytest.mark.scenario("trust")
def test_a_server_of_the_clients_configuration_runs_only_after_it_was_trusted(
    home, package, provider, tmp_path
):
    write_config(home, provider.base_url)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "a.py").write_text("one = 1\n")
    with running_emacs(home, str(project / "a.py"), package=package) as chat:
        words = " ".join(lisp(each) for each in mcp_server.command())
        chat.eval(f"(setq jumpseat-config '(:mcp (:shop (:command [{words}]))))")
        chat.command("jumpseat")
        chat.wait("jumpseat-chat-mode")
        chat.keys("^C^L")
        chat.wait_for_text("[ ] shop workspace, untrusted")
        chat.eval('(progn (goto-char (point-min)) (search-forward "] shop") t)')
        chat.keys("t")
        chat.wait_for_text("Trust the server shop in this workspace?")
        chat.wait_for_text("mcp_server.py")
        chat.keys("no^M")
        chat.wait("(not (active-minibuffer-window))")
        chat.eval("""(jumpseat--rpc-request "tools/list" nil (lambda (_err result) (setq listed result)))""")
        chat.wait("(bound-and-true-p listed)")
        states = chat.eval("(mapcar (lambda (row) (plist-get row :state)) (plist-get listed :servers))")
        assert "untrusted" in states
        chat.keys("t")
        chat.wait_for_text("Trust the server shop in this workspace?")
        chat.keys("yes^M")
        chat.wait_for_message("shop: stopped.")
        chat.keys("R")
        chat.wait_for_message("shop: running.")
        chat.wait_for_text("[ ] shop workspace, running")
        chat.keys("t")
        chat.wait_for_text("Stop trusting the server shop")
        # An untrusted server's tools leave the list. Point must stay at the same server.
        chat.eval("""(with-selected-window (get-buffer-window "*jumpseat tools*")
            (goto-char (point-min)) (search-forward "] files") t)""")
        chat.keys("yes^M")
        chat.wait_for_message("shop: untrusted.")
        chat.wait_for_text("[ ] shop workspace, untrusted")
        chat.keys("t")
        chat.wait_for_text("files is trusted already: it comes from the daemon or its configuration")


def test_a_conversation_belongs_to_the_project_in_which_emacs_connected(home, package, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    source = tmp_path / "project" / "src"
    source.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (source / "a.py").write_text("one = 1\n")
    with running_emacs(home, str(source / "a.py"), package=package) as child:
        child.command("jumpseat")
        child.wait("jumpseat-chat-mode")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        child.eval("""(progn (setq rows nil)
            (jumpseat--rpc-request "conversations/list" nil
                                   (lambda (_err result) (setq rows (plist-get result :conversations)))))""")
        child.wait("rows")
        assert child.eval("(plist-get (elt rows 0) :cwd)") == os.path.realpath(tmp_path / "project")
        child.keys("^U^U")
        child.keys("^[xjumpseat-history^M")
        child.wait_for_text("Conversation:")
        child.keys("?")
        child.wait_for_text("Hello?")
        child.keys("^G")
