"""Sign-ins of editors: every known format, read without changing the editors' files."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.github.sign_in.editors import copilot_directory, find_editor_sign_ins
from tests.environments import environment_with

APP = "Iv1.b507a08c87ecfe98"


def find_sign_ins(directory: Path, authority: str = "github.com") -> list[tuple[str, str, str | None]]:
    sign_ins, _ = find_editor_sign_ins(directory, authority)
    return [(each.source, each.token.reveal(), each.login) for each in sign_ins]


def notes(directory: Path) -> list[str]:
    return find_editor_sign_ins(directory, "github.com")[1]


def put(path: Path, content: Any) -> None:
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def create_database(
    path: Path,
    rows: list[tuple[Any, ...]],
    columns: str = "auth_authority, token_ciphertext, token_schema_version",
) -> None:
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute(f"CREATE TABLE oauth_tokens ({columns})")
        marks = ", ".join("?" * len(columns.split(",")))
        made.executemany(f"INSERT INTO oauth_tokens VALUES ({marks})", rows)
        made.commit()


def snapshot(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}


@pytest.mark.requirement("8:sign-ins-of-editors")
@pytest.mark.parametrize(
    ("name", "key"),
    [("hosts.json", "github.com"), ("apps.json", f"github.com:{APP}"), ("apps.json", "github.com")],
)
def test_a_json_file_is_read(tmp_path: Path, name: str, key: str) -> None:
    put(tmp_path / name, {key: {"user": "octocat", "oauth_token": "ghu_canary1", "githubAppId": APP}})

    assert find_sign_ins(tmp_path) == [(name, "ghu_canary1", "octocat")]


@pytest.mark.requirement("8:sign-ins-of-editors", "8:credential-host")
@pytest.mark.parametrize(
    "key",
    ["github.com.evil.example", "acme.ghe.com", "xgithub.com", "github.com:8443", "github.co", "", "GITHUB"],
)
def test_another_hosts_token_is_skipped(tmp_path: Path, key: str) -> None:
    put(tmp_path / "hosts.json", {key: {"oauth_token": "ghu_canary1"}})

    assert find_sign_ins(tmp_path) == []


def test_a_tenants_token_is_found_for_the_tenant(tmp_path: Path) -> None:
    put(tmp_path / "apps.json", {f"acme.ghe.com:{APP}": {"oauth_token": "ghu_canary1"}})

    assert find_sign_ins(tmp_path, "acme.ghe.com") == [("apps.json", "ghu_canary1", None)]


@pytest.mark.requirement("8:sign-ins-of-editors")
@pytest.mark.parametrize("content", ["", "{", "[]", "7", '"x"', "\x00", "[" * 100_000, '{"github.com":'])
@pytest.mark.parametrize("name", ["hosts.json", "apps.json", "auth.db"])
def test_a_broken_file_causes_a_note_instead_of_an_error(tmp_path: Path, name: str, content: str) -> None:
    put(tmp_path / name, content)
    put(
        tmp_path / ("apps.json" if name == "hosts.json" else "hosts.json"),
        {"github.com": {"oauth_token": "ghu_good0"}},
    )

    assert [token for _, token, _ in find_sign_ins(tmp_path)] == ["ghu_good0"]
    assert any(name in note for note in notes(tmp_path))


@pytest.mark.parametrize(
    "entry",
    [
        None,
        7,
        [],
        {},
        {"oauth_token": None},
        {"oauth_token": ""},
        {"oauth_token": "x1"},
        {"oauth_token": "ghu_é0000"},
    ],
)
def test_an_entry_without_a_token_is_skipped(tmp_path: Path, entry: Any) -> None:
    put(tmp_path / "hosts.json", {"github.com": entry})

    assert find_sign_ins(tmp_path) == []


def test_missing_files_do_not_cause_notes(tmp_path: Path) -> None:
    assert find_editor_sign_ins(tmp_path / "nowhere", "github.com") == ([], [])


def test_a_file_that_cannot_be_opened_gives_a_note(tmp_path: Path) -> None:
    (tmp_path / "hosts.json").mkdir()

    assert notes(tmp_path) == [f"hosts.json in {tmp_path} cannot be read."]


@pytest.mark.requirement("8:sign-ins-of-editors")
@pytest.mark.parametrize("value", [b"ghu_canary1", "ghu_canary1"])
def test_a_row_in_clear_text_is_read(tmp_path: Path, value: bytes | str) -> None:
    create_database(tmp_path / "auth.db", [("acme.ghe.com", b"ghu_other", 0), ("github.com", value, 0)])

    assert find_sign_ins(tmp_path) == [("auth.db", "ghu_canary1", None)]
    assert notes(tmp_path) == []


def test_a_database_without_versions_is_read(tmp_path: Path) -> None:
    create_database(
        tmp_path / "auth.db", [("github.com", b"ghu_canary1")], "auth_authority, token_ciphertext"
    )

    assert find_sign_ins(tmp_path) == [("auth.db", "ghu_canary1", None)]


@pytest.mark.timeout(20)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="uses POSIX named pipes")
def test_a_pipe_without_a_writer_causes_a_note_immediately(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "apps.json")

    assert notes(tmp_path) == [f"apps.json in {tmp_path} cannot be read."]


@pytest.mark.requirement("8:sign-ins-of-editors")
@pytest.mark.parametrize("row", [("github.com", b"ghu_looks_clear", 1), ("github.com", bytes(range(40)), 0)])
def test_an_encrypted_row_gives_a_note(tmp_path: Path, row: tuple[Any, ...]) -> None:
    create_database(tmp_path / "auth.db", [row])

    assert find_sign_ins(tmp_path) == []
    assert notes(tmp_path) == [
        "An editor's sign-in in auth.db is encrypted for that editor and cannot be used."
    ]


def test_another_schema_gives_a_note(tmp_path: Path) -> None:
    create_database(tmp_path / "auth.db", [("a", "b")], "host, token")

    assert notes(tmp_path) == [f"auth.db in {tmp_path} cannot be read."]


@pytest.mark.requirement("8:sign-ins-of-editors")
def test_files_are_not_created_beside_the_database(tmp_path: Path) -> None:
    create_database(tmp_path / "auth.db", [("github.com", b"ghu_canary1", 0)])
    with contextlib.closing(sqlite3.connect(tmp_path / "auth.db")) as made:
        made.execute("PRAGMA journal_mode=WAL")
    before = snapshot(tmp_path)
    assert set(before) == {"auth.db"}

    assert find_sign_ins(tmp_path) == [("auth.db", "ghu_canary1", None)]
    assert snapshot(tmp_path) == before


WRITER = """\
import os, sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("PRAGMA journal_mode=WAL")
writer.execute("PRAGMA wal_autocheckpoint=0")
writer.execute("CREATE TABLE oauth_tokens (auth_authority, token_ciphertext, token_schema_version)")
writer.execute("INSERT INTO oauth_tokens VALUES ('github.com', ?, 0)", (b"ghu_canary1",))
print("written", flush=True)
sys.stdin.read()
os._exit(0)
"""
"""A program that writes a sign-in to the write-ahead log. `os._exit` leaves the log as it is."""


@pytest.mark.requirement("8:sign-ins-of-editors")
@pytest.mark.parametrize("writer_runs", [True, False])
def test_a_sign_in_in_the_write_ahead_log_is_found_and_the_log_unchanged(
    tmp_path: Path, writer_runs: bool
) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "auth.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == b"written"
        if not writer_runs:
            writer.communicate(timeout=60)
        before = snapshot(tmp_path)
        assert set(before) == {"auth.db", "auth.db-wal", "auth.db-shm"}

        assert find_sign_ins(tmp_path) == [("auth.db", "ghu_canary1", None)]
        assert snapshot(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX modes")
def test_the_database_in_a_directory_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    directory = tmp_path / "theirs"
    directory.mkdir()
    create_database(directory / "auth.db", [("github.com", b"ghu_canary1", 0)])
    (directory / "auth.db").chmod(stat.S_IRUSR)
    directory.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert find_sign_ins(directory) == [("auth.db", "ghu_canary1", None)]
    finally:
        directory.chmod(0o700)


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "linux", Path("/x/github-copilot")),
        ({"HOME": "/h"}, "linux", Path("/h/.config/github-copilot")),
        ({"HOME": "/h"}, "darwin", Path("/h/.config/github-copilot")),
        ({"LOCALAPPDATA": "/l", "USERPROFILE": "/u"}, "win32", Path("/l/github-copilot")),
        ({"USERPROFILE": "/u"}, "win32", Path("/u/AppData/Local/github-copilot")),
        ({}, "linux", None),
        ({}, "win32", None),
    ],
)
def test_the_directory_is_found_on_each_system(
    environ: dict[str, str], platform: str, expected: Path | None
) -> None:
    assert copilot_directory(environment_with(environ), platform) == expected
