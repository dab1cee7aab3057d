"""Explaining text of the terminal."""

from __future__ import annotations

import pytest

from tests.editors.vscode.provider import hello

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.fixture
def terminal(chat):
    """The window with a terminal that has an error message; the clipboard has another text."""
    chat.js(
        """
        const written = new vscode.EventEmitter();
        const pty = { onDidWrite: written.event, open: () => written.fire('E42: no such thing'), close() {} };
        state.terminal = vscode.window.createTerminal({ name: 'test', pty });
        state.terminal.show();
        await vscode.env.clipboard.writeText('copied before');
        """
    )
    chat.wait("vscode.window.activeTerminal === state.terminal")
    chat.wait_until_shown(chat.page.locator(".terminal-wrapper.active .xterm-screen"))
    yield chat
    chat.js("state.terminal.dispose()")


def test_the_selection_of_the_terminal_is_explained(terminal, provider):
    provider.script(hello())
    # Select until the terminal has its text. Only the clipboard shows what is selected.
    terminal.js(
        """
        for (let tries = 0; tries < 200; tries++) {
          await vscode.commands.executeCommand('workbench.action.terminal.selectAll');
          await vscode.commands.executeCommand('workbench.action.terminal.copySelection');
          if ((await vscode.env.clipboard.readText()).includes('E42')) break;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        await vscode.env.clipboard.writeText('copied before');
        await vscode.commands.executeCommand('workbench.action.terminal.selectAll');
        """
    )
    terminal.command("jumpseat.explainTerminal")
    terminal.wait_for_answer_text("Hello there.")
    question = str(provider.chats[0]["messages"][-1]["content"])
    assert "E42: no such thing" in question
    assert "Explain the following." in question
    assert terminal.js("return vscode.env.clipboard.readText()") == "copied before"


def test_copied_text_is_explained_after_the_user_has_seen_it(terminal, provider):
    provider.script(hello())
    terminal.command("workbench.action.terminal.clearSelection")
    terminal.command("jumpseat.explainTerminal")
    terminal.wait_for_text("copied before", within=terminal.input)
    assert provider.chats == []
    terminal.page.keyboard.press("Enter")
    terminal.wait_for_answer_text("Hello there.")
    assert "copied before" in str(provider.chats[0]["messages"][-1]["content"])
