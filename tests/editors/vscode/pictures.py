"""Makes the pictures of the README from a real VS Code with scripted answers: `make pictures-vscode`."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.vscode.code_server import REPOSITORY, running_code_server
from tests.editors.vscode.window import Window

PICTURES = REPOSITORY / "editors/vscode/images"
MAX_BYTES = 80_000

CODE = '''\
"""Shapes and their areas."""

import math


def area(r):
    return math.pi * r * r


def areas(radii):
    result = []
    for r in radii:
        result.append(area(r))
    return result
'''
ANSWER = [
    "`area` computes the area of a circle:\n\n",
    "1. It takes the radius `r`, with no check of its sign.\n",
    "2. It returns $\\pi r^2$.\n\n",
    "For many radii, a comprehension is shorter:\n\n",
    "```python\ndef areas(radii):\n    return [area(r) for r in radii]\n```\n",
]
REWRITTEN = """\
def area(r):
    if r < 0:
        raise ValueError("a radius is not negative")
    return math.pi * r * r


def areas(radii):
    return [area(r) for r in radii]
"""
AGENT = [
    ("I look at the module first.", "read", {"path": "shapes.py"}),
    (
        "It has no function for squares yet, so I add one before `areas`.",
        "edit",
        {
            "path": "shapes.py",
            "oldText": "def areas(radii):\n",
            "newText": "def square(side):\n    return side * side\n\n\ndef areas(radii):\n",
        },
    ),
]
MERGE = [
    "With `|`, since Python 3.9:\n\n",
    "```python\nmerged = defaults | settings\n```\n\n",
    "Where both have a key, the value of the **right** one is in the result. `|=` changes the left one.",
]
MODELS = ("qwen3-coder-30b", "gpt-oss-120b", "mistral-small-24b")


@pytest.fixture
def upstream():
    with ThreadedUpstream() as running:
        running.default(Reply.json({"data": [{"id": name} for name in MODELS]}), path="/v1/models")
        yield running


@pytest.fixture
def window(tmp_path, browser, upstream):
    (tmp_path / "config.toml").write_text(
        f'default_provider = "lab"\n[providers.lab]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        f'api_key = "none"\ndefault_model = "{MODELS[0]}"\n'
        "capabilities = { tool_calls = true, thinking = true }\n"
    )
    with running_code_server(tmp_path) as server:
        context = browser.new_context(viewport={"width": 1180, "height": 680})
        window = Window(server, context)
        window.new_chat()
        window.page.get_by_label("Dismiss notification").click()
        yield window
        context.close()


def save(window: Window, name: str) -> None:
    """Save a picture of the screen, with few colours."""
    window.command("notifications.clearAll")
    window.page.mouse.move(600, 5)
    # Wait until menus and folds have stopped moving.
    window.page.wait_for_timeout(1000)
    image = Image.open(io.BytesIO(window.page.screenshot())).convert("RGB").quantize(64, dither=0)
    file = PICTURES / f"{name}.png"
    image.save(file, optimize=True)
    assert file.stat().st_size < MAX_BYTES, f"{file} has {file.stat().st_size} bytes"


def test_pictures(window, upstream):
    path = "/v1/chat/completions"
    window.command("workbench.action.closeSidebar")
    window.open_file("shapes.py", CODE, select=(5, 7))
    upstream.script(
        Reply.events(completion_stream(ANSWER, reasoning=["The user asks for a short explanation."])),
        path=path,
    )
    window.start("jumpseat.ask", "What does it do? Can `areas` be shorter?")
    window.wait_for_answer_text("return [area(r) for r in radii]")
    window.wait_for_answer()
    save(window, "chat")

    window.model_button.click()
    window.menu.get_by_text("Other Models").click()
    save(window, "models")
    window.page.keyboard.press("Escape")

    window.command("workbench.action.closeAuxiliaryBar")
    upstream.script(Reply.events(completion_stream([REWRITTEN])), path=path)
    window.js("vscode.window.activeTextEditor.selection = new vscode.Selection(5, 0, 14, 0)")
    window.start("jumpseat.edit", "Refuse negative radii, and use a comprehension.")
    window.wait_until_shown(window.page.locator(".codelens-decoration").get_by_text("Accept Change 2 of 2"))
    window.js("vscode.window.activeTextEditor.selection = new vscode.Selection(0, 0, 0, 0)")
    save(window, "edit")
    window.page.locator(".title .editor-actions").get_by_role("button", name="Accept Edit").click()
    window.wait_until_text_is_gone("shapes.py: rewritten")
    # VS Code removes the CodeLenses only while the editor has the focus.
    window.wait_for_count(window.page.locator(".codelens-decoration a"), 0)
    window.js("vscode.window.activeTextEditor.selection = new vscode.Selection(0, 0, 0, 0)")
    window.command("workbench.action.files.save")
    window.command("workbench.action.chat.open", {"mode": "agent"})
    window.new_chat()
    upstream.script(
        *(
            Reply.events(
                completion_stream(
                    [text], tool_calls=[FakeCall(tool, f"jumpseat_{tool}", [json.dumps(given)])]
                )
            )
            for text, tool, given in AGENT
        ),
        path=path,
    )
    window.ask("Give the module a function for the area of a square.")
    window.wait_for_text("Edit shapes.py?", within=window.session)
    save(window, "agent")
    window.stop()

    window.new_chat()
    upstream.script(Reply.events(completion_stream(MERGE)), path=path)
    window.ask("@jumpseat How do I merge two dictionaries?")
    window.wait_for_answer()
    window.command("workbench.action.closeAuxiliaryBar")
    window.command("jumpseat.conversations.focus")
    window.page.locator(".customview-tree .monaco-list-row").filter(has_text="dictionaries").first.click()
    window.wait("vscode.window.activeTextEditor?.document.uri.scheme === 'jumpseat-conversation'")
    # Wait until the heading has its colour.
    window.wait_until_shown(window.page.locator(".view-line span.mtkb").first)
    save(window, "conversations")
