"""Rewriting a selection: shown as a diff, accepted, rejected, and refused when the text was changed."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.provider import hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "first = 1\nsecond = 2\nthird = 3\n"
AFTER = "first = 1\nSECOND = 2\nthird = 3\n"
TEXT = """
vscode.workspace.textDocuments
  .find(({ uri: { path, scheme } }) => scheme === 'file' && path.endsWith('numbers.py'))
  .getText()
""".strip()


def press(window, name: str) -> None:
    """Click a button of the diff."""
    window.page.locator(".title .editor-actions").get_by_role("button", name=name).click()


def wait_until_written(window) -> None:
    """Wait until an edit can be accepted. Do not wait for a notification, which a short edit may lack."""
    button = window.page.locator(".title .editor-actions").get_by_role("button", name="Accept Edit")
    window.wait_until_shown(button.first)


@pytest.fixture
def rewritten(window, provider):
    """A file whose second line is rewritten; the diff is on the screen."""
    provider.script(Reply.events(completion_stream(["SECOND ", "= 2\n"])))
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.start("jumpseat.edit", "Upper case.")
    window.wait_for_text("numbers.py: rewritten")
    window.wait_until_shown(window.page.locator(".monaco-diff-editor .modified").get_by_text("SECOND").first)
    window.wait_for_count(window.notifications.filter(has_text="Rewriting"), 0)
    yield window
    window.command("jumpseat.rejectEdit")


@pytest.mark.scenario("edit-accept")
def test_an_accepted_edit_is_in_the_file_and_one_undo_takes_it_back(rewritten):
    press(rewritten, "Accept Edit")
    rewritten.wait(f"{TEXT} === values[0]", AFTER)
    rewritten.wait_until_text_is_gone("numbers.py: rewritten")
    rewritten.wait_for_count(rewritten.page.locator(".codelens-decoration a"), 0)
    rewritten.command("undo")
    rewritten.wait(f"{TEXT} === values[0]", BEFORE)


@pytest.mark.scenario("edit-reject")
def test_a_rejected_edit_leaves_the_text_unchanged(rewritten):
    press(rewritten, "Reject or Stop Edit")
    rewritten.wait_until_text_is_gone("numbers.py: rewritten")
    assert rewritten.js(f"return {TEXT}") == BEFORE


@pytest.mark.scenario("edit-changed-meanwhile")
def test_an_edit_of_text_that_has_changed_is_not_applied(rewritten):
    rewritten.js(
        """
        const document = vscode.workspace.textDocuments.find(({ uri }) => uri.path.endsWith('numbers.py'));
        const change = new vscode.WorkspaceEdit();
        change.insert(document.uri, new vscode.Position(1, 3), '_');
        await vscode.workspace.applyEdit(change);
        """
    )
    press(rewritten, "Accept Edit")
    rewritten.wait_for_notification("The text has changed since it was sent, so the edit was not applied")
    assert rewritten.js(f"return {TEXT}") == "first = 1\nsec_ond = 2\nthird = 3\n"
    rewritten.wait_for_text("new text ↔ your text")


def test_an_edit_leaves_the_keyboard_focus_in_the_file(window, provider):
    gate = Gate()
    provider.script(hold_answer("SECOND = 2\n", gate=gate))
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.command("workbench.action.focusActiveEditorGroup")
    window.start("jumpseat.edit", "Upper case.")
    window.wait_for_text("numbers.py: rewritten")
    window.command("cursorBottom")
    window.page.keyboard.type("fourth = 4")
    provider.open(gate)
    window.wait_for_count(window.notifications.filter(has_text="Rewriting"), 0)
    window.page.keyboard.type("4")
    window.page.keyboard.press("Escape")
    window.wait(f"{TEXT} === values[0]", BEFORE + "fourth = 44")
    window.wait_for_text("numbers.py: rewritten")
    window.command("jumpseat.rejectEdit")


def test_a_read_only_editor_is_not_rewritten(rewritten):
    rewritten.command("workbench.action.files.setActiveEditorReadonlyInSession")
    rewritten.command("jumpseat.acceptEdit")
    rewritten.wait_for_notification("numbers.py is read-only, so the edit was not applied")
    assert rewritten.js(f"return {TEXT}") == BEFORE
    rewritten.command("workbench.action.files.setActiveEditorWriteableInSession")
    rewritten.command("jumpseat.acceptEdit")
    rewritten.wait(f"{TEXT} === values[0]", AFTER)


def test_escape_rejects_a_finished_edit_which_can_be_restored(rewritten):
    rewritten.command("jumpseat.showEdit")
    rewritten.wait("vscode.window.activeTextEditor?.document.uri.scheme === 'jumpseat-edit'")
    rewritten.page.keyboard.press("Escape")
    rewritten.wait_until_text_is_gone("numbers.py: rewritten")
    rewritten.wait_for_notification("The edit of numbers.py was rejected.").get_by_text(
        "Restore", exact=True
    ).click()
    rewritten.wait_for_text("numbers.py: rewritten")
    rewritten.command("jumpseat.acceptEdit")
    rewritten.wait(f"{TEXT} === values[0]", AFTER)


def test_an_edit_whose_diff_is_closed_has_buttons(rewritten, provider):
    rewritten.command("jumpseat.showEdit")
    rewritten.command("workbench.action.closeActiveEditor")
    rewritten.wait_for_notification("The edit of numbers.py is not yet accepted or rejected.")
    for name in ("Accept Edit", "Reject or Stop Edit", "Edit Again", "Show Edit"):
        button = rewritten.page.locator(".title .editor-actions").get_by_role("button", name=name)
        rewritten.wait_until_shown(button)
    press(rewritten, "Reject or Stop Edit")
    rewritten.wait_for_notification("The edit of numbers.py was rejected.")
    # The message stays after its edit has ended, and its buttons must not act on the next edit.
    provider.script(Reply.events(completion_stream(["other = 2\n"])))
    rewritten.js("vscode.window.activeTextEditor.selection = new vscode.Selection(1, 0, 2, 0)")
    rewritten.start("jumpseat.edit", "Another name.")
    rewritten.wait_for_text("numbers.py: rewritten")
    rewritten.wait_for_count(rewritten.notifications.filter(has_text="Rewriting"), 0)
    message = rewritten.wait_for_notification("The edit of numbers.py is not yet accepted or rejected.")
    message.get_by_text("Accept", exact=True).click()
    rewritten.wait_for_notification("There is no edit to review in this file.")
    rewritten.command("jumpseat.rejectEdit")
    rewritten.command("jumpseat.restoreEdit")
    rewritten.command("jumpseat.acceptEdit")
    rewritten.wait(f"{TEXT} === values[0]", "first = 1\nother = 2\nthird = 3\n")


def test_an_edit_that_was_cut_off_is_not_applied(window, provider):
    provider.script(Reply.events(completion_stream(["SECOND"], finish_reason="content_filter")))
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.start("jumpseat.edit", "Upper case.")
    window.wait_for_notification("A filter of the provider cut off the answer.")
    assert window.js(f"return {TEXT}") == BEFORE
    window.wait_until_text_is_gone("jumpseat is writing")


def test_an_edit_that_is_stopped_changes_nothing(window, provider):
    provider.script(Reply.events([chunk({"content": "SECOND "}), Gate()]))
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.start("jumpseat.edit", "Upper case.")
    window.wait_for_notification("Rewriting")
    window.wait_for_text("numbers.py: rewritten")
    press(window, "Reject or Stop Edit")
    provider.wait_for_disconnect()
    window.wait_until_text_is_gone("numbers.py: rewritten")
    assert window.js(f"return {TEXT}") == BEFORE


def test_a_command_without_an_active_editor_applies_to_the_only_edit(rewritten):
    rewritten.command("workbench.action.closeAllGroups")
    rewritten.wait("vscode.window.activeTextEditor === undefined")
    rewritten.command("jumpseat.acceptEdit")
    rewritten.wait(f"{TEXT} === values[0]", AFTER)


def test_an_edit_that_is_still_being_written_cannot_be_accepted_or_repeated(window, provider):
    provider.script(Reply.events([chunk({"content": "SECOND "}), Gate()]))
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.start("jumpseat.edit", "Upper case.")
    window.wait_for_text("numbers.py: rewritten")
    for command in ("jumpseat.acceptEdit", "jumpseat.editAgain"):
        window.command(command)
        window.wait_for_notification("The edit is still being written")
        window.command("notifications.clearAll")
    assert window.js(f"return {TEXT}") == BEFORE
    press(window, "Reject or Stop Edit")
    provider.wait_for_disconnect()


def test_the_instruction_of_a_failed_edit_is_offered_for_the_next_edit(window, provider):
    answer = Reply.events(completion_stream(["SECOND = 2\n"]))
    provider.script(Reply.json({"error": {"message": "The model is on holiday."}}, 400), answer)
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.start("jumpseat.edit", "Upper case.")
    window.wait_for_notification("The model is on holiday.")
    window.command("notifications.clearAll")
    window.start("jumpseat.edit")
    window.wait_for_text("Rewrite how?")
    window.page.keyboard.press("Enter")
    window.wait_for_text("numbers.py: rewritten")
    window.wait_for_count(window.notifications.filter(has_text="Rewriting"), 0)
    assert "Upper case." in str(provider.chats[1]["messages"])
    press(window, "Accept Edit")
    window.wait(f"{TEXT} === values[0]", AFTER)


LINES = "".join(f"line_{number} = {number}\n" for number in range(1, 10))
CHANGED = LINES.replace("line_2 = 2", "second = 2").replace("line_8 = 8", "eighth = 8")


@pytest.fixture
def divided(window, provider):
    """A file with a finished edit of two changes; the cursor is at the first one, in the diff."""
    provider.script(Reply.events(completion_stream([CHANGED])))
    window.open_file("numbers.py", LINES, select=(0, 9))
    window.start("jumpseat.edit", "Name them.")
    window.wait_until_shown(window.page.locator(".codelens-decoration").get_by_text("Accept Change 2 of 2"))
    window.command("jumpseat.showEdit")
    window.wait("vscode.window.activeTextEditor?.document.uri.scheme === 'jumpseat-edit'")
    window.wait("vscode.window.activeTextEditor.document.getText() === values[0]", CHANGED)
    yield window
    window.command("jumpseat.rejectEdit")


@pytest.mark.scenario("edit-hunks")
def test_the_changes_of_an_edit_are_accepted_and_rejected_one_by_one_by_keyboard(divided):
    divided.page.keyboard.press("Control+y")
    first = LINES.replace("line_2 = 2", "second = 2")
    divided.wait(f"{TEXT} === values[0]", first)
    divided.wait("vscode.window.activeTextEditor.selection.active.line === 7")
    divided.page.keyboard.press("Control+n")
    divided.wait_until_text_is_gone("numbers.py: rewritten")
    assert divided.js(f"return {TEXT}") == first
    # The rejected change can be restored.
    divided.command("jumpseat.restoreEdit")
    divided.wait_for_text("numbers.py: rewritten")
    divided.command("jumpseat.acceptEdit")
    divided.wait(f"{TEXT} === values[0]", CHANGED)
    divided.command("undo")
    divided.wait(f"{TEXT} === values[0]", first)


@pytest.mark.scenario("edit-hunks")
def test_an_accepted_change_that_is_undone_is_offered_again(divided):
    press(divided, "Accept Change")
    divided.wait(f"{TEXT} === values[0]", LINES.replace("line_2 = 2", "second = 2"))
    divided.command("workbench.action.focusFirstEditorGroup")
    divided.wait("vscode.window.activeTextEditor?.document.uri.scheme === 'file'")
    divided.command("undo")
    divided.wait(f"{TEXT} === values[0]", LINES)
    for number in (1, 2):
        divided.wait_until_shown(
            divided.page.locator(".codelens-decoration").get_by_text(f"Accept Change {number} of 2")
        )
    divided.click_until_hidden(
        divided.page.locator(".codelens-decoration").get_by_text("Accept Change 2 of 2")
    )
    divided.wait(f"{TEXT} === values[0]", LINES.replace("line_8 = 8", "eighth = 8"))


def test_several_places_are_rewritten_with_the_file_as_context(window, provider):
    provider.script(
        *(Reply.events(completion_stream([text])) for text in ("FIRST = 1\n", "THIRD = 3\n")),
    )
    window.open_file("numbers.py", BEFORE)
    window.js(
        """
        const select = (line) => new vscode.Selection(line, 0, line + 1, 0);
        vscode.window.activeTextEditor.selections = [select(2), select(0)];
        """
    )
    window.start("jumpseat.edit", "Upper case.")
    provider.wait_for_chat(2)
    wait_until_written(window)
    for chat in provider.chats:
        question = str(chat["messages"][-1]["content"])
        assert "must not rewrite" in question
        assert "second = 2" in question
    window.command("jumpseat.acceptEdit")
    # The requests may arrive in either order.
    shown = window.wait(f"{TEXT} !== values[0] && {TEXT}", BEFORE)
    assert sorted(shown.splitlines()) == ["FIRST = 1", "THIRD = 3", "second = 2"]
    window.command("undo")
    window.wait(f"{TEXT} === values[0]", BEFORE)


def test_only_the_surroundings_of_a_long_file_are_sent(window, provider):
    provider.script(Reply.events(completion_stream(["middle = 0\n"])))
    window.open_file(
        "numbers.py", "".join(f"line_{number} = 0\n" for number in range(10_000)), select=(5000, 5001)
    )
    window.start("jumpseat.edit", "Rename it.")
    provider.wait_for_chat()
    question = str(provider.chats[0]["messages"][-1]["content"])
    assert "line_4800 = 0" in question
    assert "line_5200 = 0" in question
    assert len(question) < 20_000
    window.wait_for_count(window.notifications.filter(has_text="Rewriting"), 0)
    window.command("jumpseat.rejectEdit")


def test_an_instruction_can_call_a_prompt(window, provider):
    provider.script(Reply.events(completion_stream(["SECOND = 2\n"])))
    window.open_file("numbers.py", BEFORE, select=(1, 2))
    window.start("jumpseat.edit", "/tidy names")
    window.wait_for_text("numbers.py: rewritten")
    window.wait_for_count(window.notifications.filter(has_text="Rewriting"), 0)
    assert "Tidy this: names" in str(provider.chats[0]["messages"])
    window.command("jumpseat.rejectEdit")


@pytest.mark.scenario("workspace-rules")
def test_edits_are_sent_with_the_rules_of_the_workspace(window, provider):
    rules = window.server.workspace / "AGENTS.md"
    rules.write_text("Write British English.\n")
    gate = Gate()
    try:
        window.configure("workspaceRules", True)
        provider.script(Reply.events([chunk({"content": "colour = 1\n"}), gate, *completion_stream([""])]))
        window.open_file("colours.py", "color = 1\n", select=(0, 1))
        window.start("jumpseat.edit", "Spell it.")
        window.wait_for_text("Rules: AGENTS.md")
        assert "British English" in str(provider.chats[0]["messages"])
        provider.open(gate)
        window.wait_for_count(window.notifications.filter(has_text="Rewriting"), 0)
        window.command("jumpseat.rejectEdit")
    finally:
        window.configure("workspaceRules", None)
        rules.unlink()
