"""`edit` and `write` change only what the conversation knows and the user has approved."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jumpseat.chat import FileDiff
from jumpseat.system.environment import environment_of_process
from jumpseat.tools.approvals import Decision
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
async def test_after_its_own_edit_the_conversation_knows_the_file(project: Project) -> None:
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
    # The change is noticed even if the program that made it restores the file's time.
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
async def test_only_the_conversation_and_its_forks_know_what_was_read(tmp_path: Path, home: Path) -> None:
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
async def test_an_empty_file_is_created(project: Project) -> None:
    assert await project.ok("write", path="package/__init__.py", text="") == "Created package/__init__.py."

    file = project.root / "package/__init__.py"
    assert file.read_bytes() == b""
    assert project.questions[0].diff == [FileDiff(file.as_uri(), None, "")]


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
@pytest.mark.parametrize("line_ending", ["\n", "\r\n"])
async def test_a_file_keeps_its_encoding_its_line_endings_and_its_mode(
    project: Project, encoding: str, line_ending: str
) -> None:
    file = project.write("a", f"Größe{line_ending}zwei".encode(encoding))
    file.chmod(0o751)
    await project.ok("read", path="a")
    await project.ok("edit", path="a", oldText="Größe\nzwei", newText="Länge\ndrei\n✓")
    assert file.read_bytes() == f"Länge{line_ending}drei{line_ending}✓".encode(encoding)
    await project.ok("write", path="a", text="neu\n")

    assert file.read_bytes() == f"neu{line_ending}".encode(encoding)
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


@KEPT
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root may give files away")
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
