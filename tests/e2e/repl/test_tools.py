"""Tools in a conversation, on a real terminal with the real daemon and a plug-in that edits files."""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate
from tests.e2e.repl.chats import PATH, answer, asked, calling
from tests.fakes import desk_plugin
from tests.fakes.typist import CTRL_C, CTRL_D, TAB, Typist, typists
from tests.unit.pages import COMMAND_LINE, fences

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]

Start = Callable[..., Typist]

SERVE = [sys.executable, "-P", "-m", "jumpseat", "serve"]
NOTES = "# Notes\n\nThis is teh first.\nSecond line.\n"
QUESTION = "Allow it? ["


@pytest.fixture
def notes(home: Path) -> Path:
    """Create the workspace with one file."""
    file = home / "work" / "notes.md"
    file.parent.mkdir()
    file.write_text(NOTES, "utf-8")
    return file


@pytest.fixture
def typist(configuration: Path, home: Path, notes: Path) -> Iterator[Start]:
    """Return a function that starts conversations with the tools of the plug-in."""
    with configuration.open("a", encoding="utf-8") as file:
        file.write('[tools]\nallow = ["desk/read"]\n')
    environment = desk_plugin.install(home / "site")
    arguments = ("chat", "--tools", "desk", "--workspace", str(notes.parent))
    with typists() as start:
        yield partial(start, *arguments, daemon=SERVE, **environment)


def edit(old: str = "teh", new: str = "the", path: str = "notes.md") -> tuple[str, dict[str, Any]]:
    return "desk__edit", {"path": path, "oldText": old, "newText": new}


def read(path: str = "notes.md") -> tuple[str, dict[str, Any]]:
    return "desk__read", {"path": path}


def results(upstream: ThreadedUpstream) -> list[str]:
    """Return the results of calls in the last request that the provider received."""
    return [text for role, text in asked(upstream) if role == "tool"]


