"""Commands with ready-made questions, commit messages, and the chats and rules of a project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.changes import NOTE, WARNING, WIDE, git, stage_long_change
from tests.editors.emacs.child import Child, running_emacs
from tests.editors.provider import WORDS, list_sent_texts

pytestmark = [pytest.mark.editor, pytest.mark.slow]

SOURCE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one commit, and rules for models."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / "a.py").write_text(SOURCE)
    (root / "AGENTS.md").write_text("Always rhyme.\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "First")
    return root


@pytest.fixture
def child(home: Path, package: Path, provider: ThreadedUpstream, root: Path) -> Iterator[Child]:
    """An Emacs that shows the file of the repository."""
    with running_emacs(home, str(root / "a.py"), package=package) as child:
        yield child


@pytest.mark.scenario("prompts")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("jumpseat-explain", "Explain the following."),
        ("jumpseat-review", "Review"),
        ("jumpseat-fix", "Fix"),
        ("jumpseat-document", "documentation"),
        ("jumpseat-write-tests", "tests"),
    ],
)
def test_a_command_asks_its_prompt_about_the_function_at_point(child, provider, command, words):
    provider.script(Reply.events(WORDS))
    child.eval('(progn (goto-char 1) (search-forward "return 2"))')
    child.command(command)
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    (question,) = list_sent_texts(provider, 0)
    assert words.lower() in question.lower()
    assert "def two():" in question
    assert "def one():" not in question


@pytest.mark.scenario("prompts")
def test_a_prompt_is_chosen_and_asked_about_the_region(child, provider):
    provider.script(Reply.events(WORDS))
    child.eval("(progn (goto-char 1) (push-mark 12 t t))")
    child.command("jumpseat-prompt", "review")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    (question,) = list_sent_texts(provider, 0)
    assert "def one():" in question
    assert "return 1" not in question


@pytest.mark.scenario("commit-message")
def test_a_commit_message_is_inserted_for_the_staged_changes(child, provider, root):
    (root / "a.py").write_text(SOURCE.replace("1", "staged"))
    git(root, "add", ".")
    (root / "a.py").write_text(SOURCE.replace("1", "later"))
    message = root / ".git" / "COMMIT_EDITMSG"
    message.write_text("\n# Comments of Git.\n")
    provider.script(Reply.events(completion_stream(["Stage ", "it\n\nBecause."])))
    child.keys(f"^X^F^A^K{message}^M")
    child.wait('(equal (buffer-name) "COMMIT_EDITMSG")')
    child.command("jumpseat-commit-message")
    child.wait_for_text("Stage it")
    child.wait("(null jumpseat-anywhere--requests)")
    assert child.text == "Stage it\n\nBecause.\n# Comments of Git.\n"
    (question,) = list_sent_texts(provider, 0)
    assert "+    return staged" in question
    assert "later" not in question
    child.keys("^_")
    child.wait('(equal (buffer-string) "\\n# Comments of Git.\\n")')


def test_a_commit_message_for_changes_that_are_not_staged_goes_into_the_kill_ring(child, provider, root):
    (root / "a.py").write_text(SOURCE.replace("1", "later"))
    provider.script(Reply.events(WORDS))
    child.command("jumpseat-commit-message")
    child.wait_for_message("The answer is in the kill ring.")
    assert "+    return later" in list_sent_texts(provider, 0)[0]


@pytest.mark.scenario("commit-message")
def test_a_file_whose_diff_is_too_long_is_left_out_of_a_commit_message(child, provider, root):
    (root / "a.py").write_text(SOURCE.replace("1", "staged"))
    git(root, "add", ".")
    stage_long_change(root)
    provider.script(Reply.events(WORDS))
    child.command("jumpseat-commit-message")
    child.wait_for_message(WARNING)
    child.wait_for_message("The answer is in the kill ring.")
    (question,) = list_sent_texts(provider, 0)
    assert "+    return staged" in question
    assert NOTE in question
    assert "pinned" not in question


def test_a_commit_message_is_fitted_to_the_model_of_the_user(home, package, provider, root):
    with (home / "config.toml").open("a") as config:
        config.write(WIDE)
    stage_long_change(root)
    provider.script(Reply.events(WORDS))
    with running_emacs(home, str(root / "a.py"), package=package) as child:
        child.eval('(setq jumpseat-model "fake:other-model")')
        child.command("jumpseat-commit-message")
        child.wait_for_message("The answer is in the kill ring.")
    assert provider.requests[0].json["model"] == "other-model"
    assert list_sent_texts(provider, 0)[0].count("+pinned = 1") == 7000


def test_a_diff_in_a_question_is_fitted_to_the_model_of_the_chat(home, package, provider, root):
    with (home / "config.toml").open("a") as config:
        config.write(WIDE)
    stage_long_change(root)
    changes = root.parent / "changes"
    git(root, "diff", "--cached", f"--output={changes}")
    provider.default(Reply.events(WORDS))
    with running_emacs(home, str(root / "a.py"), package=package) as child:
        for number, head in enumerate(("---\nmodel: fake:other-model\n---\n\n", "")):
            child.command("jumpseat-new")
            child.wait("jumpseat-chat-mode")
            child.eval(f"(progn (goto-char 1) (insert {json.dumps(head)}) (goto-char (point-max)))")
            child.eval('(insert "/commit ")')
            child.eval(f"(insert-file-contents {json.dumps(str(changes))})")
            child.command("jumpseat-send")
            provider.wait_for_request(number + 1)
            child.wait_until_idle()
        child.wait_for_message("The diff of all.lock is too long for the model. Only its beginning is used.")
    whole, shortened = list_sent_texts(provider, 0)[-1], list_sent_texts(provider, 1)[-1]
    assert whole.count("+pinned = 1") == 7000
    assert "The diff of all.lock is too long, so it is cut off." in shortened


def test_a_commit_message_needs_changes(child, provider):
    child.command("jumpseat-commit-message")
    child.wait_for_text("There are no changes to describe")
    assert provider.requests == []


def test_each_project_has_its_chat(child, provider, root):
    child.command("jumpseat-project")
    child.wait('(equal (buffer-name) "*jumpseat: shop*")')
    assert child.eval("default-directory") == f"{root}/"
    child.keys("Draft^Xba.py^M")
    child.command("jumpseat-new")
    child.wait('(equal (buffer-name) "*jumpseat*")')
    child.eval('(with-current-buffer "*jumpseat*" (setq default-directory "/"))')
    child.keys("^Xba.py^M")
    child.command("jumpseat-project")
    child.wait('(equal (buffer-name) "*jumpseat: shop*")')
    assert child.text == "## Me\n\nDraft"


@pytest.mark.scenario("workspace-rules")
def test_the_rules_of_the_project_are_used_and_named_if_the_user_wants_them(child, provider):
    provider.script(Reply.events(WORDS), Reply.events(WORDS))
    # The file tools need the folder too.
    child.eval("""(setq jumpseat-tools '("files/*"))""")
    child.command("jumpseat-project")
    child.wait("jumpseat-chat-mode")
    child.ask("Hello?")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    assert list_sent_texts(provider, 0) == ["Hello?"]
    child.eval("(setq jumpseat-workspace-rules t)")
    child.ask("Again?")
    child.wait_for_text("rules: AGENTS.md")
    child.wait_until_idle()
    assert "Always rhyme." in list_sent_texts(provider, 1)[0]
