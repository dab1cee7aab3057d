"""Markdown is split only at the ends of blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat_cli.terminal.markdown import BlockSplitter


def split(text: str, size: int | None = None) -> list[str]:
    splitter = BlockSplitter()
    size = size or len(text) or 1
    blocks = [block for i in range(0, len(text), size) for block in splitter.feed(text[i : i + size])]
    return [*blocks, splitter.tail] if splitter.tail else blocks


@pytest.mark.parametrize(
    "blocks",
    [
        ["One\nparagraph.\n\n", "Another.\n"],
        ["# Title\n\n\n", "Text\n"],
        ["```py\na = 1\n\nb = 2\n```\n", "After.\n"],
        ["Before\n", "```\n# not a title\n```\n", "\nAfter\n"],
        ["````\n```\nstill inside\n```\n````\n", "After\n"],
        ["~~~\n```\n~~~\n", "After\n"],
        ["- a\n\n- b\n\n  more of b\n\n", "After\n"],
        ["Text:\n1. a\n   ```\n   code\n\n   ```\n2. b\n\n", "After\n"],
        ["| a | b |\n|---|---|\n| 1 | 2 |\n\n", "After\n"],
        ["> quoted\n> more\n\n", "After\n"],
        ["    code\n\n    more code\n\n", "After\n"],
        ["```\nnever closed\n\n"],
        ["no line ending"],
    ],
)
def test_each_block_is_returned_whole(blocks: list[str]) -> None:
    assert split("".join(blocks)) == blocks
    assert split("".join(blocks), 1) == blocks


def test_a_finished_block_is_returned_before_the_next_one_ends() -> None:
    splitter = BlockSplitter()

    assert splitter.feed("Done.\n\nNext") == []
    assert splitter.feed(" one.\n") == ["Done.\n\n"]
    assert splitter.tail == "Next one.\n"


@given(
    st.lists(st.sampled_from(["a", "\n", "```", "~~~", "- ", "1. ", "  ", "    ", "# ", "> "])).map("".join)
)
def test_the_joined_blocks_are_the_text_for_any_split(text: str) -> None:
    assert "".join(split(text)) == text
    assert split(text, 1) == split(text) == split(text, 3)
