"""The input history is private and persistent, and is written only if that is allowed."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from jumpseat_cli.repl.history import MAX_BYTES, InputHistory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "chat-history"


def test_multiline_inputs_are_restored_in_order(path: Path) -> None:
    history = InputHistory(path, keep=True)
    history.allow_writing()
    for text in ("one", "two\nlines", "wörter 🙂", "/model x"):
        history.add(text)

    assert InputHistory(path, keep=True).read() == ["one", "two\nlines", "wörter 🙂", "/model x"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_only_the_user_can_read_the_file_and_its_directory(path: Path) -> None:
    history = InputHistory(path, keep=True)
    history.allow_writing()
    history.add("one")
    path.chmod(0o644)
    history.add("two")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_inputs_are_not_written_before_writing_is_allowed(path: Path) -> None:
    history = InputHistory(path, keep=True)
    history.add("one")
    assert not path.exists()
    history.allow_writing()

    assert history.read() == ["one"]


def test_inputs_are_not_written_after_writing_is_forbidden(path: Path) -> None:
    history = InputHistory(path, keep=True)
    history.add("one")
    history.forbid_writing()
    history.allow_writing()
    history.add("two")

    assert not path.exists()


def test_without_keep_the_file_is_only_read(path: Path) -> None:
    before = InputHistory(path, keep=True)
    before.allow_writing()
    before.add("one")
    history = InputHistory(path, keep=False)
    history.allow_writing()
    history.add("two")

    assert history.read() == ["one"]


def test_a_damaged_line_is_skipped(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'"one"\n{broken\n3\n\xff\n"two"\n"cut off')

    assert InputHistory(path, keep=True).read() == ["one", "two"]


def test_a_long_file_is_cut_to_its_last_half(path: Path) -> None:
    path.parent.mkdir()
    count = MAX_BYTES // 100
    path.write_text("".join(json.dumps(f"{number:098}") + "\n" for number in range(count + 1)), "utf-8")
    inputs = InputHistory(path, keep=True).read()

    assert path.stat().st_size <= MAX_BYTES // 2
    assert int(inputs[-1]) == count
    assert InputHistory(path, keep=True).read() == inputs
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_an_unwritable_directory_is_not_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", "utf-8")
    history = InputHistory(file / "chat-history", keep=True)
    history.allow_writing()
    history.add("one")

    assert history.read() == []
