"""Log files do not grow without bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumpseat.system import log_files
from jumpseat.system.log_files import open_log


@pytest.fixture(autouse=True)
def shorten_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MAX_LOG_BYTES", 10)


def append(path: Path, text: bytes) -> None:
    descriptor = open_log(path)
    os.write(descriptor, text)
    os.close(descriptor)


def test_the_next_session_renames_a_long_file_and_its_writers_continue(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    append(log, b"older, and long\n")
    first = open_log(log)
    os.write(first, b"long enough\n")

    second = open_log(log)
    os.write(first, b"still here\n")
    os.write(second, b"new\n")
    os.close(first)
    os.close(second)
    assert log.read_bytes() == b"new\n"
    assert (tmp_path / "x.log.1").read_bytes() == b"long enough\nstill here\n"
    append(log, b"and it is continued\n")
    assert log.read_bytes() == b"new\nand it is continued\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_link_stays_and_its_file_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    link = tmp_path / "x.log"
    link.symlink_to(tmp_path / "logs" / "real.log")
    append(link, b"long enough\n")
    append(link, b"new\n")
    assert link.is_symlink()
    assert link.read_bytes() == b"new\n"
    assert (tmp_path / "logs" / "real.log.1").read_bytes() == b"long enough\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="this user may rename any file")
def test_a_file_that_cannot_be_renamed_is_continued(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    append(log, b"long enough\n")
    tmp_path.chmod(0o500)
    append(log, b"more\n")
    tmp_path.chmod(0o700)
    assert log.read_bytes() == b"long enough\nmore\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_file_that_is_not_regular_is_never_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MAX_LOG_BYTES", -1)  # A pipe has the size 0.
    log = tmp_path / "x.log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDWR | os.O_NONBLOCK)
    append(log, b"something\n")
    assert os.read(reader, 100) == b"something\n"
    os.close(reader)
    assert log.is_fifo()
    assert len(list(tmp_path.iterdir())) == 1
