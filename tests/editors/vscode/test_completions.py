"""Inline completions in VS Code: off at first, then as grey text at the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.testing.upstream import Gate, Reply
from tests.editors.vscode.provider import COMPLETIONS

WAIT_MS = 20_000

pytestmark = [pytest.mark.editor, pytest.mark.slow, pytest.mark.scenario("complete")]

MODEL = "fake:fake-model"
SET = """
    const section = vscode.workspace.getConfiguration('jumpseat.completions');
    for (const name of ['model', 'enabled', 'extent']) {
      await section.update(name, values[0][name], vscode.ConfigurationTarget.Global);
    }
"""
LONG_PAUSE_MS = 1000
TRIGGER = "editor.action.inlineSuggest.trigger"


def completion(text: str) -> Reply:
    """Return a completion with this text. Tests script nine of them, because VS Code may request several."""
    return Reply.json({"model": "fake-model", "choices": [{"text": text, "finish_reason": "stop"}]})


@pytest.fixture
def editor(window: Any) -> Iterator[Any]:
    """The window, with completions as they are after the installation."""
    yield window
    # Close the editors, so that a pending completion does not reach the next test.
    window.reset()
    window.js(SET, {})


@pytest.fixture
def completing(editor: Any) -> Any:
    """The window with completions of the provider `fake`."""
    editor.js(SET, {"model": MODEL, "enabled": True})
    editor.wait_until_shown(status(editor).get_by_text("fake-model"))
    return editor


def status(window: Any) -> Any:
    return window.page.locator("[id='jumpseat.jumpseat.jumpseat.completions']")


def open_at_mark(window: Any, name: str, text: str) -> None:
    """Open a file with the cursor at the mark `|` of a text, and give it the keyboard."""
    before, _, after = text.partition("|")
    # Each test needs its own file, because VS Code opens a known file at its last cursor.
    file = window.server.workspace / name
    file.write_text(before + after)
    window.js(
        """
        const [path, offset] = values;
        const document = await vscode.workspace.openTextDocument(path);
        const cursor = document.positionAt(offset);
        const selection = new vscode.Range(cursor, cursor);
        await vscode.window.showTextDocument(document, { preview: false, selection });
        """,
        str(file),
        len(before),
    )
    window.command("workbench.action.focusActiveEditorGroup")


def wait_for_suggestion(window: Any, text: str) -> None:
    """Wait until a text is shown as a suggestion. Each of its colours is a separate element of the page."""
    window.page.wait_for_function(
        """
        (text) => [...document.querySelectorAll('.monaco-editor [class*="ghost-text"]')]
          .map((each) => each.textContent).join('').replaceAll('\\u00a0', ' ').includes(text)
        """,
        arg=text,
        timeout=WAIT_MS,
    )


def test_completions_are_off_until_they_are_turned_on(editor, provider):
    open_at_mark(editor, "off.py", "a = |\n")
    editor.write_here("1 + ")
    editor.command(TRIGGER)
    editor.wait_until_hidden(status(editor))
    editor.js(SET, {"model": MODEL, "enabled": True})
    provider.script_completions(*[completion("2")] * 9)
    # VS Code does not ask again for the same text.
    editor.write_here("(")
    editor.command(TRIGGER)

    assert provider.wait_for_completion()["prompt"] == "a = 1 + (", "nothing was sent while they were off"
    wait_for_suggestion(editor, "2")


def test_the_text_at_the_cursor_is_shown_while_typing_and_accepted_with_tab(completing, provider):
    provider.script_completions(*[completion("a + b")] * 9)
    open_at_mark(completing, "add.py", "def add(a, b):\n    |\n\nprint(add(1, 2))\n")
    completing.write_here("return ")
    wait_for_suggestion(completing, "a + b")
    sent = provider.completions[-1]
    completing.page.keyboard.press("Tab")

    completing.wait("vscode.window.activeTextEditor.document.getText().includes('return a + b')")
    assert completing.text == "def add(a, b):\n    return a + b\n\nprint(add(1, 2))\n"
    assert (sent["prompt"], sent["suffix"]) == ("def add(a, b):\n    return ", "\n\nprint(add(1, 2))\n")
    assert (sent["model"], sent["max_tokens"], "stop" in sent) == ("fake-model", 256, False)


def test_one_undo_removes_a_completion_of_several_lines(completing, provider):
    block = "if a:\n        return 1\n    return 2"
    provider.script_completions(*[completion(block)] * 9)
    open_at_mark(completing, "block.py", "def f(a):\n    |\n")
    completing.command(TRIGGER)
    wait_for_suggestion(completing, "return 1")
    completing.page.keyboard.press("Tab")
    completing.wait("vscode.window.activeTextEditor.document.getText().includes('return 2')")
    assert completing.text == f"def f(a):\n    {block}\n"
    completing.page.keyboard.press("Control+z")
    completing.wait("!vscode.window.activeTextEditor.document.getText().includes('return')")
    assert completing.text == "def f(a):\n    \n"


def test_between_other_characters_of_a_line_only_the_line_is_completed(completing, provider):
    provider.script_completions(*[completion("1, 2\nprint(3)")] * 9)
    open_at_mark(completing, "between.py", "print(add(|))\n")
    completing.command(TRIGGER)
    wait_for_suggestion(completing, "1, 2")
    assert (provider.completions[-1]["stop"], provider.completions[-1]["max_tokens"]) == (["\n"], 64)
    completing.page.keyboard.press("Tab")
    completing.wait("vscode.window.activeTextEditor.document.getText().includes('1, 2')")
    assert completing.text == "print(add(1, 2))\n"


def test_typing_on_cancels_the_completion_and_requests_another(completing, provider):
    gate = Gate()
    provider.script_completions(replace(completion("WRONG"), held=gate), *[completion("3")] * 9)
    open_at_mark(completing, "total.py", "total = |\n")
    completing.start(TRIGGER)
    assert provider.wait_for_completion()["prompt"] == "total = "
    completing.wait_until_shown(status(completing).locator(".codicon-loading"))
    completing.write_here("1 + ")
    provider.wait_for_disconnect(1, COMPLETIONS)
    wait_for_suggestion(completing, "3")

    assert provider.completions[-1]["prompt"] == "total = 1 + "
    completing.wait_until_hidden(status(completing).locator(".codicon-loading"))


def test_a_failure_is_shown_in_the_status_and_not_in_a_notification(completing, provider):
    refusal = {"error": {"message": "suffix is not currently supported"}}
    provider.script_completions(Reply.json(refusal, 400), *[completion("2")] * 9)
    open_at_mark(completing, "failure.py", "a = |\nb = 1\n")
    completing.command(TRIGGER)
    completing.wait_until_shown(status(completing).locator(".codicon-warning"))
    label = status(completing).locator("a").first
    assert "cannot fill in the middle of a text" in (label.get_attribute("aria-label") or "")
    assert completing.notifications.count() == 0
    # VS Code must not request a completion by itself after that, even when the user pauses for long enough.
    completing.write_here("1")
    completing.js("await new Promise((resolve) => setTimeout(resolve, values[0]))", LONG_PAUSE_MS)
    # But the user may ask again.
    completing.write_here(" +")
    completing.command(TRIGGER)
    wait_for_suggestion(completing, "2")
    completing.wait_until_hidden(status(completing).locator(".codicon-warning"))
    assert [each["prompt"] for each in provider.completions] == ["a = ", "a = 1 +"]


def test_completions_are_turned_on_and_off_by_keyboard_alone(editor, provider):
    rows = [{"id": "fake-model"}, {"id": "coder", "capabilities": {"completion_fim": True}}]
    provider.set_model_list(Reply.json({"data": rows}))
    editor.command("jumpseat.refreshModels")
    editor.command("notifications.clearAll")
    open_at_mark(editor, "keyboard.py", "a = |\n")
    run(editor, "jumpseat: Toggle Inline Completions")
    editor.wait_for_text("can fill in", within=editor.quick_input)
    editor.wait_for_text("may be able to", within=editor.quick_input)
    editor.page.keyboard.press("Enter")
    editor.wait_until_shown(status(editor).get_by_text("coder"))
    provider.script_completions(*[completion("2")] * 9)
    editor.command("workbench.action.focusActiveEditorGroup")
    editor.write_here("1 + ")
    wait_for_suggestion(editor, "2")
    assert provider.completions[-1]["model"] == "coder"
    editor.page.keyboard.press("Escape")
    run(editor, "jumpseat: Toggle Inline Completions")
    editor.wait_until_shown(status(editor).get_by_text("Completions"))
    settings = "const found = vscode.workspace.getConfiguration('jumpseat.completions');"
    assert editor.js(f"{settings} return [found.get('enabled'), found.get('model')]") == [False, "fake:coder"]


def run(window: Any, command: str) -> None:
    """Run a command of the palette with the keyboard."""
    window.page.keyboard.press("F1")
    window.wait_until_shown(window.quick_input)
    window.page.keyboard.type(command)
    window.wait_for_text(command, within=window.quick_input.locator(".monaco-list-row").first)
    window.page.keyboard.press("Enter")
