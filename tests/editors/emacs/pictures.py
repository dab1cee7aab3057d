"""Makes the pictures of the README from a real Emacs with scripted answers: `make pictures-emacs`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import PACKAGE, markdown_mode
from tests.editors.emacs.graphical import Frame, running_frame

PICTURES = PACKAGE / "images"
MAX_BYTES = 120_000
CHATS = "/v1/chat/completions"
MODELS = ("qwen3-coder-30b", "gpt-oss-120b", "mistral-small-24b")

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


def total(radii):
    sum = 0
    for r in radii:
        sum = sum + area(r)
    return sum
'''
ANSWER = [
    "`area` computes the area of a circle:\n\n",
    "1. It takes the radius `r`, with no check of its sign.\n",
    "2. It returns **π r²**.\n\n",
    "For many radii, a comprehension is shorter:\n\n",
    "```python\ndef areas(radii):\n    return [area(r) for r in radii]\n```\n",
]


def tools_of(*calls: FakeCall) -> Reply:
    return Reply.events(completion_stream(tool_calls=calls))


@pytest.fixture
def root() -> Iterator[Path]:
    """The directory of a project, whose path is short, because the chat shows it."""
    with tempfile.TemporaryDirectory(prefix="shapes-") as directory:
        yield Path(directory)


@pytest.fixture
def frame(home: Path, provider: ThreadedUpstream, root: Path) -> Iterator[Frame]:
    """An Emacs that shows a Python file in a project."""
    provider.default(Reply.json({"data": [{"id": name} for name in MODELS]}), path="/v1/models")
    (home / "config.toml").write_text(
        f'default_provider = "lab"\n[providers.lab]\nkind = "openai"\nbase_url = "{provider.base_url}"\n'
        f'api_key = "none"\ndefault_model = "{MODELS[0]}"\n'
    )
    (root / ".git").mkdir()
    (root / "shapes.py").write_text(CODE)
    with running_frame(home, str(root / "shapes.py"), options={"tools": ["files/*"]}) as running:
        running.eval(markdown_mode())
        running.eval("""(progn (setq display-buffer-base-action nil jumpseat-role-marks '("\u276f" . "●"))
                               (global-eldoc-mode -1))""")
        yield running


def save(frame: Frame, name: str) -> None:
    """Save the frame."""
    PICTURES.mkdir(exist_ok=True)
    file = PICTURES / f"{name}.png"
    file.write_bytes(frame.picture())
    assert file.stat().st_size < MAX_BYTES, f"{file} has {file.stat().st_size} bytes"


def rewrite(frame: Frame, line: int, lines: int, instruction: str) -> None:
    """Rewrite some lines of the file."""
    frame.eval(f"""(progn (goto-char 1) (forward-line {line - 1})
        (push-mark (save-excursion (forward-line {lines}) (point)) t t))""")
    frame.command("jumpseat-rewrite", instruction)


def test_pictures(frame: Frame, provider: ThreadedUpstream) -> None:
    frame.eval("(split-window-right)")
    comprehension = "def areas(radii):\n    return [area(r) for r in radii]\n"
    provider.script(Reply.events(completion_stream([comprehension])), path=CHATS)
    rewrite(frame, 10, 5, "Use a comprehension.")
    frame.wait("(and jumpseat--edit-list (jumpseat--edit-replacement (car jumpseat--edit-list)))")
    provider.script(
        Reply.events(completion_stream(["def total(radii):\n    return sum(area(r) for r in radii)\n"])),
        path=CHATS,
    )
    rewrite(frame, 17, 5, "Use sum().")
    frame.wait("(seq-every-p #'jumpseat--edit-replacement jumpseat--edit-list)")
    frame.eval("(goto-char 1)")
    provider.script(
        Reply.events(completion_stream(ANSWER, reasoning=["The user asks for a short explanation."])),
        path=CHATS,
    )
    frame.eval("""(progn (other-window 1) (goto-char 1) (search-forward "def area(r)")
        (jumpseat-ask "What does it do?" (match-beginning 0) (save-excursion (forward-line 2) (point))))""")
    frame.wait("(and jumpseat-chat-mode (jumpseat--view-get :state))")
    frame.wait_until_idle()
    save(frame, "chat")

    frame.keys("^C^J")
    frame.wait("(and transient--prefix t)")
    save(frame, "menu")
    frame.keys("^G")
    frame.wait("(not transient--prefix)")

    frame.eval(
        '(progn (with-current-buffer "shapes.py" (jumpseat-rewrite-reject) (jumpseat-rewrite-reject)))'
    )
    read = FakeCall("c1", "files__read", [json.dumps({"path": "shapes.py"})])
    edit = FakeCall(
        "c2",
        "files__edit",
        [json.dumps({"path": "shapes.py", "oldText": "math.pi * r * r", "newText": "math.pi * abs(r) ** 2"})],
    )
    provider.script(tools_of(read), tools_of(edit), path=CHATS)
    frame.ask("Accept negative radii.")
    frame.wait("jumpseat-approval-mode")
    save(frame, "tools")
    frame.stop()
    frame.wait_until_idle()
