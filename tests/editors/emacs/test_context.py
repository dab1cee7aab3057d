"""The context of a chat: what is added to it stays, and is sent again only if it has changed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import Child, lisp, running_emacs
from tests.editors.provider import WORDS, config_of

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with texts, an image, an ignored log and a binary file."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    (root / "src/b.py").write_text("b = 2\n")
    (root / "src/c.txt").write_text("see\n")
    (root / "src/data.bin").write_bytes(b"x\0y")
    (root / "dot.png").write_bytes(PNG)
    return root


@pytest.fixture
def file(home: Path, package: Path, provider: ThreadedUpstream, root: Path) -> Iterator[Child]:
    """An Emacs that shows a file of the project; its model sees images."""
    config_of(home, provider.base_url, "capabilities = { vision = true }\n")
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
def test_a_region_stays_in_the_context_and_is_sent_again_only_after_a_change(file, provider):
    file.eval("(progn (goto-char 9) (push-mark 17 t t))")
    file.command("jumpseat-add")
    file.wait_for_message("a.py:2-2 is part of the context of *jumpseat* (about 2 tokens).")
    first = ask(file, provider, "Why?")
    assert "two = 2" in first
    assert "one = 1" not in first
    file.wait_for_text("context: 1 (2)")
    assert ask(file, provider, "Again?") == "Again?"

    file.eval('(with-current-buffer "a.py" (goto-char 16) (insert "2"))')
    third = ask(file, provider, "And now?")
    assert "two = 22" in third
    file.command("jumpseat-context")
    file.wait_for_text("a.py:2-2 about 2 tokens")
    file.eval('(progn (goto-char 1) (search-forward "a.py:"))')
    file.keys("d")
    file.wait_for_text("Nothing is added.")
    file.keys("q")
    file.eval('(with-current-buffer "a.py" (goto-char 16) (insert "3"))')
    assert ask(file, provider, "Gone?") == "Gone?"
    assert file.eval('(with-current-buffer "a.py" (overlays-in 1 (point-max)))') is None


def test_a_buffer_a_directory_and_dired_marks_are_added(file, provider, root):
    file.command("jumpseat-add")
    file.command("jumpseat-add-directory", "^A^K" + str(root / "src"))
    file.keys(f"^Xd^A^K{root}^M")
    file.wait("(derived-mode-p 'dired-mode)")
    file.eval('(progn (dired-goto-file (expand-file-name "dot.png")) (dired-mark 1))')
    file.command("jumpseat-add")
    file.wait_for_message("dot.png is part of the context of *jumpseat* (image or document).")
    ask(file, provider, "What?")
    parts = provider.requests[0].json["messages"][-1]["content"]
    texts = "\n".join(part["text"] for part in parts if part["type"] == "text")
    for text in ("three = 3", "b = 2", "see", "What?"):
        assert text in texts
    assert "data.bin" not in texts
    (image,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert image == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    file.wait_for_text("context: 3 (")


def test_an_image_in_a_chat_is_folded(file, provider, root):
    file.eval(f"(jumpseat-add-file {lisp(str(root / 'dot.png'))})")
    ask(file, provider, "What?")
    file.wait_for_text("▸ Image (")
    assert "iVBORw0KGgo" not in file.screen
    assert "iVBORw0KGgo" in file.text


def test_a_long_context_is_folded_in_the_question(file, provider, root):
    (root / "long name.txt").write_text("".join(f"line {number}\n" for number in range(30)))
    file.eval(f"(jumpseat-add-file {lisp(str(root / 'long name.txt'))})")
    assert "line 29" in ask(file, provider, "What?")
    file.wait_for_text("▸ long name.txt (30 lines)")
    assert "line 29" not in file.screen


def test_an_info_node_is_added(file, provider):
    file.eval(f"(info {lisp(str(Path(__file__).parents[3] / 'editors/emacs/jumpseat.info'))})")
    file.command("jumpseat-add")
    file.wait_for_message("(jumpseat) Top is part of the context")
    assert "With jumpseat you chat" in ask(file, provider, "What?")


def test_an_image_in_the_clipboard_is_added(file, provider):
    encoded = base64.b64encode(PNG).decode()
    file.eval(f"""(fset 'gui-get-selection (lambda (_ type)
        (and (eq type 'image/png) (base64-decode-string "{encoded}"))))""")
    file.command("jumpseat-add-clipboard")
    file.wait_for_message("is part of the context")
    ask(file, provider, "What?")
    assert encoded in str(provider.requests[0].json["messages"][-1])


def test_a_buffer_that_was_killed_leaves_the_context(file, provider):
    file.command("jumpseat-add")
    file.wait_for_message("a.py is part of the context")
    file.eval('(kill-buffer "a.py")')
    assert ask(file, provider, "What?") == "What?"
    file.wait_for_message("a.py no longer exists, and is no longer part of the context.")
    assert "context:" not in file.screen


def test_a_file_that_is_too_large_is_refused(file, provider, root):
    (root / "big.txt").write_text("x" * 2_000_000)
    file.command("jumpseat-add-file", "^A^K" + str(root / "big.txt"))
    file.wait_for_text("is larger than")
    assert file.eval("(jumpseat--chat-list)") is None
