"""Files that change while a file tool asks, waits or writes."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.system.environment import environment_of_process
from jumpseat.tools.approvals import Decision
from jumpseat.tools.files import access
from tests.unit.tools.files.project import Project, open_project

EDIT = pytest.mark.requirement("12:files-edit")
WRITE = pytest.mark.requirement("12:files-write")


def rewrite(project: Project) -> None:
    (project.root / "a").write_text("user's text")


def remove(project: Project) -> None:
    (project.root / "a").unlink()


def open_in_editor(project: Project) -> None:
    project.editor.unsaved[project.root / "a"] = "user's text"


def stop_answering(project: Project) -> None:
    project.editor.answers = False


def redirect_to_another_file(project: Project) -> None:
    (project.root / "a").rename(project.root / "b")
    (project.root / "a").symlink_to("b")


def make_pipe(project: Project) -> None:
    (project.root / "a").unlink()
    os.mkfifo(project.root / "a")


def snapshot(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir() if path.is_file()}


@EDIT
@WRITE
@pytest.mark.parametrize(
    "change", [rewrite, remove, open_in_editor, stop_answering, redirect_to_another_file, make_pipe]
)
@pytest.mark.parametrize(
    ("tool", "arguments"), [("edit", {"oldText": "text", "newText": "x"}), ("write", {"text": "x"})]
)
async def test_everything_is_checked_again_after_the_decision(
    project: Project, tool: str, arguments: dict[str, str], change: Callable[[Project], None]
) -> None:
    project.write("a", "text")
    await project.ok("read", path="a")
    expected: dict[str, str] = {}

    def decide(question: object) -> Decision:
        change(project)
        expected.update(snapshot(project.root))
        return Decision(True)

    project.on_question = decide
    await project.error(tool, path="a", **arguments)

    assert len(project.questions) == 1
    assert snapshot(project.root) == expected
    assert project.editor.replaced == []


@WRITE
async def test_a_file_that_appears_during_the_question_is_not_overwritten(project: Project) -> None:
    def decide(question: object) -> Decision:
        project.write("a", "theirs")
        return Decision(True)

    project.on_question = decide
    await project.error("write", path="a", text="ours")
    assert (project.root / "a").read_text() == "theirs"


@pytest.mark.requirement("12:files-outside")
@pytest.mark.parametrize("tool", ["read", "edit", "write", "search", "list"])
async def test_a_folder_that_becomes_a_link_to_the_outside_is_not_followed(
    tmp_path: Path, home: Path, tool: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret text")
    arguments = {
        "read": {"path": "dir/a"},
        "edit": {"path": "dir/a", "oldText": "text", "newText": "x"},
        "write": {"path": "dir/new", "text": "x"},
        "search": {"path": "dir", "pattern": "text"},
        "list": {"path": "dir"},
    }[tool]
    async with open_project(tmp_path / "project", allow=[], ask=["files/*"]) as project:
        project.write("dir/a", "text")
        await project.ok("read", path="dir/a")

        def decide(question: object) -> Decision:
            (project.root / "dir").rename(project.root / "moved")
            (project.root / "dir").symlink_to(outside)
            return Decision(True)

        project.on_question = decide
        text = await project.error(tool, **arguments)
        assert "changed in the meantime" in text
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"a": "secret text"}


@pytest.mark.requirement("12:files-outside")
@pytest.mark.parametrize("tool", ["read", "edit"])
async def test_a_folder_that_becomes_a_link_after_the_check_is_not_followed(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret text")
    async with open_project(tmp_path / "project", allow=["files/*"]) as project:
        project.write("dir/a", "text")
        await project.ok("read", path="dir/a")
        find_unsaved = project.editor.find_unsaved
        asked = 0

        async def redirect(*uris: object) -> object:
            nonlocal asked
            asked += 1
            # Each lookup asks the editor twice. The second lookup of an edit follows all checks of the path.
            if asked == (1 if tool == "read" else 3):
                (project.root / "dir").rename(project.root / "moved")
                (project.root / "dir").symlink_to(outside)
            return await find_unsaved(*uris)

        monkeypatch.setattr(project.editor, "find_unsaved", redirect)
        arguments = {"oldText": "text", "newText": "x"} if tool == "edit" else {}
        text = await project.error(tool, path="dir/a", **arguments)
        assert "secret" not in text
        assert asked >= (1 if tool == "read" else 3)
    assert (outside / "a").read_text() == "secret text"
    assert (tmp_path / "project/moved/a").read_text() == "text"


# -- several calls at the same time


@EDIT
async def test_simultaneous_edits_of_one_file_are_all_made(tmp_path: Path, home: Path) -> None:
    async with open_project(tmp_path / "project", allow=["files/*"]) as project:
        words = [f"word{number:02}" for number in range(20)]
        file = project.write("a", "\n".join(words))
        await project.ok("read", path="a")
        calls = [project.ok("edit", path="a", oldText=word, newText=word.upper()) for word in words]
        await asyncio.gather(*calls)
        assert file.read_text() == "\n".join(words).upper()


@EDIT
async def test_of_two_conversations_only_the_first_changes_the_file(tmp_path: Path, home: Path) -> None:
    environment = environment_of_process()
    root = tmp_path / "project"
    async with (
        open_project(root, environment=environment, allow=["files/*"]) as one,
        open_project(root, environment=environment, allow=["files/*"], conversation="other") as other,
    ):
        file = one.write("a", "1 2")
        for each in (one, other):
            await each.ok("read", path="a")
        results = await asyncio.gather(
            one.run("edit", path="a", oldText="1", newText="one"),
            other.run("edit", path="a", oldText="2", newText="two"),
        )
    errors = [result.text for result in results if result.is_error]
    assert len(errors) == 1
    assert "has changed since it was read" in errors[0]
    assert file.read_text() in ("one 2", "1 two")


@WRITE
async def test_a_write_does_not_undo_an_edit_that_was_made_meanwhile(project: Project) -> None:
    file = project.write("a", "1 2")
    await project.ok("read", path="a")
    project.on_question = lambda question: None
    edit = asyncio.create_task(project.ok("edit", path="a", oldText="1", newText="one"))
    write = asyncio.create_task(project.error("write", path="a", text="1 two"))
    for call_id, task in zip(await project.wait_for_questions(2), (edit, write), strict=True):
        assert project.host.approvals.decide("t", call_id, Decision(True))
        await task

    assert "since the call was approved" in write.result()
    assert file.read_text() == "one 2"


@EDIT
async def test_a_change_that_has_begun_when_the_turn_is_cancelled_reports_its_result(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project.write("a", "text")
    await project.ok("read", path="a")
    loop = asyncio.get_running_loop()
    begun = asyncio.Event()
    resume = threading.Event()
    fsync = os.fsync

    def wait(descriptor: int) -> None:
        loop.call_soon_threadsafe(begun.set)
        assert resume.wait(30)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", wait)
    edit = asyncio.create_task(project.ok("edit", path="a", oldText="text", newText="new"))
    async with asyncio.timeout(30):
        await begun.wait()
    edit.cancel()
    loop.call_later(0.05, resume.set)

    assert await edit == "Changed a."
    assert file.read_text() == "new"
    monkeypatch.undo()
    await project.ok("edit", path="a", oldText="new", newText="newer")


@EDIT
async def test_a_conversation_remembers_a_bounded_number_of_files(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MAX_READ_TEXTS", 2)
    for name in ("a", "b", "c"):
        project.write(name, "text")
        await project.ok("read", path=name)
    assert "was not read" in await project.error("edit", path="a", oldText="text", newText="new")
    await project.ok("edit", path="b", oldText="text", newText="new")