def test_the_screen_on_the_page_is_what_a_user_sees(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    (page,) = (text for text in fences(COMMAND_LINE, "text") if text.startswith("Let me look"))
    notes.write_text("This is teh first.\nSecond line.\n", "utf-8")
    upstream.script(
        calling(read(), text="Let me look at it."),
        calling(edit()),
        answer("The spelling is correct now."),
        path=PATH,
    )
    person = typist(size=(40, 80))
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("y")
    person.see("fake:m")

    assert page.replace("files/", "desk/") in person.leave()


def test_calls_are_one_line_each_and_edits_show_their_diff(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(
        calling(read(), text="Let me *look* at it."),
        calling(edit(), edit("none"), text="I will fix it."),
        answer("**Done**."),
        path=PATH,
    )
    person = typist(size=(40, 80))
    person.enter("Fix it")
    person.see(QUESTION)
    assert notes.read_text("utf-8") == NOTES
    person.enter("y")
    person.see("fake:m")
    shown = person.leave()

    begin, end = shown.index("> Fix it"), shown.index("30 tokens in")
    assert [row for row in shown[begin:end].splitlines() if row] == [
        "> Fix it",
        "Let me look at it.",
        "✓ desk/read path=notes.md · 4 lines",
        "I will fix it.",
        "? Edit notes.md · desk/edit",
        "--- notes.md",
        "+++ notes.md",
        "@@ -1,4 +1,4 @@",
        " # Notes",
        "-This is teh first.",
        "+This is the first.",
        " Second line.",
        "y: yes · n: no · a: allow this tool in this conversation · A: always allow this",
        "tool · e: no, and explain why",
        "Allow it? [y/n/a/A/e] y",
        "✓ desk/edit path=notes.md oldText=teh newText=the · notes.md is changed.",
        "✗ desk/edit path=notes.md oldText=no… · failed: The text does not occur in the",
        "  file.",
        "Done.",
    ]
    assert notes.read_text("utf-8") == NOTES.replace("teh", "the")
    assert max(len(row) for row in person.screen.rows) <= 80


def test_a_denial_can_be_explained_to_the_model(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(calling(edit()), answer("I see."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("maybe")
    person.see(QUESTION, times=2)
    person.enter("e")
    person.see("Why not?")
    person.enter("It is a quote.")
    person.see("fake:m")
    shown = person.leave()

    assert results(upstream) == ["Error: The user denied this call: It is a quote."]
    assert "✗ desk/edit path=notes.md oldText=te… · The user denied this call: It is a\n  quote." in shown
    assert notes.read_text("utf-8") == NOTES


def test_one_answer_decides_about_all_calls_of_the_tool_in_the_conversation(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(calling(edit(), edit("first", "1st")), answer("One."), path=PATH)
    upstream.script(calling(edit("Second", "2nd")), answer("Two."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("a")
    person.see("One.")
    person.enter("More")
    person.see("Two.")
    person.leave()

    assert person.text.count(QUESTION) == 1
    assert notes.read_text("utf-8") == "# Notes\n\nThis is the 1st.\n2nd line.\n"


def test_decisions_hold_in_a_conversation_that_is_not_kept(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(calling(edit()), answer("One."), path=PATH)
    upstream.script(calling(edit("the", "teh")), answer("Two."), calling(edit()), answer("Three."), path=PATH)
    person = typist("--no-keep")
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("a")
    person.see("One.")
    person.enter("More")
    person.see("Two.")
    person.enter("/clear")
    person.enter("Again")
    person.see(QUESTION, times=2)
    person.enter("n")
    person.see("Three.")
    person.leave()


def test_a_decision_for_always_is_remembered_by_later_conversations(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(calling(edit()), answer("One."), path=PATH)
    upstream.script(calling(edit("first", "1st")), answer("Two."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.enter("A")
    person.see("One.")
    person.leave()
    person = typist()
    person.enter("More")
    person.see("Two.")

    assert QUESTION not in person.leave()
    assert "the 1st" in notes.read_text("utf-8")


@pytest.mark.parametrize("keys", [CTRL_C, f"half{CTRL_C}"], ids=["empty", "typed"])
def test_ctrl_c_at_a_question_cancels_the_turn(
    typist: Start, upstream: ThreadedUpstream, notes: Path, keys: str
) -> None:
    upstream.script(calling(edit(), text="I will fix it."), answer("Gone on."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.type(keys)
    person.see("Stopped. The text so far is kept. To continue it: /continue")
    assert notes.read_text("utf-8") == NOTES
    person.enter("/continue")
    person.see("Gone on.")
    person.enter("/continue")
    person.see("There is nothing to continue")
    person.leave()

    assert results(upstream) == ["Error: Cancelled."]


def test_sigterm_at_a_question_restores_the_terminal(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(calling(edit()), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    screen = os.dup(person.terminal.screen)
    person.terminal.process.terminate()
    person.finish(143)

    modes = termios.tcgetattr(screen)
    os.close(screen)
    assert modes[3] & (termios.ECHO | termios.ICANON) == termios.ECHO | termios.ICANON
    assert modes[0] & termios.ICRNL


def test_a_question_disappears_if_the_daemon_dies(
    typist: Start, upstream: ThreadedUpstream, notes: Path, home: Path
) -> None:
    upstream.script(calling(edit()), answer("Hello again."), path=PATH)
    pid = home / "pid"
    keeper = f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); os.execv({SERVE[0]!r}, {SERVE!r})"
    person = typist(daemon=[sys.executable, "-c", keeper])
    person.enter("Fix it")
    person.see(QUESTION)
    os.kill(int(pid.read_text()), signal.SIGKILL)
    person.see("Another daemon was started.")
    person.enter("y")
    person.see("Hello again.")
    person.leave()

    assert notes.read_text("utf-8") == NOTES
    assert asked(upstream)[-1] == ("user", "y")


def test_ctrl_d_at_a_question_denies_the_call(typist: Start, upstream: ThreadedUpstream, notes: Path) -> None:
    upstream.script(calling(edit()), answer("I see."), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see(QUESTION)
    person.type(CTRL_D)
    person.see("I see.")
    person.leave()

    assert results(upstream) == ["Error: The user denied this call."]


def test_text_typed_before_a_question_does_not_answer_it(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    gate = Gate()
    upstream.script(calling(edit(), text="One ", gate=gate), answer("Done."), answer("Yes?"), path=PATH)
    person = typist()
    person.enter("Fix it")
    person.see("One")
    person.enter("y")
    person.type("and")
    upstream.open(gate)
    person.see(QUESTION)
    person.enter("n")
    person.see("Done.")
    person.see("Yes?")
    person.see("> and")
    person.type(CTRL_C)
    person.leave()

    assert notes.read_text("utf-8") == NOTES
    assert asked(upstream)[-1] == ("user", "y")


def test_a_call_that_runs_shows_its_progress_and_ends_with_ctrl_c(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(calling(("desk__search", {})), path=PATH)
    person = typist("--allow", "desk/search")
    person.enter("Search")
    person.see("Running desk/search: Searching: 25%")
    person.type(CTRL_C)
    person.see("Stopped.")
    shown = person.leave()

    assert QUESTION not in shown
    assert "✗ desk/search · failed: Cancelled." in shown


def test_a_limit_of_rounds_can_be_continued(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(calling(read()), answer("It says ", "hello."), path=PATH)
    person = typist("--max-rounds", "1")
    person.enter("Read it")
    person.see("To continue it: /continue")
    person.enter("/continue")
    person.see("It says hello.")
    person.enter("And?")
    person.see("Hello")
    person.enter("/retry")
    person.see("Hello", times=2)
    person.leave()

    assert asked(upstream, 1)[0] == ("user", "Read it")
    assert [role for role, _ in asked(upstream, 1)] == ["user", "assistant", "tool"]
    again = [("assistant", "It says hello."), ("user", "And?")]
    assert asked(upstream, 2)[3:] == asked(upstream, 3)[3:] == again


def test_tools_are_listed_selected_and_completed(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist(size=(40, 80))
    person.enter("/tools")
    person.see("tokens in each request.")
    assert "desk/read                    Allowed. Reads a file." in person.shown
    person.enter("/tools -")
    person.see("do not use tools")
    person.enter("/tools")
    person.see("No tools are selected. The servers are: files (running), desk (running).")
    person.enter("/tools dusk")
    person.see("There is no tool server dusk. Did you mean desk?")
    person.enter("/tools desk/reed")
    person.see("There is no tool desk/reed. Did you mean desk/read?")
    person.type(f"/tools desk/r{TAB}")
    person.see("/tools desk/read")
    person.enter("")
    person.see("The next answers may use desk/read.")
    person.enter("Hi")
    person.see("fake:m")
    person.leave()

    (sent,) = [request.json for request in upstream.requests if request.path == PATH]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["desk__read"]


def test_the_history_shows_each_call_in_one_line(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(
        calling(read(), read("none.md"), text="Let me look."), answer("I have read it."), path=PATH
    )
    person = typist(size=(40, 80))
    person.enter("Read it")
    person.see("fake:m")
    person.enter("/history")
    person.see("I have read it.", times=2)
    shown = person.leave()

    begin = shown.index("> /history")
    rows = [row.strip() for row in shown[begin:].splitlines()]
    assert "✓ desk/read path=notes.md · 4 lines" in rows
    assert any(row.startswith("✗ desk/read path=none.md · failed: ") for row in rows)
    assert "This is teh first." not in shown[begin:]


def test_a_conversation_does_not_begin_with_tools_that_do_not_exist(typist: Start) -> None:
    assert "There is no tool server dusk. Did you mean desk?" in typist("--tools", "dusk").finish(1)


@pytest.mark.parametrize(
    ("option", "offered"), [("desk/edit", ["desk__read", "desk__search"]), ("desk", None)]
)
def test_denied_tools_are_not_offered(
    typist: Start, upstream: ThreadedUpstream, option: str, offered: list[str] | None
) -> None:
    person = typist("--deny", option)
    person.enter("Hi")
    person.see("fake:m")
    person.leave()

    (sent,) = [request.json for request in upstream.requests if request.path == PATH]
    tools = sent.get("tools")
    assert (tools and [tool["function"]["name"] for tool in tools]) == offered


def test_a_path_outside_the_workspace_is_asked_about_each_time(
    typist: Start, upstream: ThreadedUpstream, home: Path
) -> None:
    (home / "secret.md").write_text("Secret.\n", "utf-8")
    upstream.script(calling(read("../secret.md")), answer("I see."), path=PATH)
    person = typist("--allow", "desk")
    person.enter("Read it")
    person.see(QUESTION)
    assert "It uses a path outside the workspace." in person.shown
    assert "[y/n/e]" in person.shown
    person.enter("no")
    person.see("I see.")
    person.leave()

    assert results(upstream) == ["Error: The user denied this call."]


def test_a_dumb_terminal_asks_in_plain_lines(typist: Start, upstream: ThreadedUpstream, notes: Path) -> None:
    upstream.script(calling(edit()), calling(edit("first", "1st")), answer("Done."), path=PATH)
    person = typist(TERM="dumb")
    person.type("Fix it\n")
    person.see(QUESTION)
    person.type("y\n")
    person.see(QUESTION, times=2)
    person.type(CTRL_C)
    person.see("Stopped.")
    person.type("/quit\n")
    person.finish()

    assert notes.read_text("utf-8") == NOTES.replace("teh", "the")
    assert b"\x1b" not in person.output


def test_lines_typed_on_a_dumb_terminal_before_a_question_do_not_answer_it(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    gate = Gate()
    upstream.script(calling(edit(), text="One ", gate=gate), answer("Done."), answer("Yes?"), path=PATH)
    person = typist(TERM="dumb")
    person.type("Fix it\n")
    upstream.wait_for_request()
    person.type("y\n")
    upstream.open(gate)
    person.see(QUESTION)
    person.type("n\n")
    person.see("Yes?")
    person.type("/quit\n")
    person.finish()

    assert notes.read_text("utf-8") == NOTES
    assert asked(upstream)[-1] == ("user", "y")
