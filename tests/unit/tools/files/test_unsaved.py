"""While the editor has unsaved text, the tools read and change that text, and do not write the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.chat import FileDiff
from jumpseat.tools.approvals import Decision
from tests.unit.tools.files.project import VERSION, Project, open_project

pytestmark = pytest.mark.requirement("12:files-unsaved")

CHANGES = [("edit", {"oldText": "text", "newText": "new"}), ("write", {"text": "new"})]


async def test_read_and_search_see_the_text_in_the_editor(project: Project) -> None:
    project.editor.unsaved[project.write("a", "saved\n")] = "unsaved\ntext\n"
    project.editor.unsaved[project.root / "never saved"] = "text, too\n"
    project.editor.unsaved[project.root.parent / "outside"] = "text elsewhere"

    assert await project.ok("read", path="a") == "unsaved\ntext\n"
    assert await project.ok("read", path="never saved") == "text, too\n"
    assert await project.ok("search", pattern="text") == "a:2: text\nnever saved:1: text, too"
    assert "no matches" in await project.ok("search", pattern="^saved", regex=True)


@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_a_change_goes_through_the_editor(
    project: Project, tool: str, arguments: dict[str, str]
) -> None:
    file = project.write("a", "saved")
    project.editor.unsaved[file] = "text\r\n"
    await project.ok("read", path="a")
    expected = {"edit": "new\r\n", "write": "new"}[tool]
    text = await project.ok(tool, path="a", **arguments)

    assert text == "Changed a in the editor. It has unsaved changes there."
    assert project.editor.replaced == [(file.as_uri(), VERSION, expected)]
    assert project.questions[0].diff == [FileDiff(file.as_uri(), "text\n", expected.replace("\r", ""))]
    assert file.read_text() == "saved"
    await project.ok("edit", path="a", oldText="new", newText="newer")
    assert project.editor.unsaved[file] == expected.replace("new", "newer")


async def test_a_text_that_the_user_saves_after_it_was_read_counts_as_unchanged(project: Project) -> None:
    file = project.write("a", "saved\r\n")
    project.editor.unsaved[file] = "text\n"
    await project.ok("read", path="a")
    file.write_bytes(b"text\r\n")
    del project.editor.unsaved[file]
    await project.ok("edit", path="a", oldText="text", newText="new")
    assert (file.read_bytes(), project.editor.replaced) == (b"new\r\n", [])


@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_a_file_with_unsaved_changes_since_it_was_read_is_not_changed(
    project: Project, tool: str, arguments: dict[str, str]
) -> None:
    file = project.write("a", "text")
    await project.ok("read", path="a")
    project.editor.unsaved[file] = "text of the user"
    assert "has changed since it was read" in await project.error(tool, path="a", **arguments)
    assert (file.read_text(), project.editor.replaced, project.questions) == ("text", [], [])


@pytest.mark.parametrize("link", ["file", "folder", "hard link"])
@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_a_file_that_the_editor_has_open_under_another_name_is_found(
    project: Project, link: str, tool: str, arguments: dict[str, str]
) -> None:
    file = project.write("dir/a", "saved")
    opened = project.root.parent / "opened"
    if link == "hard link":
        opened.hardlink_to(file)
    else:
        opened.symlink_to(file if link == "file" else file.parent)
    opened = opened / "a" if link == "folder" else opened
    project.editor.unsaved[opened] = "text"

    assert await project.ok("read", path="dir/a") == "text"
    await project.ok(tool, path="dir/a", **arguments)
    assert project.editor.replaced == [(opened.as_uri(), VERSION, "new")]
    assert file.read_text() == "saved"


async def test_the_file_is_read_if_the_editor_does_not_answer_and_the_result_says_so(
    project: Project,
) -> None:
    project.write("a", "text\n")
    project.editor.answers = False
    read, found = await project.ok("read", path="a"), await project.ok("search", pattern="text")

    for note, text in (read.splitlines(), found.splitlines()):
        assert "The editor did not answer" in note
        assert text.endswith("text")


@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_nothing_is_changed_or_asked_if_the_editor_does_not_answer(
    project: Project, tool: str, arguments: dict[str, str]
) -> None:
    file = project.write("a", "text")
    await project.ok("read", path="a")
    project.editor.answers = False
    assert "The editor did not answer" in await project.error(tool, path="a", **arguments)
    assert (file.read_text(), project.questions) == ("text", [])


@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_nothing_is_asked_if_the_editor_cannot_change_its_text(
    project: Project, tool: str, arguments: dict[str, str]
) -> None:
    file = project.write("a", "saved")
    project.editor.unsaved[file] = "text"
    project.editor.can_replace_text = False
    await project.ok("read", path="a")
    assert "unsaved changes in the editor" in await project.error(tool, path="a", **arguments)
    assert (file.read_text(), project.questions) == ("saved", [])


def refuse(project: Project) -> None:
    project.editor.applies = False


def stop_answering(project: Project) -> None:
    project.editor.answers = False


@pytest.mark.parametrize(
    ("fail", "reason"), [(refuse, "The editor did not change a"), (stop_answering, "may have been changed")]
)
@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_a_change_that_the_editor_does_not_apply_is_an_error(
    project: Project,
    tool: str,
    arguments: dict[str, str],
    fail: Callable[[Project], None],
    reason: str,
) -> None:
    file = project.write("a", "saved")
    project.editor.unsaved[file] = "text"
    await project.ok("read", path="a")
    project.editor.on_replace = lambda: fail(project)
    assert reason in await project.error(tool, path="a", **arguments)
    assert file.read_text() == "saved"


@pytest.mark.parametrize(("tool", "arguments"), CHANGES)
async def test_a_text_that_the_user_changes_during_the_question_is_kept(
    project: Project, tool: str, arguments: dict[str, str]
) -> None:
    file = project.write("a", "saved")
    project.editor.unsaved[file] = "text"
    await project.ok("read", path="a")

    def decide(question: object) -> Decision:
        project.editor.unsaved[file] = "text of the user"
        return Decision(True)

    project.on_question = decide
    assert "has changed since" in await project.error(tool, path="a", **arguments)
    assert project.editor.unsaved == {file: "text of the user"}
    assert file.read_text() == "saved"


async def test_a_new_text_in_the_editor_has_to_be_read_before_it_is_replaced(
    tmp_path: Path, home: Path
) -> None:
    async with open_project(tmp_path / "project", allow=["files/*"]) as project:
        file = project.root / "new"
        project.editor.unsaved[file] = "draft"
        assert "Read the file first" in await project.error("write", path="new", text="text")
        await project.ok("read", path="new")
        await project.ok("write", path="new", text="text")
        assert project.editor.unsaved == {file: "text"}
        assert not file.exists()
