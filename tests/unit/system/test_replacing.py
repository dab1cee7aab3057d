"""Files are replaced completely or not at all."""

from __future__ import annotations

import os
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jumpseat.system.replacing import replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and links")

NOBODY = 65534


@contextmanager
def as_ordinary_user(*directories: Path) -> Iterator[None]:
    """Run the block with the rights of a user other than root, who owns the directories from then on."""
    if os.geteuid() != 0:
        yield
        return
    for each in directories:
        os.chown(each, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Yield a directory that every user can enter; pytest's directories admit only the user who runs it."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    replace_file(link, b"new")

    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode), link.is_symlink()) == (b"new", 0o640, True)


def test_a_new_file_has_the_mode_that_other_programs_give_it(tmp_path: Path) -> None:
    replace_file(tmp_path / "ours", b"")
    (tmp_path / "theirs").touch()

    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_a_failure_leaves_the_old_content_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    file = tmp_path / "file"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(28)):
        replace_file(file, b"new")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_owner_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o4755)
    os.chown(file, 1234, 4321)
    replace_file(file, b"new")

    found = file.stat()
    assert (file.read_bytes(), found.st_uid, found.st_gid) == (b"new", 1234, 4321)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs a file of another owner")
def test_a_file_is_written_in_place_if_its_owner_cannot_be_copied(open_directory: Path) -> None:
    file = open_directory / "file"
    file.write_bytes(b"old and longer")
    file.chmod(0o666)
    inode = file.stat().st_ino
    with as_ordinary_user(open_directory):
        replace_file(file, b"new")

    found = file.stat()
    assert (file.read_bytes(), found.st_uid, found.st_ino) == (b"new", 0, inode)
    assert list(open_directory.iterdir()) == [file]


def test_hard_links_stay_links(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"old and longer")
    other.hardlink_to(file)
    replace_file(file, b"new")

    assert (other.read_bytes(), file.samefile(other)) == (b"new", True)


@pytest.mark.skipif(sys.platform != "linux", reason="attributes as Linux has them")
def test_a_file_keeps_its_access_list_without_that_of_the_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    # After the version, 2, each entry has a tag, permissions and an id: owner, user, group, mask, others.
    anyone = 0xFFFFFFFF
    rows = [(1, 6, anyone), (2, 6, 1234), (4, 4, anyone), (16, 6, anyone), (32, 0, anyone)]
    access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)
    try:
        os.setxattr(file, "system.posix_acl_access", access_list)
    except OSError:
        pytest.skip("the file system has no access lists")
    replace_file(file, b"new")
    assert os.getxattr(file, "system.posix_acl_access") == access_list

    os.removexattr(file, "system.posix_acl_access")
    os.setxattr(tmp_path, "system.posix_acl_default", access_list)
    replace_file(file, b"newer")
    assert (file.read_bytes(), os.listxattr(file)) == (b"newer", [])


def test_a_file_in_a_directory_that_cannot_be_written_is_written_in_place(open_directory: Path) -> None:
    directory = open_directory / "directory"
    directory.mkdir()
    file = directory / "file"
    file.write_bytes(b"old")
    directory.chmod(0o555)
    with as_ordinary_user(file):
        replace_file(file, b"new")
    directory.chmod(0o755)

    assert file.read_bytes() == b"new"


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        replace_file(file, b"new")

    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"old", [file])


def test_a_failed_write_in_place_restores_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"old")
    other.hardlink_to(file)
    truncate = os.ftruncate

    def fail_once(descriptor: int, size: int) -> None:
        monkeypatch.setattr(os, "ftruncate", truncate)
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "ftruncate", fail_once)
    with pytest.raises(OSError, match=os.strerror(28)):
        replace_file(file, b"new and longer")

    assert other.read_bytes() == b"old"
