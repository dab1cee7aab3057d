"""A text that is too long is cut between characters, and its last line says so."""

from __future__ import annotations

import pytest

from jumpseat.context.cut_off import cut_off

NOTE = "[cut]"


@pytest.mark.parametrize("most", range(20, 30))
def test_a_cut_text_fits_and_contains_whole_characters_only(most: int) -> None:
    kept, _, note = cut_off("ä€😀" * 10, most, NOTE).partition("\n")

    assert note == NOTE
    assert ("ä€😀" * 10).startswith(kept)
    assert most - 4 < len(f"{kept}\n{note}".encode()) <= most


@pytest.mark.parametrize("text", ["", "x" * 30, "ä" * 15])
def test_a_text_that_fits_is_unchanged(text: str) -> None:
    assert cut_off(text, 30, NOTE) == text
