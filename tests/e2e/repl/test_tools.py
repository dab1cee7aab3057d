"""Tools in a conversation, on a real terminal with the real daemon and a plug-in that edits files."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.e2e.repl.chats import PATH, answer, answer_with_calls, list_messages
from tests.e2e.repl.tool_conversations import NOTES, QUESTION, Start, edit, notes, read, typist
from tests.fakes.typist import CTRL_C, TAB
from tests.unit.pages import COMMAND_LINE, fences

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]
__all__ = ["notes", "typist"]


def test_the_screen_on_the_page_is_what_a_user_sees(
    typist: Start, upstream: ThreadedUpstream, notes: Path
) -> None:
    (page,) = (text for text in fences(COMMAND_LINE, "text") if text.startswith("Let me look"))
    notes.write_text("This is teh first.\nSecond line.\n", "utf-8")
    upstream.script(
        answer_with_calls(read(), text="Let me look at it."),
        answer_with_calls(edit()),
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
        answer_with_calls(read(), text="Let me *look* at it."),
        answer_with_calls(edit(), edit("none"), text="I will fix it."),
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


def test_a_running_call_shows_its_progress_and_ends_with_ctrl_c(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(answer_with_calls(("desk__search", {})), path=PATH)
    person = typist("--allow", "desk/search")
    person.enter("Search")
    person.see("Running desk/search: Searching: 25%")
    person.type(CTRL_C)
    person.see("Stopped.")
    shown = person.leave()

    assert QUESTION not in shown
    assert "✗ desk/search · failed: Cancelled." in shown


def test_a_turn_that_reached_its_limit_of_rounds_can_be_continued(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(answer_with_calls(read()), answer("It says ", "hello."), path=PATH)
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

    assert list_messages(upstream, 1)[0] == ("user", "Read it")
    assert [role for role, _ in list_messages(upstream, 1)] == ["user", "assistant", "tool"]
    again = [("assistant", "It says hello."), ("user", "And?")]
    assert list_messages(upstream, 2)[3:] == list_messages(upstream, 3)[3:] == again


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
        answer_with_calls(read(), read("none.md"), text="Let me look."), answer("I have read it."), path=PATH
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
