"""A window of VS Code: its page in the browser, and its extension host through the driver."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, expect

from tests.editors.vscode.code_server import WAIT_SECONDS, CodeServer, chromium

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WAIT_MS = 20_000
"""A time limit in milliseconds, much longer than any test needs, even on a busy machine."""
MAX_ROWS = 50
"""More rows than any quick pick of the tests has."""

_ENABLE_CHAT = """
async () => {
  const opening = indexedDB.open('vscode-web-state-db-global', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('ItemTable');
  const database = await new Promise((resolve, reject) => {
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = reject;
  });
  const change = database.transaction('ItemTable', 'readwrite');
  change.objectStore('ItemTable').put('true', 'builtinChatExtensionEnablementMigration');
  await new Promise((resolve, reject) => { change.oncomplete = resolve; change.onerror = reject; });
  database.close();
}
"""


@contextlib.contextmanager
def running_browser(playwright: Playwright, home: Path) -> Iterator[Browser]:
    """Run a headless Chromium with an empty profile. All other files that it writes are below `home`."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    browser = playwright.chromium.launch(
        executable_path=chromium(), headless=True, args=list(FLAGS), env={**variables, "HOME": str(home)}
    )
    try:
        yield browser
    finally:
        browser.close()


class Window:
    """One window. All selectors for parts of VS Code's page belong in this class."""

    def __init__(self, server: CodeServer, context: BrowserContext, *, enables_chat: bool = True) -> None:
        self.server = server
        self.page: Page = context.new_page()
        # The built-in chat is disabled until someone signs in to GitHub or this migration is done.
        if enables_chat:
            self.page.goto(f"{server.origin}/healthz")
            self.page.evaluate(_ENABLE_CHAT)
        self._driver: Path
        self.load()

    def load(self) -> None:
        """Load the page, with a new extension host."""
        self.page.goto(self.server.url)
        self._driver = self.server.wait_for_driver()
        self.page.locator(".statusbar-item").first.wait_for(timeout=WAIT_SECONDS * 1000)

    def close(self) -> None:
        """Close the window."""
        self.page.close()

    def js(self, code: str, *values: Any, seconds: float = WAIT_MS / 1000) -> Any:
        """Run the body of an async function in the extension host and return its result.

        It sees `vscode`, `lm` (requests.js), `state` (kept between calls) and `values`.
        """
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            connection.connect(str(self._driver))
            with connection.makefile("rwb") as stream:
                stream.write(json.dumps({"code": code, "arguments": values}).encode() + b"\n")
                stream.flush()
                line = stream.readline()
        assert line, "the extension host has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def wait(self, expression: str, *values: Any, wait_seconds: float = WAIT_MS / 1000) -> Any:
        """Wait until an expression in the extension host is true, and return it."""
        return self.js(
            f"""
            const end = Date.now() + {wait_seconds * 1000};
            for (;;) {{
              const found = await (async () => ({expression}))();
              if (found) return found;
              if (Date.now() > end) throw new Error({json.dumps("timed out: " + expression)});
              await new Promise((resolve) => setTimeout(resolve, 20));
            }}""",
            *values,
            seconds=wait_seconds + WAIT_MS / 1000,
        )

    def command(self, name: str, *values: Any) -> Any:
        """Run a command and return its result."""
        return self.js("return vscode.commands.executeCommand(...values)", name, *values)

    def start(self, name: str, *values: Any) -> None:
        """Run a command without waiting for its end."""
        self.js("vscode.commands.executeCommand(...values).then(undefined, () => {})", name, *values)

    def configure(self, name: str, value: Any) -> None:
        """Set a setting of the extension for the user; None removes it."""
        self.js(
            "const settings = vscode.workspace.getConfiguration('jumpseat');"
            "await settings.update(values[0], values[1] ?? undefined, vscode.ConfigurationTarget.Global)",
            name,
            value,
        )

    def wait_for_text(self, text: str, *, within: Locator | None = None) -> None:
        """Wait until the text is visible."""
        place = within or self.page.locator("body")
        expect(place.get_by_text(text).filter(visible=True).first).to_be_visible(timeout=WAIT_MS)

    def wait_until_text_is_gone(self, text: str) -> None:
        """Wait until the text is not visible anywhere."""
        expect(self.page.get_by_text(text).filter(visible=True)).to_have_count(0, timeout=WAIT_MS)

    def wait_until_shown(self, place: Locator) -> None:
        """Wait until this place of the page is visible."""
        expect(place).to_be_visible(timeout=WAIT_MS)

    def wait_briefly_for(self, place: Locator) -> bool:
        """Wait two seconds for the place to be visible; return whether it is."""
        try:
            expect(place).to_be_visible(timeout=2000)
        except AssertionError:
            return False
        return True

    def click_until_shown(self, place: Locator, shown: Locator) -> None:
        """Click a place every two seconds, while it is there, until the place `shown` is visible."""
        self.wait_until_shown(place)
        for _ in range(WAIT_MS // 2000):
            if place.is_visible():
                place.click(timeout=WAIT_MS)
            if self.wait_briefly_for(shown):
                return
        self.wait_until_shown(shown)

    def click_until_hidden(self, place: Locator) -> None:
        """Click a place until it is hidden, because VS Code loses clicks on CodeLenses that it redraws."""
        self.wait_until_shown(place)
        for _ in range(WAIT_MS // 2000):
            if place.is_visible():
                place.click(timeout=WAIT_MS)
            with contextlib.suppress(AssertionError):
                expect(place).not_to_be_visible(timeout=2000)
                return
        self.wait_until_hidden(place)

    def wait_until_hidden(self, place: Locator) -> None:
        """Wait until this place of the page is not visible."""
        expect(place).not_to_be_visible(timeout=WAIT_MS)

    def wait_for_count(self, place: Locator, number: int) -> None:
        """Wait until the page has this number of these places."""
        expect(place).to_have_count(number, timeout=WAIT_MS)

    # Files.

    def open_file(self, name: str, text: str | None = None, *, select: tuple[int, int] | None = None) -> Path:
        """Write a file of the workspace, open it, and select lines (counted from 0, without the last one).

        Without a text, the file is not written.
        """
        file = self.server.workspace / name
        if text is not None:
            file.write_text(text)
        self.js(
            "await vscode.window.showTextDocument(vscode.Uri.file(values[0]), { preview: false })", str(file)
        )
        if text is not None:
            # If the document was still loaded, VS Code shows the new text only after a while.
            self.wait("vscode.window.activeTextEditor.document.getText() === values[0]", text)
        if select is not None:
            self.js(
                "vscode.window.activeTextEditor.selection = new vscode.Selection(values[0], 0, values[1], 0)",
                *select,
            )
        return file

    def write(self, text: str) -> None:
        """Type a text at the end of the active editor, and wait until the extension host has received it."""
        self.page.keyboard.type(text)
        self.wait("vscode.window.activeTextEditor.document.getText().endsWith(values[0])", text)

    def write_here(self, text: str) -> None:
        """Type a text at the cursor, and wait until the extension host has it before the cursor."""
        self.page.keyboard.type(text)
        self.wait(
            """(({ document, selection }) => document.getText(
              new vscode.Range(new vscode.Position(0, 0), selection.active)
            ).endsWith(values[0]))(vscode.window.activeTextEditor)""",
            text,
        )

    @property
    def text(self) -> str:
        """The text of the active editor."""
        return str(self.js("return vscode.window.activeTextEditor.document.getText()"))

    # The chat view.

    def new_chat(self) -> None:
        """Show the chat view, empty."""
        self.command("workbench.action.chat.newChat")
        expect(self.page.locator(".interactive-item-container")).to_have_count(0, timeout=WAIT_MS)
        expect(self.model_button).to_have_attribute(
            "aria-label", re.compile("Models, (?!sign in)"), timeout=WAIT_MS
        )

    def ask(self, question: str) -> None:
        """Write a question into the chat view and send it."""
        # Notifications cover the buttons of the chat view.
        self.command("notifications.clearAll")
        before = self.answers.count()
        self.command("workbench.action.chat.open", {"query": question, "isPartialQuery": True})
        # Use commands: a click may miss the input if the layout shifts, and an open menu takes the Enter key.
        self.start("workbench.action.chat.submit")
        expect(self.answers).to_have_count(before + 1, timeout=WAIT_MS)

    @property
    def session(self) -> Locator:
        """The chat view, with its confirmations."""
        return self.page.locator(".interactive-session")

    @property
    def input(self) -> Locator:
        """The input of the chat view, with its attachments."""
        return self.page.locator(".interactive-session > .interactive-input-part")

    def paste_image(self, file: Path) -> None:
        """Paste a PNG into the chat's input."""
        self.page.evaluate(
            """
            async (base64) => {
              const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
              const image = new Blob([bytes], { type: 'image/png' });
              await navigator.clipboard.write([new ClipboardItem({ 'image/png': image })]);
            }""",
            base64.b64encode(file.read_bytes()).decode(),
        )
        self.input.get_by_role("textbox").press("Control+v", timeout=WAIT_MS)

    @property
    def answers(self) -> Locator:
        """The answers in the chat view, oldest first."""
        return self.page.locator(".interactive-response")

    def wait_for_answer_text(self, text: str) -> None:
        """Wait until the newest answer contains the text."""
        expect(self.answers.last).to_contain_text(text, timeout=WAIT_MS)

    def wait_for_answer(self) -> None:
        """Wait until no answer runs in the chat view."""
        expect(self.answers.last).not_to_have_class(re.compile("chat-response-loading"), timeout=WAIT_MS)

    def stop(self) -> None:
        """Click the stop button of the chat view."""
        self.page.locator(".chat-execute-toolbar [aria-label^='Cancel']").click()

    @property
    def model_button(self) -> Locator:
        """The button that names the chat's model and opens the picker."""
        return self.page.locator(".chat-input-toolbars .model-picker-name")

    @property
    def menu(self) -> Locator:
        """The menu that a button of the chat view has opened."""
        return self.page.locator(".action-widget-dropdown").first

    def choose_model(self, name: str) -> None:
        """Choose a model in the picker of the chat view."""
        search = self.menu.get_by_placeholder("Search models")
        label = self.page.get_by_text(name, exact=True)
        row = self.menu.locator(".monaco-list-row").filter(has=label).first
        for _ in range(WAIT_MS // 2000):
            self.model_button.click(timeout=WAIT_MS)
            search.fill(name)
            # The picker stays empty if VS Code draws its button again while it opens.
            if self.wait_briefly_for(row):
                break
            self.page.keyboard.press("Escape")
            self.wait_until_hidden(search)
        row.click(timeout=WAIT_MS)
        expect(self.model_button).to_have_attribute("aria-label", f"Models, {name}", timeout=WAIT_MS)

    def choose_thinking(self, level: str) -> None:
        """Choose the thinking level of the chat's model."""
        button = self.page.locator(".chat-input-toolbars .model-picker-config")
        button.click()
        self.menu.locator(".monaco-list-row").filter(has_text=level).first.click(timeout=WAIT_MS)
        expect(button).to_have_attribute("aria-label", f"Thinking: {level}", timeout=WAIT_MS)
        # The menu stays open after the choice.
        self.page.keyboard.press("Escape")

    # Quick picks, notifications, status bar.

    @property
    def quick_input(self) -> Locator:
        """The box that shows quick picks and input boxes."""
        return self.page.locator(".quick-input-widget")

    def pick(self, text: str) -> None:
        """Choose the first row of the quick pick that has the text, by keyboard.

        A click could meet another row if the list is laid out again at that time.
        """
        rows = self.quick_input.locator(".monaco-list-row")
        self.wait_until_shown(rows.filter(has_text=text).first)
        focused = rows.and_(self.quick_input.locator(".focused"))
        for _ in range(MAX_ROWS):
            # Press a key only after the previous one has moved the focus: a busy window would pass the row.
            index = focused.get_attribute("data-index") if focused.count() else None
            if index is not None and focused.filter(has_text=text).count():
                break
            self.page.keyboard.press("ArrowDown")
            if index is not None:
                expect(focused).not_to_have_attribute("data-index", index, timeout=WAIT_MS)
            self.wait_until_shown(focused)
        self.wait_until_shown(focused.filter(has_text=text))
        self.page.keyboard.press("Enter")

    @property
    def notifications(self) -> Locator:
        """The notifications on the screen."""
        return self.page.locator(".notification-list-item")

    def wait_for_notification(self, text: str) -> Locator:
        """Wait for a notification with the text, in the list that the bell opens.

        If more than three notifications come within 0.8 seconds, VS Code shows only three of them by itself.
        """
        self.command("notifications.showList")
        found = self.notifications.filter(has_text=text).first
        expect(found).to_be_visible(timeout=WAIT_MS)
        return found

    @property
    def status(self) -> Locator:
        """The extension's item in the status bar."""
        return self.page.locator("[id='jumpseat.jumpseat.jumpseat.status']")

    def reset(self) -> None:
        """Close everything that the previous test has opened."""
        self.page.keyboard.press("Escape")
        self.command("notifications.clearAll")
        self.command("notifications.hideList")
        self.js(
            """
            for (let tries = 0; vscode.window.tabGroups.all.some(({ tabs }) => tabs.length); tries++) {
              if (tries === 50) throw new Error('the editors cannot be closed');
              await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
            }
            """
        )

    def save_picture(self, file: Path) -> None:
        """Save the screen as a picture."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=os.fspath(file))
