"""`.gitignore` ignores the same files as in Git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from jumpseat.system.folder import Folder
from jumpseat.tools.files.walking import Walk

pytestmark = pytest.mark.requirement("12:files-ignored")

FILES = (
    "a.log",
    "keep.log",
    "build/a.o",
    "build/keep/a.o",
    "src/build/a.o",
    "src/main.c",
    "src/main.o",
    "src/generated/a.c",
    "src/generated/deep/a.c",
    "src/keep.log",
    "src/deep/a.log",
    "src/deep/keep.log",
    "src/deep/local.txt",
    "docs/a.md",
    "docs/b.md",
    "docs/private/a.md",
    "docs/private/public.md",
    "cache/x",
    "cachefile",
    "a b.txt",
    "trailing ",
    "#hash",
    "!bang",
    "brackets[1].txt",
    "bracketsX.txt",
    "Größe.txt",
    "foo/bar/baz/x",
    "foo/baz/x",
    "foo/x",
    "one/two/three.txt",
    "secret.exclude",
    "a\\b",
)

RULES = {
    "plain": {".gitignore": "*.log\n!keep.log\n# comment\n\nbuild/\n"},
    "anchored": {".gitignore": "/build\n/src/*.o\ndocs/*.md\n"},
    "stars": {".gitignore": "**/generated/*.c\nfoo/**/x\n**/deep\n*.tx?\n"},
    "directories only": {".gitignore": "cache*/\nprivate/\n"},
    "parents stay ignored": {".gitignore": "build/\n!build/keep/\n!build/keep/a.o\n"},
    "everything but": {".gitignore": "/*\n!/docs\n/docs/*\n!/docs/private/\n"},
    "nested": {
        ".gitignore": "*.log\nlocal.txt\n",
        "src/.gitignore": "!keep.log\n/main.o\nbuild\n",
        "src/deep/.gitignore": "keep.log\n!local.txt\n",
    },
    "nested anchors": {"src/.gitignore": "/deep/a.log\ngenerated/deep\n"},
    "escapes": {".gitignore": "\\#hash\n\\!bang\ntrailing\\ \nbrackets\\[1].txt\na\\\\b\n"},
    "brackets": {".gitignore": "brackets[X-Z].txt\n[!a-z]*\n"},
    "spaces": {".gitignore": "a b.txt   \ntrailing \n"},
    "windows line endings": {".gitignore": "*.log\r\nbuild/\r\n"},
    "byte order mark": {".gitignore": "\ufeff*.log\n"},
    "other letters": {".gitignore": "Gr*.txt\n"},
    "exclude": {".git/info/exclude": "*.exclude\ndocs/\n*.log\n", ".gitignore": "!keep.log\n"},
    "middle slash": {".gitignore": "deep/a.log\nsrc/deep\n"},
    "one star": {".gitignore": "*\n!*.c\n!*/\n"},
    "contents": {".gitignore": "docs/**\n!docs/a.md\nsrc/**/\n!src/deep/\n"},
    "last match": {".gitignore": "*.log\n!keep.log\nsrc/keep.log\n!src/\n"},
    "invalid line": {".gitignore": "*.log\n!\n/\nbuild\n"},
}


def write_tree(root: Path, files: Iterable[str], rules: dict[str, str]) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    for name, text in rules.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())


def walk(root: Path, start: str = "") -> set[str]:
    """Return the files below a folder, relative to the root."""
    entries = Walk(root / start, recursive=True, unsaved={})
    return {
        entry.path.relative_to(root).as_posix()
        for entry in entries
        if entry.kind == "file" and entry.name != ".gitignore"
    }


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return an empty Git repository."""
    environment = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    root = tmp_path / "repository"
    try:
        subprocess.run(["git", "init", "-q", str(root)], check=True, env=environment, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("Git is not installed")
    (root / ".git/info/exclude").unlink(missing_ok=True)
    return root


def list_with_git(root: Path) -> set[str]:
    environment = {"HOME": str(root.parent), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    command = ["git", "-C", str(root), "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, env=environment, capture_output=True).stdout.decode()
    return {name for name in listed.split("\0") if name and not name.endswith(".gitignore")}


@pytest.mark.parametrize("name", RULES)
def test_a_walk_finds_the_files_that_git_finds(repository: Path, name: str) -> None:
    write_tree(repository, FILES, RULES[name])
    assert walk(repository) == list_with_git(repository)


def test_a_walk_that_starts_in_a_subfolder_uses_the_rules_above_it(repository: Path) -> None:
    rules = {".gitignore": "*.log\n/src/main.o\n", ".git/info/exclude": "local.txt\n"}
    write_tree(repository, FILES, rules)
    expected = {name for name in list_with_git(repository) if name.startswith("src/")}

    assert walk(repository, "src") == expected
    assert "src/main.o" not in expected


def test_a_folder_that_is_ignored_is_walked_if_it_is_named(tmp_path: Path) -> None:
    write_tree(tmp_path, ("build/a", "build/a.log", ".git/HEAD"), {".gitignore": "build/\n*.log\n"})
    assert walk(tmp_path) == set()
    assert walk(tmp_path, "build") == {"build/a"}


def test_without_a_repository_rules_above_the_folder_do_not_apply(tmp_path: Path) -> None:
    write_tree(
        tmp_path, ("project/a.log", "project/b.log"), {".gitignore": "*", "project/.gitignore": "a.log"}
    )
    assert walk(tmp_path / "project") == {"b.log"}


def test_the_directory_of_git_is_never_walked(repository: Path) -> None:
    write_tree(repository, ("a", "sub/.git/config"), {})
    assert walk(repository) == {"a"}


def test_rules_that_are_a_link_or_a_pipe_are_not_read(tmp_path: Path) -> None:
    write_tree(tmp_path, ("one/a", "two/a", "rules"), {"rules": "a\n"})
    (tmp_path / "one/.gitignore").symlink_to("../rules")
    os.mkfifo(tmp_path / "two/.gitignore")
    assert walk(tmp_path) == {"one/a", "two/a", "rules"}


def test_a_folder_that_is_replaced_by_a_link_during_the_walk_is_not_entered(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write_tree(root, ("a", "dir/b"), {})
    write_tree(outside, ("secret",), {})
    names = []
    found = Walk(root, recursive=True, unsaved={})
    for entry in found:
        names.append(entry.name)
        if entry.name == "dir":
            (root / "dir").rename(tmp_path / "moved")
            (root / "dir").symlink_to(outside)

    assert (names, found.unreadable) == (["a", "dir"], 1)


def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    write_tree(tmp_path, ("dir/a",), {})
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "file").symlink_to("dir/a")
    entries = [
        (entry.path.relative_to(tmp_path).as_posix(), entry.kind)
        for entry in Walk(tmp_path, recursive=True, unsaved={})
    ]
    assert entries == [("dir", "folder"), ("file", "link"), ("loop", "link"), ("dir/a", "file")]


def test_no_descriptor_is_left_open_if_a_walk_ends_early(tmp_path: Path) -> None:
    write_tree(tmp_path, ("a", "dir/b"), {".gitignore": "x"})
    before = set(Path("/dev/fd").iterdir())
    for _ in Walk(tmp_path, recursive=True, unsaved={}):
        break
    with Folder.open(tmp_path):
        pass
    assert set(Path("/dev/fd").iterdir()) == before
