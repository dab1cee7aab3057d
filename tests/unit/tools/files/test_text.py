"""Texts keep their encoding and line endings; all else is binary."""

from __future__ import annotations

import pytest

from jumpseat.tools.files.text import (
    NotTextError,
    TextForm,
    convert_line_endings,
    decode,
    digest_text,
    find_line_ending,
    normalize,
)

pytestmark = pytest.mark.requirement("12:files-encoding")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"plain\n",
        "Größe ✓ 😀\r\n".encode(),
        b"\xef\xbb\xbfmarked",
        b"\xff\xfe" + "Größe 😀".encode("utf-16-le"),
        b"\xfe\xff" + "Größe 😀".encode("utf-16-be"),
        b"\xff\xfe",
    ],
)
def test_a_text_is_written_as_it_was_read(content: bytes) -> None:
    text, form = decode(content)
    assert form.encode(text) == content
    assert not text.startswith("\ufeff")


@pytest.mark.parametrize(
    "content",
    [
        b"caf\xe9",
        b"\xed\xa0\x80",
        b"PK\x03\x04\x00\x00",
        "no mark".encode("utf-16-le"),
        b"\xff\xfeodd",
        b"\xff\xfe\x00\x00" + "text".encode("utf-32-le"),
        "ends in the middle ✓".encode()[:-1],
    ],
)
def test_other_bytes_are_binary(content: bytes) -> None:
    with pytest.raises(NotTextError):
        decode(content)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_decoded_in_pieces_of_any_size(size: int, encoding: str) -> None:
    content = "a✓😀\r\nb".encode(encoding)
    form = TextForm.detect(content[:3])
    chunks = [content[:3], *(content[start : start + size] for start in range(3, len(content), size))]

    assert "".join(form.decode(chunks)) == "a✓😀\r\nb"


@pytest.mark.parametrize(
    ("text", "line_ending"),
    [
        ("a", None),
        ("a\nb", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\rb", "\r"),
        ("a\r\nb\nc\n", "\n"),
        ("", None),
    ],
)
def test_a_text_uses_its_most_frequent_line_ending(text: str, line_ending: str | None) -> None:
    assert find_line_ending(text) == line_ending


def test_all_line_endings_of_a_text_are_converted() -> None:
    mixed = "a\r\nb\rc\nd\n\r\n"
    assert normalize(mixed) == "a\nb\nc\nd\n\n"
    assert convert_line_endings(mixed, "\r\n") == "a\r\nb\r\nc\r\nd\r\n\r\n"
    assert convert_line_endings(mixed, "\n") == "a\nb\nc\nd\n\n"


def test_texts_that_differ_only_in_line_endings_have_the_same_digest() -> None:
    assert digest_text("a\r\nb") == digest_text("a\nb") != digest_text("a\nc")
    assert digest_text("half \ud800") != digest_text("half \ud801")
