"""The light bulb's actions: edit, fix and explain."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors.vscode.provider import hello

pytestmark = [pytest.mark.editor, pytest.mark.slow]

CODE = "const limit = 3;\n\nfunction area(r) {\n  return pie * r;\n}\n"
FIXED = "function area(r) {\n  return Math.PI * r;\n}"
TEXT = "vscode.workspace.textDocuments.find(({ uri }) => uri.path.endsWith('area.js')).getText()"
TITLES = """
(await vscode.commands.executeCommand(
  'vscode.executeCodeActionProvider', vscode.window.activeTextEditor.document.uri,
  vscode.window.activeTextEditor.selection)).map(({ title }) => title)
"""


@pytest.fixture
def problem(chat):
    """The window with a file whose fourth line has a problem; the cursor is at the problem."""
    chat.open_file("area.js", CODE)
    chat.js(
        """
        state.problems ??= vscode.languages.createDiagnosticCollection('test');
        const problem = new vscode.Diagnostic(new vscode.Range(3, 9, 3, 12), "'pie' is not defined.");
        problem.source = 'checker';
        state.problems.set(vscode.window.activeTextEditor.document.uri, [problem]);
        vscode.window.activeTextEditor.selection = new vscode.Selection(3, 10, 3, 10);
        """
    )
    yield chat
    chat.js("state.problems.clear()")


def choose(window, title: str) -> None:
    """Open the menu of code actions by keyboard, and choose one."""
    window.wait(f"({TITLES}).includes(values[0])", title)
    window.command("workbench.action.focusActiveEditorGroup")
    window.page.keyboard.press("Control+.")
    row = window.page.locator(".action-widget .monaco-list-row").filter(has_text=title).first
    window.wait_until_shown(row)
    row.click()


@pytest.mark.scenario("code-actions")
def test_a_problem_is_fixed_by_an_edit_of_the_function_around_it(problem, provider):
    problem.wait(
        """(await vscode.commands.executeCommand('vscode.executeDocumentSymbolProvider',
           vscode.window.activeTextEditor.document.uri))?.length"""
    )
    provider.script(Reply.events(completion_stream([f"```js\n{FIXED}\n```"])))
    choose(problem, "Fix with jumpseat")
    problem.wait_for_text("area.js: rewritten")
    problem.wait_for_count(problem.notifications.filter(has_text="Rewriting"), 0)
    question = str(provider.chats[0]["messages"][-1]["content"])
    assert "Line 4: 'pie' is not defined. (checker)" in question
    assert "Find the bug" in question
    problem.command("jumpseat.acceptEdit")
    problem.wait(f"{TEXT} === values[0]", CODE.replace("pie", "Math.PI"))


@pytest.mark.scenario("code-actions")
def test_a_problem_is_explained_in_the_chat(problem, provider):
    provider.script(hello())
    choose(problem, "Explain with jumpseat")
    problem.wait_for_answer_text("Hello there.")
    question = str(provider.chats[0]["messages"][-1]["content"])
    assert "Line 4: 'pie' is not defined. (checker)" in question
    assert "Explain the following." in question
    assert "return pie * r;" in question


@pytest.mark.scenario("code-actions")
def test_a_selection_is_edited_and_explained_from_the_light_bulb(chat, provider):
    chat.open_file("area.js", CODE, select=(0, 1))
    provider.script(hello(), Reply.events(completion_stream(["const most = 3;\n"])))
    choose(chat, "Explain with jumpseat")
    chat.wait_for_answer_text("Hello there.")
    assert "const limit = 3;" in str(provider.chats[0]["messages"][-1]["content"])
    choose(chat, "Edit with jumpseat")
    chat.wait_for_text("Rewrite how?")
    chat.page.keyboard.type("Rename it.")
    chat.page.keyboard.press("Enter")
    chat.wait_for_text("area.js: rewritten")
    chat.wait_for_count(chat.notifications.filter(has_text="Rewriting"), 0)
    chat.command("jumpseat.acceptEdit")
    chat.wait(f"{TEXT} === values[0]", CODE.replace("limit", "most"))


def test_the_code_actions_can_be_turned_off(problem):
    problem.configure("codeActions", False)
    try:
        problem.wait(f"({TITLES}).every((each) => !each.includes('jumpseat'))")
    finally:
        problem.configure("codeActions", None)


def test_a_line_without_problems_has_nothing_to_fix(chat):
    chat.open_file("area.js", CODE)
    chat.command("jumpseat.fix")
    chat.wait_for_notification("There is no problem in the selection or in this line.")
