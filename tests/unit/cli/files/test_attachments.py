"""Files and images that are attached to a question."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from jumpseat_cli.files import attachments
from jumpseat_cli.files.attachments import read_attachments, read_files, read_image
from jumpseat_cli.files.lines import CannotUse

PNG = b"\x89PNG\r\n\x1a\n\0"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_a_context_block_with_its_address_and_language(directory: Path) -> None:
    (directory / "a b.py").write_bytes(b"x = 1\r\ny = '\xc3\xa9'")

    assert read_files("a b.py") == [
        {
            "type": "context",
            "text": "x = 1\r\ny = 'é'",
            "uri": (directory / "a b.py").as_uri(),
            "languageId": "python",
        }
    ]


@pytest.mark.parametrize(
    ("name", "language"),
    [("a.rs", "rust"), ("a.YML", "yaml"), ("a.go", "go"), ("a.tar.gz", "gz"), ("Makefile", None)],
)
def test_the_language_is_the_lsp_id_or_the_extension(
    directory: Path, name: str, language: str | None
) -> None:
    (directory / name).write_text("x", "utf-8")

    assert read_files(name)[0].get("languageId") == language


def test_a_part_of_a_file_has_its_range(directory: Path) -> None:
    (directory / "a.txt").write_bytes(b"one\ntwo\nthree\x0c\nfour")
    (block,) = read_files("a.txt:2-3")

    assert block["text"] == "two\nthree\x0c\n"
    assert block["range"] == {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}}


def test_a_file_whose_name_looks_like_a_range_or_a_pattern_is_read_whole(directory: Path) -> None:
    for name in ("a:3", "[x].txt"):
        (directory / name).write_text(name, "utf-8")
        (block,) = read_files(name)
        assert (block["text"], block.get("range")) == (name, None)


def test_a_pattern_matches_sorted_files_except_hidden_ones(directory: Path) -> None:
    for name in ("b.py", "a.py", ".hidden.py", "sub/c.py", "sub/d.txt"):
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(f"{name}\n", "utf-8")

    assert [block["text"] for block in read_files("*.py")] == ["a.py\n", "b.py\n"]
    assert [block["text"] for block in read_files("**/*.py")] == ["a.py\n", "b.py\n", "sub/c.py\n"]
    assert [block["range"]["end"]["line"] for block in read_files("*.py:1")] == [1, 1]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("none.py", "There is no file none.py."),
        ("none.py:3", "There is no file none.py."),
        ("*.none", "No file matches *.none."),
        ("sub", "sub is not a file."),
        ("a.txt:3", "a.txt has 2 lines; line 3 does not exist."),
        ("binary", "binary is not UTF-8 text."),
        ("x" * 5000, None),
        ("a\0b", None),
    ],
)
def test_unusable_files_are_reported(directory: Path, argument: str, message: str | None) -> None:
    (directory / "sub").mkdir()
    (directory / "a.txt").write_text("one\ntwo\n", "utf-8")
    (directory / "binary").write_bytes(b"\xff\xfe\0")

    with pytest.raises(CannotUse) as caught:
        read_files(argument)
    if message is not None:
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\n\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_the_type_of_an_image_is_detected_from_its_content(
    directory: Path, data: bytes, media_type: str
) -> None:
    (directory / "a.txt").write_bytes(data)

    assert read_image("a.txt") == {
        "type": "image",
        "source": base64.b64encode(data).decode(),
        "mediaType": media_type,
    }


@pytest.mark.requirement("2:documents")
def test_a_pdf_is_attached_as_a_document(directory: Path) -> None:
    (directory / "a.pdf").write_bytes(b"%PDF-1.7")

    assert read_image("a.pdf") == {
        "type": "document",
        "source": base64.b64encode(b"%PDF-1.7").decode(),
        "mediaType": "application/pdf",
        "name": "a.pdf",
    }


@pytest.mark.parametrize("address", ["https://example.com/a.png", "data:image/png;base64,iVBORw0K"])
def test_the_address_of_an_image_is_passed_on(address: str) -> None:
    assert read_image(address) == {"type": "image", "source": address}


@pytest.mark.parametrize(
    "address", ["http://example.com/a.png", "https://", "data:image/png;base64,%%", "data:text/plain,x"]
)
def test_an_address_that_the_daemon_refuses_is_reported_as_typed(address: str) -> None:
    with pytest.raises(CannotUse) as failed:
        read_image(address)
    assert str(failed.value).startswith(f"{address} is neither the https:// address of an image")


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"RIFF\0\0\0\0WAVE"])
def test_a_file_that_is_not_an_image_is_reported(directory: Path, data: bytes) -> None:
    (directory / "a.png").write_bytes(data)

    with pytest.raises(CannotUse, match="PNG, JPEG, GIF or WebP"):
        read_image("a.png")


def test_files_that_are_too_large_are_reported(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (directory / "a.txt").write_bytes(b"x" * 2**20)
    (directory / "a.png").write_bytes(PNG * 2**17)
    everything: Any = (("a.txt",), ("a.png",))
    assert len(read_attachments(*everything)) == 2

    monkeypatch.setattr(attachments, "MAX_IMAGE_BYTES", 2**20)
    with pytest.raises(CannotUse, match=r"a\.png is larger than 1 MiB"):
        read_attachments(*everything)
    monkeypatch.setattr(attachments, "MAX_FILE_BYTES", 2**20 - 1)
    with pytest.raises(CannotUse, match=r"a\.txt is larger"):
        read_attachments(*everything)
