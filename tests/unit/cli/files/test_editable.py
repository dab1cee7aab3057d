"""A file to edit: its lines, its encoding, the diff."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from jumpseat_cli.files.editable import read_piece
from jumpseat_cli.files.lines import CannotUse

TEXT = "one\ntwo \x0c\nthree\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode())
    return path


def test_a_file_whose_name_ends_like_a_range_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "notes:2"
    path.write_bytes(b"x")
    assert read_piece(str(path), None).text == "x"
    assert read_piece(f"{path}:1", None).text == "x"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp1250"]
)
def test_an_encoding_and_its_mark_survive_a_change(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    mark = "\ufeff" if encoding.startswith(("utf-16", "utf-32")) else ""
    path.write_bytes(f"{mark}žluť\r\nkůň\r\n".encode(encoding))
    piece = read_piece(f"{path}:2", encoding if encoding == "cp1250" else None)
    assert piece.text == "kůň\r\n"
    piece.write("řeka\r\n")

    assert path.read_bytes() == f"{mark}žluť\r\nřeka\r\n".encode(encoding)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", r"There is no file .*missing"),
        (".", "is not a file"),
        ("binary", "is not UTF-8 text"),
        ("text:2", "line 2 does not exist"),
    ],
)
def test_unusable_files_and_ranges_are_reported(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "binary").write_bytes(b"\x80\x81")
    (tmp_path / "text").write_bytes(b"one\n")
    with pytest.raises(CannotUse, match=words):
        read_piece(str(tmp_path / name), None)


def test_the_place_of_the_text_is_in_the_block(file: Path) -> None:
    block = read_piece(f"{file}:2-3", None).target
    assert block == {
        "text": "two \x0c\nthree\n",
        "uri": file.as_uri(),
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}},
    }


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no `patch` here")
def test_a_diff_can_be_applied(file: Path) -> None:
    piece = read_piece(f"{file}:2", None)
    lines = list(piece.diff("zwei\n\n"))
    assert lines[3:] == [" one", "-two \x0c", "+zwei", "+", " three"]
    patched = subprocess.run(
        ["patch", "-s", "-o", "-", str(file)],
        input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=True, timeout=20,
    )  # fmt: skip
    assert patched.stdout == "one\nzwei\n\nthree\n"
