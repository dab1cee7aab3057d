"""Commit messages in the Source Control view."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.changes import NOTE, WARNING, stage_long_change

pytestmark = [pytest.mark.editor, pytest.mark.slow]

REPOSITORIES = "vscode.extensions.getExtension('vscode.git').exports.getAPI(1).repositories"
MESSAGE = f"{REPOSITORIES}[0].inputBox.value"


@pytest.fixture
def repository(window):
    """A Git repository with a staged file, in VS Code's own view."""
    directory = window.server.workspace / "repository"
    directory.mkdir()
    for name, text in (("staged.py", "limit = 3\n"), ("other.py", "other = 4\n")):
        (directory / name).write_text(text)
    for command in (["init", "--quiet"], ["add", "staged.py"]):
        subprocess.run(["git", *command], cwd=directory, check=True, timeout=20)
    window.wait("vscode.extensions.getExtension('vscode.git').exports?.enabled")
    window.command("git.openRepository", str(directory))
    window.wait(f"{REPOSITORIES}.length === 1 && {REPOSITORIES}[0].state.indexChanges.length === 1")
    window.command("workbench.view.scm")
    yield window
    window.command("workbench.view.explorer")
    window.js(f"await vscode.commands.executeCommand('git.close', {REPOSITORIES}[0])")
    window.wait(f"{REPOSITORIES}.length === 0")
    shutil.rmtree(directory)


def click_write(window) -> None:
    """Click the button in the title of the source control."""
    window.page.locator(".part.sidebar").get_by_role("button", name="Write Commit Message").first.click()


@pytest.mark.scenario("commit-message")
def test_a_commit_message_describes_the_staged_changes(repository, provider):
    gate = Gate()
    provider.script(Reply.events([chunk({"content": "Add a "}), gate, *completion_stream(["limit\n"])]))
    click_write(repository)
    repository.wait(f"{MESSAGE} === 'Add a '")
    repository.wait_for_text("Add a")
    provider.open(gate)
    repository.wait(f"{MESSAGE} === 'Add a limit'")
    question = str(provider.chats[0]["messages"][-1]["content"])
    assert "Write a Git commit message" in question
    assert "+limit = 3" in question
    assert "other = 4" not in question


@pytest.mark.scenario("commit-message")
def test_a_commit_message_that_was_replaced_can_be_restored(repository, provider):
    repository.js(f"{MESSAGE} = 'My own words'")
    provider.script(Reply.events(completion_stream(["Add a limit"])))
    click_write(repository)
    repository.wait(f"{MESSAGE} === 'Add a limit'")
    repository.wait_for_notification("The commit message was replaced.").get_by_text(
        "Restore", exact=True
    ).click()
    repository.wait(f"{MESSAGE} === 'My own words'")


@pytest.mark.scenario("commit-message")
def test_writing_a_commit_message_stops_when_the_user_writes_one(repository, provider):
    gate = Gate()
    provider.script(Reply.events([chunk({"content": "Add "}), gate, chunk({"content": "a limit"}), Gate()]))
    click_write(repository)
    repository.wait(f"{MESSAGE} === 'Add '")
    repository.js(f"{MESSAGE} = 'My own words'")
    provider.open(gate)
    provider.wait_for_disconnect()
    repository.wait_for_notification("You changed the commit message, so writing it was stopped.")
    assert repository.js(f"return {MESSAGE}") == "My own words"


@pytest.mark.scenario("commit-message")
def test_a_file_whose_diff_is_too_long_for_the_model_is_left_out(repository, provider):
    directory = repository.server.workspace / "repository"
    stage_long_change(directory)
    provider.script(Reply.events(completion_stream(["Add a limit"])))
    click_write(repository)
    repository.wait_for_notification(WARNING)
    repository.wait(f"{MESSAGE} === 'Add a limit'")
    question = str(provider.chats[0]["messages"][-1]["content"])
    assert "+limit = 3" in question
    assert NOTE in question
    assert "pinned" not in question


def test_a_failed_commit_message_leaves_the_old_one(repository, provider):
    repository.js(f"{MESSAGE} = 'My own words'")
    provider.script(Reply.json({"error": {"message": "The model is on holiday."}}, 400))
    click_write(repository)
    repository.wait_for_notification("The model is on holiday.")
    assert repository.js(f"return {MESSAGE}") == "My own words"


def test_nothing_is_sent_without_changes(repository, provider):
    subprocess.run(
        ["git", "rm", "--cached", "--quiet", "staged.py"],
        cwd=repository.server.workspace / "repository",
        check=True,
        timeout=20,
    )
    click_write(repository)
    repository.wait_for_notification("There are no changes to describe.")
    assert provider.chats == []
