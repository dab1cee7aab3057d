"""Files are replaced as a whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from jumpseat_client.cli.files import replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and links")


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
