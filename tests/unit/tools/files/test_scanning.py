"""`list` and `search` are bounded, say what they left out, and never hang or delay others."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from jumpseat.tools.files import scanning
from tests.processes import children, command_line
from tests.unit.tools.files.project import Project, open_project

BOUNDS = pytest.mark.requirement("12:files-bounds")
IGNORED = pytest.mark.requirement("12:files-ignored")


def list_scans() -> list[int]:
    """Return the ids of the running processes of scans."""
    return [pid for pid in children(os.getpid()) if "scan_process" in command_line(pid)]


def wait_for_a_scan() -> bool:
    """Wait until a scan runs, and return whether one does."""
    end = time.monotonic() + 30
    while not list_scans() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(list_scans())


@IGNORED
async def test_a_list_has_the_entries_that_git_does_not_ignore(project: Project) -> None:
    for name in ("src/a.py", "src/a.pyc", "build/x", "b", ".git/config"):
        project.write(name)
    project.write(".gitignore", "*.pyc\nbuild/\n")
    (project.root / "link").symlink_to("src")
    os.mkfifo(project.root / "pipe")

    assert (await project.ok("list")).splitlines() == [
        ".gitignore",
        "b",
        "link (link)",
        "pipe (not a file)",
        "src/",
    ]
    assert (await project.ok("list", path="src")) == "src/a.py"
    assert (await project.ok("list", recursive=True)).splitlines()[-1] == "src/a.py"
    assert (await project.ok("list", path="build")) == "build/x"
    assert project.questions == []


async def test_the_tool_read_accepts_the_names_in_a_list(tmp_path: Path, home: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "sub").mkdir()
    (second / "sub" / "b").write_text("b")
    async with open_project(tmp_path / "project", second) as project:
        project.write("dir/a", "a")
        names = (await project.ok("list", recursive=True)).splitlines()
        assert names == ["dir/", "dir/a", f"{second}/sub/", f"{second}/sub/b"]
        assert [await project.ok("read", path=name) for name in names if not name.endswith("/")] == ["a", "b"]
        found = (await project.ok("search", pattern="^[ab]$", regex=True)).splitlines()
        assert found == ["dir/a:1: a", f"{second}/sub/b:1: b"]


async def test_the_title_of_a_call_names_its_folder(project: Project) -> None:
    project.write("src/a", "x")
    calls = (
        ("list", {}),
        ("list", {"path": "src"}),
        ("search", {"pattern": "x"}),
        ("search", {"pattern": 'a "b"', "path": "src"}),
    )
    for tool, arguments in calls:
        await project.ok(tool, **arguments)
    async with open_project(project.root, allow=[]) as asking:
        for tool, arguments in calls:
            await asking.ok(tool, **arguments)
        titles = [question.title for question in asking.questions]
    assert titles == ["List .", "List src", 'Search for "x"', 'Search for "a "b"" in src']


async def test_a_name_with_a_line_break_is_listed_on_one_line(project: Project) -> None:
    project.write("a\nb\u202e", "x")
    assert await project.ok("list") == "a\\nb\\u202e"
    assert await project.ok("search", pattern="x") == "a\\nb\\u202e:1: x"


@BOUNDS
async def test_a_list_has_at_most_2000_entries(project: Project) -> None:
    for folder in range(20):
        for number in range(150):
            project.write(f"d{folder:02}/{number}")
    lines = (await project.ok("list", recursive=True)).splitlines()

    assert lines[:2] == ["d00/", "d01/"]
    assert len(lines) == 2001
    assert lines[-1] == "[Entries that were left out: 1020. List one of the folders.]"


@BOUNDS
async def test_a_search_ends_after_500_matches(project: Project) -> None:
    project.write("a", "match\n" * 300)
    project.write("b", "match\n" * 300)
    lines = (await project.ok("search", pattern="match")).splitlines()

    assert len(lines) == 501
    assert lines[-2:] == [
        "b:200: match",
        "[The search ended after 500 matches. Make the pattern more specific.]",
    ]


@BOUNDS
async def test_exactly_500_matches_are_complete(project: Project) -> None:
    project.write("a", "match\n" * 500)
    assert (await project.ok("search", pattern="match")).splitlines()[-1] == "a:500: match"


async def test_a_pattern_is_literal_unless_it_is_said_to_be_an_expression(project: Project) -> None:
    project.write("a", "f(x)\nfx\nF(X)\n")
    assert await project.ok("search", pattern="f(x)") == "a:1: f(x)"
    assert await project.ok("search", pattern="f(x)", regex=True) == "a:2: fx"
    assert await project.ok("search", pattern=r"(?i)^f\(", regex=True) == "a:1: f(x)\na:3: F(X)"


async def test_lines_are_searched_one_by_one_in_every_encoding(project: Project) -> None:
    project.write("crlf", "one\r\ntwo\r\n")
    project.write("utf-16", "one\ntwo ✓\n".encode("utf-16"))
    project.write("binary", b"two\0")
    project.write("no end", "two")
    text = await project.ok("search", pattern="^two( ✓)?$", regex=True)
    assert text.split("\n") == ["crlf:2: two", "no end:1: two", "utf-16:2: two ✓"]
    assert "Use one line" in await project.error("search", pattern="one\ntwo")


async def test_a_long_line_is_shown_around_its_match(project: Project) -> None:
    project.write("a", f"{'x' * 1_000_000}needle{'y' * 1_000_000}")
    text = await project.ok("search", pattern="needle")
    assert "needle" in text
    assert text.startswith("a:1: …xxx")
    assert len(text) < 400


async def test_files_that_are_too_large_are_skipped_and_counted(project: Project) -> None:
    with project.write("huge").open("wb") as stream:
        stream.truncate(100_000_000)
    project.write("small", "needle")
    assert (await project.ok("search", pattern="needle")).splitlines() == [
        "small:1: needle",
        "[Skipped files of more than 10 MiB: 1]",
    ]


async def test_one_file_can_be_searched_and_missing_paths_are_errors(project: Project) -> None:
    project.write("a/b", "needle")
    project.write("c", "needle")
    assert await project.ok("search", pattern="needle", path="a/b") == "a/b:1: needle"
    assert "no file or folder x" in await project.error("search", pattern="needle", path="x")
    assert "no folder x" in await project.error("list", path="x")
    assert "no folder c" in await project.error("list", path="c")
    assert await project.ok("search", pattern="absent") == "[There are no matches.]"
    (project.root / "empty").mkdir()
    assert await project.ok("list", path="empty") == "[There are no entries.]"


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?P<a>x)(?P<a>y)", "a{2,1}", "(" * 5000 + ")" * 5000])
async def test_an_invalid_expression_is_an_error(project: Project, pattern: str) -> None:
    assert "not valid" in await project.error("search", pattern=pattern, regex=True)


@BOUNDS
@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(.*)*Z", r"(a|aa)+$"])
async def test_a_hostile_expression_ends_and_keeps_what_was_found(
    project: Project, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(scanning, "SCAN_SECONDS", 0.5)
    project.write("a", "aaaZ\naaa")
    project.write("hostile", "a" * 100 + "!")
    begun = time.monotonic()
    lines = (await project.ok("search", pattern=pattern, regex=True)).splitlines()

    assert time.monotonic() - begun < 15
    assert lines[0].startswith("a:")
    assert "incomplete" in lines[-1]
    assert list_scans() == []


@BOUNDS
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of the process")
async def test_an_expression_that_needs_gigabytes_for_a_file_fails_only_there(project: Project) -> None:
    project.write("a", "ab" * 4_000_000)
    project.write("b", "needle c")
    lines = (await project.ok("search", pattern="(?:(a)|b)*c|needle", regex=True)).splitlines()
    assert lines == ["b:1: needle c", "[Skipped files for which the pattern is too complex: 1]"]


@BOUNDS
async def test_a_search_that_takes_too_long_says_so(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "SCAN_SECONDS", 0.0)
    project.write("a", "needle")
    assert "incomplete" in await project.ok("search", pattern="needle")
    assert "incomplete" in await project.ok("list")


@BOUNDS
async def test_a_list_that_is_too_long_ends_with_the_reason(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The output must exceed a pipe's buffer: otherwise, the process could end before it is killed.
    monkeypatch.setattr(scanning, "MAX_OUTPUT_BYTES", 50_000)
    for number in range(400):
        project.write(f"{'long' * 50}/{'name' * 50}/{'path' * 50}/{number}")
    lines = (await project.ok("list", recursive=True)).splitlines()
    assert len(lines) < 400
    assert lines[-1].startswith("[The result is incomplete, because it has more than")
    assert list_scans() == []


async def test_a_cancelled_search_ends_its_process(project: Project) -> None:
    project.write("hostile", "a" * 100 + "!")
    search = asyncio.create_task(project.run("search", pattern="(a+)+$", regex=True))
    assert await asyncio.to_thread(wait_for_a_scan)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert list_scans() == []


@BOUNDS
async def test_a_search_of_20_000_files_uses_little_processor_time_of_the_daemon(project: Project) -> None:
    file = project.write("text", "some text\n")
    for folder in range(200):
        (project.root / f"{folder:03}").mkdir()
        for number in range(100):
            (project.root / f"{folder:03}" / str(number)).hardlink_to(file)
    project.write("150/match", "needle\n")
    # Processor time does not depend on the load of the machine, and a search in a thread would take seconds.
    begun = time.process_time()
    assert await project.ok("search", pattern="n[e]edle", regex=True) == "150/match:1: needle"
    assert time.process_time() - begun < 0.25
