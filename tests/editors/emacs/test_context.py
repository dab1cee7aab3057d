"""The context of a chat: what is added to it stays, and is sent again only if it has changed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import Child, lisp, running_emacs
from tests.editors.provider import WORDS, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with three texts, an image and a binary file."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    (root / "src/b.py").write_text("b = 2\n")
    (root / "src/c.txt").write_text("see\n")
    (root / "src/data.bin").write_bytes(b"x\0y")
    (root / "dot.png").write_bytes(PNG)
    return root


@pytest.fixture
def child(home: Path, package: Path, provider: ThreadedUpstream, root: Path) -> Iterator[Child]:
    """An Emacs that shows a file of the project. The model of its chats accepts images."""
    write_config(home, provider.base_url, "capabilities = { vision = true }\n")
    with running_emacs(home, str(root / "a.py"), package=package) as child:
        yield child


def ask(child: Child, provider: ThreadedUpstream, question: str) -> str:
    """Ask in the last chat; return the text of the last question that was sent."""
    number = len(provider.requests)
    provider.script(Reply.events(WORDS))
    child.command("jumpseat")
    child.wait("jumpseat-chat-mode")
    child.ask(question)
    provider.wait_for_request(number + 1)
    child.wait_until_idle()
    content = provider.requests[number].json["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if part["type"] == "text")


@pytest.mark.scenario("contexts")
def test_a_region_stays_in_the_context_and_is_sent_again_only_after_a_change(child, provider):
    child.eval("(progn (goto-char 9) (push-mark 17 t t))")
    child.command("jumpseat-add")
    child.wait_for_message("a.py:2-2 is part of the context of *jumpseat* (about 2 tokens).")
    first = ask(child, provider, "Why?")
    assert "two = 2" in first
    assert "one = 1" not in first
    child.wait_for_text("context: 1 (2)")
    assert ask(child, provider, "Again?") == "Again?"

    child.eval('(with-current-buffer "a.py" (goto-char 16) (insert "2"))')
    third = ask(child, provider, "And now?")
    assert "two = 22" in third
    child.command("jumpseat-context")
    child.wait_for_text("a.py:2-2 about 2 tokens")
    child.eval('(progn (goto-char 1) (search-forward "a.py:"))')
    child.keys("d")
    child.wait_for_text("Nothing is added.")
    child.keys("q")
    child.eval('(with-current-buffer "a.py" (goto-char 16) (insert "3"))')
    assert ask(child, provider, "Gone?") == "Gone?"
    assert child.eval('(with-current-buffer "a.py" (overlays-in 1 (point-max)))') is None


def test_a_buffer_a_directory_and_dired_marks_are_added(child, provider, root):
    child.command("jumpseat-add")
    child.command("jumpseat-add-directory", "^A^K" + str(root / "src"))
    child.keys(f"^Xd^A^K{root}^M")
    child.wait("(derived-mode-p 'dired-mode)")
    child.eval('(progn (dired-goto-file (expand-file-name "dot.png")) (dired-mark 1))')
    child.command("jumpseat-add")
    child.wait_for_message("dot.png is part of the context of *jumpseat* (image or document).")
    ask(child, provider, "What?")
    parts = provider.requests[0].json["messages"][-1]["content"]
    texts = "\n".join(part["text"] for part in parts if part["type"] == "text")
    for text in ("three = 3", "b = 2", "see", "What?"):
        assert text in texts
    assert "data.bin" not in texts
    (image,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert image == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    child.wait_for_text("context: 3 (")


def test_an_image_in_a_chat_is_folded(child, provider, root):
    child.eval(f"(jumpseat-add-file {lisp(str(root / 'dot.png'))})")
    ask(child, provider, "What?")
    child.wait_for_text("▸ Image (")
    assert "iVBORw0KGgo" not in child.screen
    assert "iVBORw0KGgo" in child.text


def test_a_long_context_is_folded_in_the_question(child, provider, root):
    (root / "long name.txt").write_text("".join(f"line {number}\n" for number in range(30)))
    child.eval(f"(jumpseat-add-file {lisp(str(root / 'long name.txt'))})")
    assert "line 29" in ask(child, provider, "What?")
    child.wait_for_text("▸ long name.txt (30 lines)")
    assert "line 29" not in child.screen


def test_an_info_node_is_added(child, provider):
    child.eval(f"(info {lisp(str(Path(__file__).parents[3] / 'editors/emacs/jumpseat.info'))})")
    child.command("jumpseat-add")
    child.wait_for_message("(jumpseat) Top is part of the context")
    assert "With jumpseat you chat" in ask(child, provider, "What?")


def test_an_image_in_the_clipboard_is_added(child, provider):
    encoded = base64.b64encode(PNG).decode()
    child.eval(f"""(fset 'gui-get-selection (lambda (_ type)
        (and (eq type 'image/png) (base64-decode-string "{encoded}"))))""")
    child.command("jumpseat-add-clipboard")
    child.wait_for_message("is part of the context")
    ask(child, provider, "What?")
    assert encoded in str(provider.requests[0].json["messages"][-1])


def test_a_buffer_that_was_killed_leaves_the_context(child, provider):
    child.command("jumpseat-add")
    child.wait_for_message("a.py is part of the context")
    child.eval('(kill-buffer "a.py")')
    assert ask(child, provider, "What?") == "What?"
    child.wait_for_message("a.py no longer exists, and is no longer part of the context.")
    assert "context:" not in child.screen


def test_a_file_that_is_too_large_is_refused(child, provider, root):
    (root / "big.txt").write_text("x" * 2_000_000)
    child.command("jumpseat-add-file", "^A^K" + str(root / "big.txt"))
    child.wait_for_text("is larger than")
    assert child.eval("(jumpseat--chat-list)") is None
