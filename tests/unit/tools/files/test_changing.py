"""`edit` and `write` change only what the conversation knows and the user has approved."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jumpseat.chat import FileDiff
from jumpseat.system.environment import environment_of_process
from jumpseat.tools.approvals import Decision
from jumpseat.tools.files import access
from tests.disks import mount_small_disk
from tests.unit.tools.files.project import Project, open_project

EDIT = pytest.mark.requirement("12:files-edit")
WRITE = pytest.mark.requirement("12:files-write")
KEPT = pytest.mark.requirement("12:files-kept")


@EDIT
@pytest.mark.requirement("12:files-diff")
async def test_an_edit_asks_with_its_diff_and_then_changes_the_file(project: Project) -> None:
    file = project.write("src/main.py", "one\ntwo\nthree\n")
    await project.ok("read", path="src/main.py")
    text = await project.ok("edit", path="src/main.py", oldText="two", newText="2")

    assert text == "Changed src/main.py."
    assert file.read_text() == "one\n2\nthree\n"
    [question] = project.questions
    assert (question.title, question.kind, question.reason) == ("Edit src/main.py", "edit", "ask")
    assert question.diff == [FileDiff(file.as_uri(), "one\ntwo\nthree\n", "one\n2\nthree\n")]


@EDIT
async def test_an_own_edit_counts_as_a_read(project: Project) -> None:
    file = project.write("a", "1 2 3")
    await project.ok("read", path="a")
    for old, new in (("1", "one"), ("2", "two"), ("one two", "both")):
        await project.ok("edit", path="a", oldText=old, newText=new)
    assert file.read_text() == "both 3"


@EDIT
@WRITE
async def test_a_file_that_was_not_read_is_not_changed_and_nobody_is_asked(project: Project) -> None:
    file = project.write("a", "text")
    for tool, arguments in (("edit", {"oldText": "text", "newText": "x"}), ("write", {"text": "x"})):
        assert "Read the file first" in await project.error(tool, path="a", **arguments)
    assert (file.read_text(), project.questions) == ("text", [])


@EDIT
@WRITE
async def test_a_file_that_changed_since_it_was_read_has_to_be_read_again(project: Project) -> None:
    file = project.write("a", "text")
    before = file.stat()
    await project.ok("read", path="a", startLine=1, endLine=1)
    # A program may even restore the time.
    file.write_text("TEXT")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for tool, arguments in (("edit", {"oldText": "TEXT", "newText": "x"}), ("write", {"text": "x"})):
        assert "has changed since it was read" in await project.error(tool, path="a", **arguments)
    assert project.questions == []

    await project.ok("read", path="a")
    await project.ok("edit", path="a", oldText="TEXT", newText="x")
    assert file.read_text() == "x"


@EDIT
async def test_a_file_that_was_only_touched_has_not_changed(project: Project) -> None:
    file = project.write("a", "text")
    await project.ok("read", path="a")
    os.utime(file, (1, 1))
    await project.ok("edit", path="a", oldText="text", newText="x")
    assert file.read_text() == "x"


@EDIT
async def test_only_this_conversation_and_its_forks_know_what_was_read(tmp_path: Path, home: Path) -> None:
    environment = environment_of_process()
    root = tmp_path / "project"
    call = {"path": "a", "oldText": "text", "newText": "x"}
    async with open_project(root, environment=environment) as project:
        project.write("a", "text")
        await project.ok("read", path="a")
        async with open_project(root, environment=environment, conversation="another") as other:
            assert "was not read in this conversation" in await other.error("edit", **call)
        async with open_project(root, environment=environment) as later:
            await later.ok("edit", **call)


@EDIT
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"oldText": "x", "newText": "y"}, "does not occur in a"),
        ({"oldText": "e", "newText": "y"}, "more than once in a"),
        ({"oldText": "", "newText": "y"}, "oldText is not valid"),
        ({"oldText": "one"}, "newText is missing"),
        ({"oldText": "one", "newText": "\ud83d"}, "surrogate"),
    ],
)
async def test_an_edit_that_does_not_fit_is_an_error_without_a_question(
    project: Project, arguments: dict[str, str], reason: str
) -> None:
    file = project.write("a", "one two three")
    await project.ok("read", path="a")
    assert reason in await project.error("edit", path="a", **arguments)
    assert (file.read_text(), project.questions) == ("one two three", [])


@EDIT
async def test_a_missing_file_cannot_be_edited(project: Project) -> None:
    assert "Use the tool write" in await project.error("edit", path="a/b", oldText="x", newText="y")
    assert list(project.root.iterdir()) == []


@EDIT
@WRITE
@pytest.mark.parametrize(
    ("tool", "arguments"), [("edit", {"oldText": "text", "newText": "x"}), ("write", {"text": "x"})]
)
async def test_a_denied_change_is_not_made(project: Project, tool: str, arguments: dict[str, str]) -> None:
    file = project.write("a", "text")
    await project.ok("read", path="a")
    project.on_question = lambda question: Decision(False)
    assert "denied" in await project.error(tool, path="a", **arguments)
    assert file.read_text() == "text"


@WRITE
@pytest.mark.requirement("12:files-diff")
async def test_a_new_file_is_written_with_the_folders_that_are_missing(project: Project) -> None:
    assert await project.ok("write", path="a/b/c.txt", text="new\r\n") == "Created a/b/c.txt."

    file = project.root / "a/b/c.txt"
    assert file.read_bytes() == b"new\r\n"
    [question] = project.questions
    assert (question.title, question.diff) == ("Create a/b/c.txt", [FileDiff(file.as_uri(), None, "new\n")])
    await project.ok("edit", path="a/b/c.txt", oldText="new", newText="newer")
    assert file.read_bytes() == b"newer\r\n"


@WRITE
async def test_an_existing_file_is_written_as_a_whole_after_it_was_read(project: Project) -> None:
    file = project.write("a", "one\r\ntwo\r\n")
    await project.ok("read", path="a")
    assert await project.ok("write", path="a", text="three\n\n") == "Changed a."

    assert file.read_bytes() == b"three\r\n\r\n"
    assert (project.questions[0].title, project.questions[0].diff) == (
        "Write a",
        [FileDiff(file.as_uri(), "one\ntwo\n", "three\n\n")],
    )


@WRITE
async def test_new_files_and_folders_have_the_umask_of_the_client(tmp_path: Path, home: Path) -> None:
    environment = replace(environment_of_process(), umask=0o027)
    async with open_project(tmp_path / "project", environment=environment) as project:
        await project.ok("write", path="dir/a", text="x")
        modes = [stat.S_IMODE((project.root / name).stat().st_mode) for name in ("dir", "dir/a")]
    assert modes == [0o750, 0o640]


@KEPT
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
async def test_a_file_keeps_its_encoding_its_line_ends_and_its_mode(
    project: Project, encoding: str, line_end: str
) -> None:
    file = project.write("a", f"Größe{line_end}zwei".encode(encoding))
    file.chmod(0o751)
    await project.ok("read", path="a")
    await project.ok("edit", path="a", oldText="Größe\nzwei", newText="Länge\ndrei\n✓")
    assert file.read_bytes() == f"Länge{line_end}drei{line_end}✓".encode(encoding)
    await project.ok("write", path="a", text="neu\n")

    assert file.read_bytes() == f"neu{line_end}".encode(encoding)
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


@KEPT
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")
async def test_a_file_keeps_its_owner_and_its_hard_links(project: Project) -> None:
    file, linked = project.write("a", "text"), project.write("b", "text")
    os.chown(file, 1234, 4321)
    (project.root / "other name").hardlink_to(linked)
    for name in ("a", "b"):
        await project.ok("read", path=name)
        await project.ok("edit", path=name, oldText="text", newText="new")

    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)
    assert (project.root / "other name").read_text() == "new"


@KEPT
async def test_a_read_only_file_is_refused_without_a_question(project: Project) -> None:
    file = project.write("a", "text")
    file.chmod(0o444)
    await project.ok("read", path="a")
    assert "read-only" in await project.error("edit", path="a", oldText="text", newText="new")
    assert (file.read_text(), project.questions) == ("text", [])


@KEPT
async def test_a_full_disk_leaves_the_old_file(project: Project) -> None:
    with mount_small_disk(project.root / "disk") as disk:
        file = project.write("disk/a", "text")
        await project.ok("read", path="disk/a")
        for tool, path, arguments in (
            ("edit", "disk/a", {"oldText": "text", "newText": "x" * 100_000}),
            ("write", "disk/a", {"text": "x" * 100_000}),
            ("write", "disk/new", {"text": "x" * 100_000}),
        ):
            assert "No space left" in await project.error(tool, path=path, **arguments)
        assert {path.name: path.read_text() for path in disk.iterdir()} == {"a": "text"}
        await project.ok("edit", path="disk/a", oldText="text", newText="fits")
        assert file.read_text() == "fits"


@KEPT
async def test_a_write_that_is_killed_leaves_the_old_file(project: Project) -> None:
    file = project.write("a", "old")
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from jumpseat.system.folder import Folder\n"
        "from jumpseat.system import replacing\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "folder = Folder.open(Path(sys.argv[1]))\n"
        "replacing.replace_entry(folder, 'a', b'new', folder.find_status('a'))\n"
    )
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(project.root))
    async with asyncio.timeout(30):
        assert await killed.wait() == -9
    assert file.read_text() == "old"


@pytest.mark.requirement("12:files-binary")
async def test_a_binary_file_is_not_changed(project: Project) -> None:
    file = project.write("a", b"\0\xff")
    for tool, arguments in (("edit", {"oldText": "a", "newText": "b"}), ("write", {"text": "x"})):
        assert "binary" in await project.error(tool, path="a", **arguments)
    assert file.read_bytes() == b"\0\xff"


# -- changes between the question and the call


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
            # The second question of an edit comes after all checks of the path.
            if asked == (1 if tool == "read" else 3):
                (project.root / "dir").rename(project.root / "moved")
                (project.root / "dir").symlink_to(outside)
            return await find_unsaved(*uris)  # type: ignore[arg-type]

        monkeypatch.setattr(project.editor, "find_unsaved", redirect)
        arguments = {"oldText": "text", "newText": "x"} if tool == "edit" else {}
        text = await project.error(tool, path="dir/a", **arguments)
        assert "secret" not in text
        assert asked >= (1 if tool == "read" else 3)
    assert (outside / "a").read_text() == "secret text"
    assert (tmp_path / "project/moved/a").read_text() == "text"


# -- several calls at the same time


@EDIT
async def test_no_edit_of_several_at_the_same_time_is_lost(tmp_path: Path, home: Path) -> None:
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
    for call_id, task in zip(await project.until_asked(2), (edit, write), strict=True):
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
