"""Tools that the daemon runs in `@jumpseat`, and the file tools of VS Code's own agent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors.vscode.code_server import REPOSITORY

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "first = 1\nsecond = 2\nthird = 3\n"
AFTER = "first = 1\nSECOND = 2\nthird = 3\n"
EDIT = {"path": "numbers.py", "oldText": "second", "newText": "SECOND"}
DIFF = (
    "vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).some(({ label }) => label === 'Edit numbers.py')"
)


def call(tool: str, number: int = 1, **arguments: Any) -> Reply:
    """Return an answer that calls a file tool."""
    return Reply.events(
        completion_stream(tool_calls=[FakeCall(f"c{number}", f"files__{tool}", [json.dumps(arguments)])])
    )


def text_answer(*words: str) -> Reply:
    return Reply.events(completion_stream(words))


def results(provider, number: int) -> list[str]:
    """Return the results of tools in a request, counted from 0."""
    return [each["content"] for each in provider.chats[number]["messages"] if each["role"] == "tool"]


@pytest.fixture
def asking(chat, provider):
    """A chat in which the model wants to edit a file that it has read."""
    (chat.server.workspace / "numbers.py").write_text(BEFORE)
    provider.script(
        call("read", path="numbers.py"), call("edit", 2, **EDIT), text_answer("It is upper case.")
    )
    chat.ask("@jumpseat Make the second name upper case.")
    chat.wait_for_answer_text("Edit numbers.py")
    return chat


def press(window, title: str) -> None:
    """Click a button or a link of the newest answer."""
    answer = window.answers.last
    button = answer.get_by_role("button", name=title, exact=True)
    button.or_(answer.get_by_text(title, exact=True)).first.click()


def list_references(window) -> list[str]:
    """Return the names of the files that the newest answer lists."""
    answer = window.answers.last
    # The list may be in a part of the answer that is folded.
    answer.get_by_role("button", name=re.compile("Used . references?")).evaluate("each => each.click()")
    rows = answer.locator(".chat-used-context-list .monaco-list-row")
    window.wait_until_shown(rows.first)
    return [row.strip() for row in rows.all_inner_texts()]


@pytest.mark.scenario("tools")
def test_an_allowed_edit_is_made_and_its_calls_are_listed(asking, provider):
    asking.wait_for_answer_text("-second = 2")
    asking.wait_for_answer_text("+SECOND = 2")
    asking.wait_for_notification("Edit numbers.py?")
    press(asking, "Allow")
    asking.wait_for_answer_text("It is upper case.")
    asking.wait_for_answer()
    assert (asking.server.workspace / "numbers.py").read_text() == AFTER
    asking.wait_for_answer_text("files/read path=numbers.py · 3 lines")
    asking.wait_for_answer_text("files/edit")
    assert list_references(asking) == ["numbers.py"]
    assert results(provider, 1) == [BEFORE]

    provider.script(text_answer("Yes."))
    asking.ask("@jumpseat Done?")
    asking.wait_for_answer_text("Yes.")
    roles = [each["role"] for each in provider.chats[3]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"]


@pytest.mark.scenario("tools")
def test_a_denied_edit_leaves_the_file_and_the_model_reads_why(asking, provider):
    press(asking, "Deny and Say Why…")
    asking.quick_input.get_by_role("textbox").fill("Keep the names.")
    asking.page.keyboard.press("Enter")
    asking.wait_for_answer_text("It is upper case.")
    asking.wait_for_answer()
    assert (asking.server.workspace / "numbers.py").read_text() == BEFORE
    assert results(provider, 2)[1].endswith("The user denied this call: Keep the names.")
    press(asking, "Allow")
    asking.wait_for_notification("This call is no longer waiting for approval.")


def test_a_call_is_reviewed_and_allowed_by_keyboard_alone(asking):
    asking.page.keyboard.press("F1")
    asking.page.keyboard.type("jumpseat: Show Tool Call")
    asking.page.keyboard.press("Enter")
    asking.wait(DIFF)
    asking.wait_until_shown(asking.page.locator(".monaco-diff-editor .modified").get_by_text("SECOND").first)
    asking.page.keyboard.press("F1")
    asking.page.keyboard.type("jumpseat: Allow Tool Call")
    asking.page.keyboard.press("Enter")
    asking.wait_for_answer_text("It is upper case.")
    asking.wait(f"!({DIFF})")
    assert (asking.server.workspace / "numbers.py").read_text() == AFTER


def test_a_notification_shows_the_diff_whose_buttons_decide(asking):
    asking.wait_for_notification("Edit numbers.py?").get_by_role("button", name="Show Diff").click()
    asking.wait(DIFF)
    actions = asking.page.locator(".title .editor-actions")
    actions.get_by_role("button", name="Deny Tool Call").click()
    asking.wait_for_answer_text("It is upper case.")
    asking.wait(f"!({DIFF})")
    assert (asking.server.workspace / "numbers.py").read_text() == BEFORE


def test_a_decision_for_the_conversation_covers_its_later_calls(asking, provider):
    press(asking, "Allow in This Conversation")
    asking.wait_for_answer_text("It is upper case.")
    asking.wait_for_answer()
    back = {"path": "numbers.py", "oldText": "SECOND", "newText": "second"}
    provider.script(call("edit", 3, **back), text_answer("It is back."))
    asking.ask("@jumpseat Undo that.")
    asking.wait_for_answer_text("It is back.")
    assert (asking.server.workspace / "numbers.py").read_text() == BEFORE


@pytest.mark.scenario("tools-unsaved")
def test_unsaved_text_is_read_and_changed_in_the_editor(chat, provider):
    chat.js("await vscode.workspace.getConfiguration('chat').update('saveBeforeSend', false, 1)")
    file = chat.open_file("numbers.py", BEFORE)
    chat.command("cursorBottom")
    chat.command("workbench.action.focusActiveEditorGroup")
    chat.write("fourth = 4")
    provider.script(call("read", path="numbers.py"), call("edit", 2, **EDIT), text_answer("Done."))
    chat.ask("@jumpseat Make the second name upper case.")
    press(chat, "Allow")
    chat.wait_for_answer_text("Done.")
    assert results(provider, 1) == [f"{BEFORE}fourth = 4"]
    assert chat.text == f"{AFTER}fourth = 4"
    assert file.read_text() == BEFORE
    chat.command("workbench.action.focusActiveEditorGroup")
    chat.command("undo")
    assert chat.text == f"{BEFORE}fourth = 4"
    chat.js("await vscode.workspace.getConfiguration('chat').update('saveBeforeSend', undefined, 1)")


def test_stopping_an_answer_withdraws_its_approval(asking):
    asking.stop()
    asking.wait_for_answer()
    press(asking, "Allow")
    asking.wait_for_notification("This call is no longer waiting for approval.")
    assert (asking.server.workspace / "numbers.py").read_text() == BEFORE


def test_selected_tools_are_offered_and_none_if_none_is_selected(chat, provider):
    provider.script(text_answer("One."), text_answer("Two."))
    chat.ask("@jumpseat One?")
    chat.wait_for_answer_text("One.")
    chat.start("jumpseat.selectTools")
    row = chat.quick_input.locator(".monaco-list-row").filter(has_text="files")
    chat.wait_for_text("edit (needs approval), write (needs approval)", within=row)
    row.click()
    chat.quick_input.get_by_role("button", name="OK").click()
    chat.wait("vscode.workspace.getConfiguration('jumpseat').get('tools').length === 0")
    try:
        chat.ask("@jumpseat Two?")
        chat.wait_for_answer_text("Two.")
    finally:
        chat.js("await vscode.workspace.getConfiguration('jumpseat').update('tools', undefined, 1)")
    assert sorted(each["function"]["name"] for each in provider.chats[0]["tools"]) == [
        f"files__{name}" for name in ("edit", "list", "read", "search", "write")
    ]
    assert "tools" not in provider.chats[1]


def test_an_attached_file_and_a_pasted_image_are_sent(chat, provider):
    notes = chat.server.workspace / "notes.txt"
    notes.write_text("Remember the milk.\n")
    provider.script(text_answer("Milk."))
    chat.command(
        "workbench.action.chat.open", {"query": "@jumpseat What is in them?", "isPartialQuery": True}
    )
    attach = (
        "await vscode.commands.executeCommand('workbench.action.chat.attachFile', vscode.Uri.file(values[0]))"
    )
    chat.js(attach, str(notes))
    chat.wait_for_text("notes.txt", within=chat.input)
    chat.paste_image(REPOSITORY / "editors/vscode/images/icon.png")
    chat.wait_for_text("Pasted Image", within=chat.input)
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer_text("Milk.")
    parts = provider.chats[0]["messages"][0]["content"]
    assert sorted(part["type"] for part in parts) == ["image_url", "text", "text"]
    assert "Remember the milk." in str(parts)


# The file tools in VS Code's own agent.

INVOKE = """
const [name, input] = values;
const options = { input, toolInvocationToken: undefined };
const { content } = await vscode.lm.invokeTool(`jumpseat_${name}`, options);
return content.map(({ value }) => value).join('')
"""


def test_another_extension_reads_through_the_tools(window):
    (window.server.workspace / "numbers.py").write_text(BEFORE)
    assert window.js(INVOKE, "read", {"path": "numbers.py"}) == BEFORE
    assert "numbers.py:2: second = 2" in window.js(INVOKE, "search", {"pattern": "second"})
    assert window.js(INVOKE, "read", {"path": "gone.py"}).startswith("Error: ")


def test_the_agent_edits_a_file_after_its_own_confirmation(chat, provider):
    (chat.server.workspace / "numbers.py").write_text(BEFORE)
    provider.script(
        *(
            Reply.events(
                completion_stream(tool_calls=[FakeCall(name, f"jumpseat_{name}", [json.dumps(given)])])
            )
            for name, given in (("read", {"path": "numbers.py"}), ("edit", EDIT))
        ),
        text_answer("It is upper case."),
    )
    chat.command("workbench.action.chat.open", {"mode": "agent"})
    chat.ask("Make the second name upper case.")
    chat.wait_for_text("Edit numbers.py?", within=chat.session)
    chat.wait_for_text("+SECOND", within=chat.session)
    chat.session.get_by_role("button", name="Allow").first.click()
    chat.wait_for_answer_text("It is upper case.")
    assert (chat.server.workspace / "numbers.py").read_text() == AFTER
