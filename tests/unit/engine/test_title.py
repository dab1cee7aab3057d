"""A title of at most eight words is extracted from a model's answer, or is empty."""

from __future__ import annotations

import pytest

from jumpseat.engine.title import MAX_TITLE, find_title


@pytest.mark.requirement("13:suggest-title")
@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Why the sky is blue", "Why the sky is blue"),
        ('"Why the sky is blue."\n', "Why the sky is blue"),
        ("\n\n# **Rayleigh scattering**\n\nIt explains it.", "Rayleigh scattering"),
        ("Title: Rayleigh scattering", "Rayleigh scattering"),
        ("**Title:** *Rayleigh scattering*", "Rayleigh scattering"),
        ("The title : x", "x"),
        ("Here is a title:\n\n„Blauer Himmel“", "Blauer Himmel"),
        ("```\nBlue sky\n```", "Blue sky"),
        ("one two three four five six seven eight nine ten", "one two three four five six seven eight"),
        ("one two three four five six seven eight, nine", "one two three four five six seven eight"),
        ("a\tb\u00a0c\x1b[2J d\u202ee", "a b c [2J d e"),
        ("What does C# do?", "What does C# do?"),
        ("x" * 500, "x" * MAX_TITLE),
        ("Only an announcement:", "Only an announcement"),
        ("", ""),
        (" \n\t\n", ""),
        ('""', ""),
        ("```\n```", ""),
        ("***", ""),
    ],
)
def test_a_title_is_extracted(answer: str, title: str) -> None:
    assert find_title(answer) == title
