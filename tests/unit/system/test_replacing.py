"""Files are replaced completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jumpseat.system.folder import Folder
from jumpseat.system.replacing import FileChangedError, replace_entry, replace_file
from tests.disks import mount_small_disk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses POSIX modes and links")

NOBODY = 65534


@contextmanager
def as_ordinary_user(*paths: Path) -> Iterator[None]:
    """Run the block without the rights of root. A root process first gives the paths to `NOBODY`."""
    if os.geteuid() != 0:
        yield
        return
    for each in paths:
        os.chown(each, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def accessible_directory() -> Iterator[Path]:
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
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "file"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        replace_file(file, b"new")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_another_owner_keeps_its_owner_and_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    os.chown(file, 1234, 4321)
    file.chmod(0o4755)  # This must follow: changing the owner clears the set-user-ID bit.
    replace_file(file, b"new")

    found = file.stat()
    assert (file.read_bytes(), found.st_uid, found.st_gid) == (b"new", 1234, 4321)
    assert stat.S_IMODE(found.st_mode) == 0o4755


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs a file of another owner")
def test_a_file_is_written_in_place_if_its_owner_cannot_be_copied(accessible_directory: Path) -> None:
    file = accessible_directory / "file"
    file.write_bytes(b"old and longer")
    file.chmod(0o666)
    inode = file.stat().st_ino
    with as_ordinary_user(accessible_directory):
        replace_file(file, b"new")

    found = file.stat()
    assert (file.read_bytes(), found.st_uid, found.st_ino) == (b"new", 0, inode)
    assert list(accessible_directory.iterdir()) == [file]


def test_hard_links_stay_links(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"old and longer")
    other.hardlink_to(file)
    replace_file(file, b"new")

    assert (other.read_bytes(), file.samefile(other)) == (b"new", True)


@pytest.mark.skipif(sys.platform != "linux", reason="uses the extended attributes of Linux")
def test_a_file_keeps_its_access_list_and_does_not_inherit_one(tmp_path: Path) -> None:
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


def test_a_file_in_a_directory_that_cannot_be_written_is_written_in_place(accessible_directory: Path) -> None:
    directory = accessible_directory / "directory"
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
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "ftruncate", fail_once)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        replace_file(file, b"new and longer")

    assert other.read_bytes() == b"old"


# -- a file in an open folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mount_small_disk(tmp_path / "disk") as disk:
        yield disk


def change_during_write(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Call a function once while new content is being written."""
    fsync = os.fsync

    def interrupt(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        fsync(descriptor)
        change()

    monkeypatch.setattr(os, "fsync", interrupt)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def rewrite(file: Path) -> None:
    """Write the same number of bytes, and make the file's time a nanosecond later."""
    before = file.stat()
    file.write_bytes(b"OLD")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def exchange(file: Path) -> None:
    """Replace the file with another one of the same size and time."""
    before = file.stat()
    other = file.with_name("other")
    other.write_bytes(b"OLD")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("change", [rewrite, exchange, lambda file: file.unlink()])
def test_a_file_that_has_changed_is_left_alone(
    tmp_path: Path, links: int, change: Callable[[Path], object]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    if links == 2:
        (tmp_path / "link").hardlink_to(file)
    with Folder.open(tmp_path) as folder:
        before = folder.find_status("file")
        change(file)
        expected = contents(tmp_path)
        with pytest.raises(OSError):
            replace_entry(folder, "file", b"new", before)

    assert contents(tmp_path) == expected


@pytest.mark.parametrize("change", [rewrite, exchange, lambda file: file.unlink()])
def test_a_file_that_changes_during_the_write_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    change_during_write(monkeypatch, lambda: change(file))
    with Folder.open(tmp_path) as folder, pytest.raises(FileChangedError, match="another program"):
        replace_entry(folder, "file", b"new", folder.find_status("file"))

    assert contents(tmp_path) == ({"file": b"OLD"} if file.exists() else {})


@pytest.mark.parametrize("is_early", [True, False], ids=["before the call", "during the write"])
def test_a_new_file_does_not_replace_one_that_has_appeared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    file = tmp_path / "file"
    if is_early:
        file.write_bytes(b"theirs")
    else:
        change_during_write(monkeypatch, lambda: file.write_bytes(b"theirs"))
    with Folder.open(tmp_path) as folder, pytest.raises(FileChangedError):
        replace_entry(folder, "file", b"ours", None)

    assert contents(tmp_path) == {"file": b"theirs"}


def test_a_directory_that_becomes_a_link_does_not_redirect_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside, moved = (tmp_path / name for name in ("inside", "outside", "moved"))
    for each in (inside, outside):
        each.mkdir()
        (each / "file").write_bytes(b"old")

    def redirect() -> None:
        inside.rename(moved)
        inside.symlink_to(outside)

    change_during_write(monkeypatch, redirect)
    with Folder.open(inside) as folder:
        replace_entry(folder, "file", b"new", folder.find_status("file"))

    assert (contents(moved), contents(outside)) == ({"file": b"new"}, {"file": b"old"})


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_a_new_file_has_the_umask_of_the_client(tmp_path: Path, umask: int, mode: int) -> None:
    own = os.umask(0o077)
    try:
        with Folder.open(tmp_path) as folder:
            replace_entry(folder, "file", b"", None, umask=umask)
    finally:
        os.umask(own)

    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


@pytest.mark.parametrize("links", [1, 2])
def test_a_full_disk_leaves_the_old_content_and_no_other_file(small_disk: Path, links: int) -> None:
    file = small_disk / "file"
    old = b"o" * 30_000
    file.write_bytes(old)
    names = ["file", "link"][:links]
    if links == 2:
        (small_disk / "link").hardlink_to(file)
    with Folder.open(small_disk) as folder, pytest.raises(OSError, match="No space left"):
        replace_entry(folder, "file", b"n" * 100_000, folder.find_status("file"))

    assert contents(small_disk) == dict.fromkeys(names, old)


def test_a_file_with_the_longest_name_can_be_replaced(tmp_path: Path) -> None:
    name = "n" * 255
    with Folder.open(tmp_path) as folder:
        replace_entry(folder, name, b"new", None)

    assert contents(tmp_path) == {name: b"new"}
