"""`read` returns texts or lines of them, and says what is missing."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.unit.tools.files.project import Project, open_project

LINES = pytest.mark.requirement("12:files-lines")


@LINES
async def test_a_whole_text_is_returned_as_it_is(project: Project) -> None:
    project.write("a.py", "one\n\ntwo")
    assert await project.ok("read", path="a.py") == "one\n\ntwo"


@LINES
@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ({"startLine": 2, "endLine": 3}, "[Lines 2 to 3 of 4.]\ntwo\nthree\n"),
        ({"startLine": 4}, "[Lines 4 to 4 of 4.]\nfour"),
        ({"endLine": 1}, "[Lines 1 to 1 of 4.]\none\n"),
        ({"startLine": 1, "endLine": 99}, "one\ntwo\nthree\nfour"),
        ({"startLine": "2", "endLine": 2.0}, "[Lines 2 to 2 of 4.]\ntwo\n"),
    ],
)
async def test_lines_count_from_1(project: Project, lines: dict[str, int], text: str) -> None:
    project.write("a", "one\r\ntwo\r\nthree\r\nfour")
    assert await project.ok("read", path="a", **lines) == text


@LINES
@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ({"startLine": 5}, "a has only 4 lines."),
        ({"startLine": 3, "endLine": 2}, "There are no lines from 3 to 2."),
        ({"startLine": 0}, "The argument startLine is not valid"),
        ({"startLine": "two"}, "The argument startLine is not valid"),
    ],
)
async def test_lines_that_do_not_exist_are_an_error(
    project: Project, lines: dict[str, int], text: str
) -> None:
    project.write("a", "one\ntwo\nthree\nfour")
    assert text in await project.error("read", path="a", **lines)


async def test_the_result_for_an_empty_file_says_that_it_is_empty(project: Project) -> None:
    project.write("a")
    assert await project.ok("read", path="a") == "[a is empty.]"


async def test_a_text_that_does_not_fit_ends_with_a_whole_line(tmp_path: Path, home: Path) -> None:
    async with open_project(tmp_path / "project", max_result_kilobytes=1) as project:
        project.write("a", "".join(f"line {number}\n" for number in range(1, 1001)))
        text = await project.ok("read", path="a")

        head, *lines = text.splitlines()
        assert head == f"[Lines 1 to {len(lines)} of 1000. Read on with startLine.]"
        assert lines[-1] == f"line {len(lines)}"
        more = await project.ok("read", path="a", startLine=len(lines) + 1)
        assert more.splitlines()[1] == f"line {len(lines) + 1}"


async def test_a_line_that_does_not_fit_is_cut(tmp_path: Path, home: Path) -> None:
    async with open_project(tmp_path / "project", max_result_kilobytes=1) as project:
        project.write("a", "x" * 5000 + "\nnext\n")
        text = await project.ok("read", path="a")
        # The result may have 1024 bytes; 512 of them are reserved for notes.
        assert text == f"[Line 1 of 2 is too long. This is only its beginning.]\n{'x' * 512}"


@pytest.mark.requirement("12:files-binary")
@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9", "text".encode("utf-32")])
async def test_a_binary_file_is_refused(project: Project, content: bytes) -> None:
    project.write("a", content)
    assert "binary" in await project.error("read", path="a")


@pytest.mark.requirement("12:files-binary")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
async def test_a_text_with_a_byte_order_mark_is_read_without_it(project: Project, encoding: str) -> None:
    project.write("a", "Größe\r\n".encode(encoding))
    assert await project.ok("read", path="a") == "Größe\n"


async def test_special_files_are_refused_without_waiting(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    (project.root / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(project.root / "socket"))
        for path in ("pipe", "link", "socket"):
            await project.error("read", path=path)
            await project.error("write", path=path, text="x")
    (project.root / "folder").mkdir()
    assert "Use the tool list" in await project.error("read", path="folder")
    assert "no file missing/a" in await project.error("read", path="missing/a")


async def test_lines_of_a_huge_file_are_read_without_the_rest(project: Project) -> None:
    line = b"0123456789abcdef" * 16 + b"\r\n"
    with project.write("huge").open("wb") as stream:
        for _ in range(400):
            stream.write(line * 1000)
    assert (project.root / "huge").stat().st_size > 100_000_000

    text = await project.ok("read", path="huge", startLine=300_000, endLine=300_001)
    assert text == f"[Lines 300000 to 300001.]\n{line[:-2].decode()}\n{line[:-2].decode()}\n"
    # By default, a result may have 64 KiB; 512 bytes of them are reserved for notes.
    assert (await project.ok("read", path="huge")).startswith("[Lines 1 to 253. Read on with startLine.]")
    assert "larger than 10 MiB" in await project.error("edit", path="huge", oldText="0", newText="1")


async def test_a_huge_line_is_cut(project: Project) -> None:
    with project.write("huge").open("wb") as stream:
        for _ in range(100):
            stream.write("✓".encode() * 400_000)
    text = await project.ok("read", path="huge")

    assert text.startswith("[Line 1 is too long. This is only its beginning.]\n✓✓✓")
    assert len(text.encode()) <= 64 * 1024


async def test_a_huge_binary_file_is_refused(project: Project) -> None:
    with project.write("huge").open("wb") as stream:
        stream.truncate(100_000_000)
    assert "binary" in await project.error("read", path="huge")


@pytest.mark.requirement("12:files-denied")
async def test_a_private_key_at_the_start_of_a_huge_file_is_denied(project: Project) -> None:
    with project.write("huge").open("wb") as stream:
        stream.write(b"-----BEGIN PRIVATE KEY-----\n" + b"secret\n" * 2_000_000)
    assert "private key" in await project.error("read", path="huge")


async def test_missing_arguments_are_named(project: Project) -> None:
    assert await project.error("read") == "The argument path is missing."
    assert "argument path is not valid" in await project.error("read", path=3)
