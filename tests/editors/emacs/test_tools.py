"""Tools that the daemon runs in a chat: the choice, approvals, folded calls, and unsaved buffers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import Child, lisp, running_emacs
from tests.editors.provider import write_config
from tests.fakes import mcp_server

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "def greet():\n    print('hello')\n"
AFTER = BEFORE.replace("hello", "bye")


def script(provider: ThreadedUpstream, *rounds: list[FakeCall], end: str = "Done.") -> None:
    """Script the answers of the model: rounds of calls, then a text."""
    for calls in rounds:
        provider.script(Reply.events(completion_stream(tool_calls=calls)))
    provider.script(Reply.events(completion_stream([end])))


def call(number: int, tool: str, **arguments: Any) -> FakeCall:
    return FakeCall(f"c{number}", f"files__{tool}", [json.dumps(arguments)])


READ = call(1, "read", path="greet.py")
EDIT = call(2, "edit", path="greet.py", oldText="hello", newText="bye")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "greet.py").write_text(BEFORE)
    return root


@pytest.fixture
def chat(home: Path, package: Path, provider: ThreadedUpstream, project: Path) -> Iterator[Child]:
    """An Emacs with a chat in the project, whose model may use the file tools."""
    with running_emacs(
        home, str(project / "greet.py"), package=package, options={"tools": ["files/*"]}
    ) as child:
        child.command("jumpseat")
        child.wait("jumpseat-chat-mode")
        yield child


def results(provider: ThreadedUpstream, number: int) -> list[str]:
    """Return the results of calls in the request with this number, counted from 0."""
    return [each["content"] for each in provider.requests[number].json["messages"] if each["role"] == "tool"]


@pytest.mark.scenario("tools")
def test_a_change_is_shown_as_a_difference_and_made_after_it_is_allowed(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.ask("Say bye.")
    chat.wait_for_text("▸ files/edit greet.py · needs your approval")
    chat.wait_for_text("-    print('hello')\n+    print('bye')")
    chat.wait_for_text("[Allow C-c C-y] [Deny C-c C-x] [Diff C-c C-d] [Remember C-c C-r]")
    chat.wait_for_text("fake:fake-model · needs your approval · 20 → 10 tokens · tools: files")
    assert (project / "greet.py").read_text() == BEFORE

    chat.keys("^C^Y")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    assert (project / "greet.py").read_text() == AFTER
    chat.wait_for_text("▸ files/read greet.py · completed")
    chat.wait_for_text("▸ files/edit greet.py · completed")
    chat.wait_until_text_is_gone("[Allow")
    assert chat.eval("(list jumpseat-approval-mode (active-minibuffer-window))") == [None, None]


@pytest.mark.scenario("tools")
def test_a_denied_call_tells_the_model_the_reason(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.ask("Say bye.")
    chat.wait_for_text("[Deny")
    chat.keys("^U^C^X")
    chat.answer("Greetings stay.")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    chat.wait_for_text("▸ files/edit greet.py · denied")
    assert "Greetings stay." in results(provider, 2)[1]
    assert (project / "greet.py").read_text() == BEFORE


def test_a_decision_can_be_remembered_for_the_rest_of_the_answer(chat, provider, project):
    script(provider, [READ], [EDIT], [call(3, "edit", path="greet.py", oldText="bye", newText="ciao")])
    chat.ask("Say ciao.")
    chat.wait_for_text("[Remember C-c C-r]")
    chat.keys("^C^R")
    chat.answer("files/edit in this answer")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    assert (project / "greet.py").read_text() == BEFORE.replace("hello", "ciao")


def test_a_button_is_pressed_with_the_mouse(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.command("xterm-mouse-mode")
    chat.ask("Say bye.")
    chat.wait_for_text("[Allow C-c C-y]")
    lines = chat.screen.split("\n")
    row = next(number for number, line in enumerate(lines) if "[Allow" in line)
    column = lines[row].index("[Allow") + 3
    chat.keys(f"^[[<0;{column};{row + 1}M^[[<0;{column};{row + 1}m")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    assert (project / "greet.py").read_text() == AFTER


def test_the_whole_difference_is_shown_in_diff_mode(chat, provider, project):
    lines = "".join(f"line {number}\n" for number in range(40))
    script(provider, [call(1, "write", path="notes.txt", text=lines)])
    chat.ask("Write.")
    chat.wait_for_text("… 25 more lines")
    chat.keys("^C^D")
    diff = """(with-current-buffer "*jumpseat diff*" (list (symbol-name major-mode) (buffer-string)))"""
    chat.wait('(get-buffer-window "*jumpseat diff*")')
    mode, text = chat.eval(diff)
    assert mode == "diff-mode"
    added = "".join(f"+{line}\n" for line in lines.splitlines())
    assert text == f"--- /dev/null\n+++ notes.txt\n@@ -0,0 +1,40 @@\n{added}"
    chat.keys("^Xb*jumpseat*^M^C^Y")
    chat.wait("(not (jumpseat--view-get :state))")
    assert (project / "notes.txt").read_text() == lines


@pytest.mark.scenario("tools-unsaved")
def test_a_call_reads_and_changes_the_text_of_an_unsaved_buffer(chat, provider, project):
    source = '(with-current-buffer "greet.py" %s)'
    chat.eval(source % '(progn (goto-char (point-max)) (insert "# 😀 mine\n") (undo-boundary))')
    script(provider, [READ], [call(2, "edit", path="greet.py", oldText="😀 mine", newText="yours")])
    chat.ask("Change my comment.")
    chat.wait_for_text("[Allow")
    chat.keys("^C^Y")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    assert "# 😀 mine" in results(provider, 1)[0]
    assert chat.eval(source % "(list (buffer-string) (buffer-modified-p))") == [f"{BEFORE}# yours\n", True]
    assert (project / "greet.py").read_text() == BEFORE
    chat.eval(source % "(progn (setq last-command nil) (undo))")
    assert chat.eval(source % "(buffer-string)") == f"{BEFORE}# 😀 mine\n"


def test_a_buffer_without_changes_shows_the_file_after_a_call_has_changed_it(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.ask("Say bye.")
    chat.wait_for_text("[Allow")
    chat.keys("^C^Y")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    shown = """(with-current-buffer "greet.py"
                 (list (buffer-string) (buffer-modified-p) (verify-visited-file-modtime)))"""
    assert chat.eval(shown) == [AFTER, None, True]


@pytest.mark.scenario("tools")
def test_calls_are_folded_and_folded_again_when_the_chat_is_reopened(chat, provider, project):
    script(provider, [READ], [call(2, "read", path="missing.py")])
    chat.ask("Read.")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    for title in ("▸ files/read greet.py · completed", "▸ files/read missing.py · failed"):
        chat.wait_for_text(title)
    assert "print('hello')" not in chat.screen
    chat.keys("^U^C^T")
    chat.wait("(progn (goto-char (point-min)) t)")
    chat.wait_for_text("print('hello')")
    chat.keys("^U^C^T")
    chat.wait_until_text_is_gone("print('hello')")

    file = project / "chat.md"
    chat.eval(f"(progn (write-file {lisp(str(file))}) (kill-buffer))")
    chat.keys(f"^X^F^A^K{file}^M")
    chat.wait("jumpseat-chat-mode")
    chat.wait_for_text("▸ files/read greet.py · completed")
    chat.wait_for_text("▸ Result (2 lines)")
    chat.wait_for_text("▸ files/read missing.py · failed")
    chat.wait_for_text("▸ Error (1 line)")

    provider.script(Reply.events(completion_stream(["Again."])))
    chat.ask("Again?")
    chat.wait_for_text("Again.")
    chat.wait_until_idle()
    messages = provider.requests[3].json["messages"]
    roles = [each["role"] for each in messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert messages[-1]["content"] == "Again?"


def test_a_chat_that_is_stopped_asks_nothing_more(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.ask("Say bye.")
    chat.wait_for_text("[Allow")
    chat.stop()
    chat.wait_until_idle()
    chat.wait_until_text_is_gone("[Allow")
    assert chat.eval("jumpseat-approval-mode") is None
    assert (project / "greet.py").read_text() == BEFORE


def test_an_answer_that_was_stopped_between_two_calls_goes_on(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.ask("Say bye.")
    chat.wait_for_text("[Allow")
    chat.stop()
    chat.wait_until_idle()
    chat.send()
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    roles = [each["role"] for each in provider.requests[2].json["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    assert chat.text.count("## Me") == 2
    assert chat.text.endswith("Done.\n\n## Me\n\n")


def test_a_chat_that_nobody_sees_says_that_it_needs_an_approval(chat, provider, project):
    script(provider, [READ], [EDIT])
    chat.ask("Say bye.")
    chat.keys("^Xbgreet.py^M")
    chat.wait_for_message("*jumpseat* needs your approval: Edit greet.py")


@pytest.mark.scenario("tools")
def test_tools_are_switched_on_for_one_chat(chat, provider, project):
    chat.keys("^C^L")
    chat.wait_for_text("[x] files built in, running")
    chat.wait_for_text("Folder of the file tools:")
    chat.wait_for_text("[x] read allow")
    chat.wait_for_text("[x] edit ask")
    chat.eval('(progn (goto-char (point-min)) (search-forward "] edit") t)')
    chat.keys("^M")
    chat.wait_for_text("[-] files")
    chat.wait_for_text("[ ] edit")
    chat.eval('(progn (goto-char (point-min)) (search-forward "] write") t)')
    chat.keys(" q")
    chat.wait("jumpseat-chat-mode")
    provider.script(Reply.events(completion_stream(["Done."])))
    chat.ask("Which?")
    chat.wait_for_text("Done.")
    chat.wait_until_idle()
    offered = {each["function"]["name"] for each in provider.requests[0].json["tools"]}
    assert offered == {"files__list", "files__read", "files__search"}
    chat.wait_for_text("tools: files")
    # The choice is saved with the chat.
    chat.eval('(progn (write-file (expand-file-name "chat.md")) (kill-buffer))')
    chat.keys(f"^X^F^A^K{project}/chat.md^M")
    chat.wait("jumpseat-chat-mode")
    chat.wait_for_text("tools: files")
    provider.script(Reply.events(completion_stream(["Again."])))
    chat.ask("Again?")
    chat.wait_for_text("Again.")
    chat.wait_until_idle()
    assert {each["function"]["name"] for each in provider.requests[1].json["tools"]} == offered

    chat.keys("^U")
    chat.command("jumpseat")
    chat.wait('(equal (buffer-name) "*jumpseat*")')
    assert chat.text.startswith("---\ntools: files/*\n---\n")


@pytest.mark.scenario("tools")
def test_a_stopped_server_is_selected_started_and_used(home, package, provider, project):
    write_config(home, provider.base_url, mcp_server.table("shop"))
    with running_emacs(home, str(project / "greet.py"), package=package) as chat:
        chat.command("jumpseat")
        chat.wait("jumpseat-chat-mode")
        chat.keys("^C^L")
        chat.wait_for_text("[ ] shop user, stopped")
        chat.eval('(progn (goto-char (point-min)) (search-forward "] shop") t)')
        chat.keys("^M")
        chat.wait_for_text("[x] shop user, stopped")
        chat.keys("R")
        chat.wait_for_message("shop: running.")
        chat.wait_for_text("[x] shop user, running")
        chat.wait_for_text("[x] echo")
        chat.keys("q")
        chat.wait("jumpseat-chat-mode")
        echo = FakeCall("c1", "shop__echo", [json.dumps({"text": "hello"})])
        script(provider, [echo])
        chat.ask("Call it.")
        chat.wait_for_text("▸ shop/echo hello · needs your approval")
        chat.wait_for_text("text: hello")
        chat.keys("^C^Y")
        chat.wait_for_text("Done.")
        chat.wait_until_idle()
        assert "hello" in results(provider, 1)[0]


def test_without_the_users_choice_a_chat_offers_no_tools(child, provider):
    provider.script(Reply.events(completion_stream(["Done."])))
    child.ask("Which?")
    child.wait_for_text("Done.")
    child.wait_until_idle()
    assert "tools" not in provider.requests[0].json
