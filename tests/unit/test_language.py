"""Comments, docstrings, names and commit subjects follow the rules for prose in CONTRIBUTING.md."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.language_rules import (
    fault_of_subject,
    faults_of_source,
    faults_of_text,
    is_named_by_participle,
)
from tests.unit.pages import EDITOR_PAGES, PAGES, ROOT
from tests.unit.prose import source_files, texts_of

RULES = {Path(__file__), Path(__file__).with_name("language_rules.py")}
"""The files that quote faults, which are not checked."""

LAST_UNCHECKED_COMMIT = "0def8b0"


def test_comments_and_docstrings_are_sentences_or_noun_phrases() -> None:
    files = source_files()
    found = [
        f"{file.relative_to(ROOT)}:{text.line}: {fault}"
        for file in files
        if file not in RULES
        for text in texts_of(file.read_text("utf-8"), file.suffix)
        for fault in faults_of_text(text)
    ]

    assert {".py", ".lua", ".ts", ".el", ".yml", ""} <= {file.suffix for file in files}
    assert found == []


def test_texts_and_names_negate_verbs_and_are_plain() -> None:
    pages = {*PAGES, *EDITOR_PAGES.values(), ROOT / "CHANGELOG.md"}
    found = [
        f"{file.relative_to(ROOT)}:{line}: {fault}"
        for file in {*source_files(), *pages} - RULES
        for line, fault in faults_of_source(file.read_text("utf-8"), file.suffix)
    ]
    assert found == []


def test_commit_subjects_are_short() -> None:
    log = subprocess.run(
        ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%h %s", f"{LAST_UNCHECKED_COMMIT}..HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    if log.returncode != 0:
        pytest.skip("this clone does not have the commits that are checked")
    faults = {line: fault_of_subject(line.partition(" ")[2]) for line in log.stdout.splitlines()}
    assert {line: fault for line, fault in faults.items() if fault} == {}


@pytest.mark.parametrize(
    ("suffix", "source", "line", "advice"),
    [
        (".py", 'x = 1\n"""Of its file after the change."""\n', 2, "start the docstring"),
        (".py", "x = 1\n# Behind a long message,\n# in order.\n", 2, "give the comment a verb"),
        (".py", "x = 1  # Also in a child.\n", 1, "give the comment a verb"),
        (".lua", "local x = 1\n-- Without a window.\n", 2, "give the comment a verb"),
        (".ts", "/**\n * What came of it.\n */\n", 1, "start the docstring"),
        (".ts", "call(); // Not in a notebook.\n", 1, "give the comment a verb"),
        (".el", '(defun x ()\n  "As a list."\n  nil)\n', 2, "start the docstring"),
        (".el", ";; Only in Emacs 28.\n", 1, "give the comment a verb"),
        (".yml", "run: x # For the tests.\n", 1, "give the comment a verb"),
        ("", "\t# Then again.\n", 1, "give the comment a verb"),
    ],
)
def test_a_fault_is_found_in_each_language(suffix: str, source: str, line: int, advice: str) -> None:
    [text] = texts_of(source, suffix)
    assert text.line == line
    [fault] = faults_of_text(text)
    assert fault.startswith(advice)


@pytest.mark.parametrize(
    ("suffix", "source", "advice"),
    [
        (".py", "raise ValueError('this is no key')", "negate the verb"),
        (".lua", "-- a name that is\n-- no word", "negate the verb"),
        (".py", "async def _ended(): ...", "name the function by a verb"),
        (".py", "async def kept_texts(): ...", "name the function by a verb"),
        (".py", "    def _sent(self): ...", "name the function by a verb"),
        (".md", "Replace the text by\na note.", "say replace with"),
        (".ts", "  private async listed(): Promise<void> {", "name the function by a verb"),
        (".md", "It keeps them for\never.", "say it plainly"),
        (".md", "The key is\nthat of the client.", "say the noun"),
        (".ts", "// The keys are those of the client.", "say the noun"),
        (".el", ";; The window is not the user's.", "say the noun"),
        (".py", '"""Replaces the system\'s."""', "say the noun"),
        (".lua", "-- The window is not the user's.", "say the noun"),
        (".py", "def test_a_name_that_is_no_word(): ...", "shorten the test's name"),
        (".py", f"def test_{'x' * 80}(): ...", "shorten the test's name"),
    ],
)
def test_a_fault_is_found_in_text_and_names(suffix: str, source: str, advice: str) -> None:
    [(_, fault)] = faults_of_source(source, suffix)
    assert fault.startswith(advice)


@pytest.mark.parametrize(
    "words",
    [
        "# As long as the lock is held, no other daemon starts.",
        "# Only the first one counts.",
        "# Keep it.",
        "# There is no key, and the daemon is no longer asked.",
    ],
)
def test_sound_sentences_have_no_fault(words: str) -> None:
    [text] = texts_of(words, ".py")
    assert [*faults_of_text(text), *faults_of_source(words, ".py")] == []


def test_names_that_start_with_a_participle_are_faults() -> None:
    names = ("_ended", "listedModels", "kept_text", "is_kept", "waitUntilEnded", "proceed", "read")
    assert [name for name in names if is_named_by_participle(name)] == ["_ended", "listedModels", "kept_text"]


def test_long_or_uncapitalised_subjects_are_faults() -> None:
    assert fault_of_subject("Fix the thing") is None
    assert all(
        fault_of_subject(subject) for subject in ("fix the thing", "Fix the thing.", "Fix " + "x" * 70)
    )
