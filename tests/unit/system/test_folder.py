"""Files are reached through open directories, which nobody can redirect."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jumpseat.system.folder import Folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses descriptors of directories")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def read(folder: Folder, name: str) -> bytes:
    descriptor = folder.open_regular(name)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def test_a_folder_stays_the_same_if_its_path_becomes_a_link(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for each in (inside, outside):
        each.mkdir()
        (each / "file").write_text(each.name)
    with Folder.open(inside) as folder:
        inside.rename(tmp_path / "moved")
        inside.symlink_to(outside)

        assert read(folder, "file") == b"inside"
        assert [entry.name for entry in folder.scan()] == ["file"]
        status = folder.find_status("file")
        assert status is not None
        assert os.path.samestat(status, (tmp_path / "moved" / "file").stat())


@pytest.mark.parametrize("link", ["a", "a/b", "a/b/file"])
def test_a_link_anywhere_on_the_path_is_refused(tmp_path: Path, link: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("secret")
    (tmp_path / link).rename(tmp_path / "moved")
    (tmp_path / link).symlink_to(tmp_path / "moved")

    refusal = r"Not a directory|Too many levels of symbolic links"
    with pytest.raises(OSError, match=refusal), Folder.open(tmp_path / "a/b") as folder:
        folder.open_regular("file")
    with pytest.raises(OSError), Folder.open(tmp_path) as folder, folder.enter("a", "b") as inner:
        inner.open_regular("file")


def test_missing_folders_are_created_with_the_umask_of_the_client(tmp_path: Path) -> None:
    with umask(0o077), Folder.open(tmp_path / "a/b", create=True, umask=0o022):
        pass
    with umask(0o027), Folder.open(tmp_path / "c", create=True):
        pass

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "c")]
    assert modes == [0o755, 0o755, 0o750]


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(0o700)
    with Folder.open(tmp_path / "a", create=True, umask=0):
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_missing_entry_has_no_status(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    with Folder.open(tmp_path) as folder:
        assert folder.find_status("missing") is None
        link = folder.find_status("dangling")
        assert link is not None
        assert stat.S_ISLNK(link.st_mode)


def test_opening_a_named_pipe_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Folder.open(tmp_path) as folder, pytest.raises(OSError, match="not a regular file"):
        folder.open_regular("pipe")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    before = set(Path("/dev/fd").iterdir())
    with Folder.open(tmp_path / "a", create=True) as folder, folder.enter("b") as inner:
        list(inner.scan())
    with pytest.raises(FileNotFoundError):
        Folder.open(tmp_path / "a/b/c")
    with Folder.open(tmp_path) as folder, pytest.raises(FileNotFoundError):
        folder.enter("a", "c")

    assert set(Path("/dev/fd").iterdir()) == before
