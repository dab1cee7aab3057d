"""The rules for prose and names in CONTRIBUTING.md that a program can check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tests.unit.prose import Text

_PREPOSITION = re.compile(r"(Of|As|For|Where|What|That|Than) ")

_GAP = r"\s+(?:(?:#|--|//|;+|\*)\s+)?"
"""The space between two words. The second word may be in the next line of the comment."""

# "There is no …" and "is no longer" are idiomatic.
_NEGATED_NOUN = re.compile(
    rf"(?<!\bthere )(?<!\bhere )\b(?:is|are|was|were){_GAP}no{_GAP}"
    r"(?!longer\b|more\b|fewer\b|less\b|better\b|closer\b|such\b)\w+",
    re.IGNORECASE,
)
_TRANSLATED = re.compile(
    rf"(?<![a-z])(?:anew|heed|house|mend|whence|whoever|by{_GAP}way{_GAP}of|at{_GAP}hand|for{_GAP}ever"
    rf"|not{_GAP}any{_GAP}more)(?:s|ed|ing)?(?![a-z])",
    re.IGNORECASE,
)

_REPLACE_BY = re.compile(r"\breplac(?:e|es|ing)\b[^.;:()\"]{1,60}?\bby\b", re.IGNORECASE)

# A noun is missing after these words.
_DANGLING = re.compile(
    rf"\b(?:is|are|was|were){_GAP}(?:not{_GAP})?(?:that|those){_GAP}of\b|[a-z]'s\.(?=\s|\"\"\"|$)",
    re.IGNORECASE,
)

_OPENERS = re.compile(
    r"of|for|as|with|without|in|on|at|behind|before|after|also|only|even|not|never|else"
    r"|otherwise|and|or|but|than|by|from|like|first|once|then|again|nor|neither|because|so"
)
_AUXILIARIES = re.compile(
    r"is|are|was|were|be|been|has|have|had|do|does|did|can|could|must|may|might|will|would"
    r"|should|let"
)
_NOT_VERBS = re.compile(
    r"its|this|as|less|always|others|his|us|yes|plus|perhaps|across|besides|unless|previous"
    r"|various|access|process|status|class|address"
)
_DETERMINERS = re.compile(r"a|an|the|its|their|our|your|all|these|those|no|each|every|some|any|in")

_PARTICIPLES = re.compile(
    r"kept|told|held|begun|sent|found|taken|given|known|shown|made|built|said|heard|drawn"
    r"|left|lost|met|written|done|gone|bought|chosen|broken|hidden|got|spent"
)
_NOT_PARTICIPLES = re.compile(r"need|seed|speed|feed|embed|shed|exceed|proceed|succeed")
_FUNCTIONS = {
    # A name of several words that begins with a participle may be a noun, unless the function is async.
    # Fixtures and properties are named by their value.
    ".py": re.compile(
        r"^(?P<value>[ \t]*@\S*(?:fixture|property).*\n)?"
        r"[ \t]*(?:async def (?P<name>\w+)|def (?P<word>_*[a-z]+)\b)",
        re.MULTILINE,
    ),
    ".ts": re.compile(r"\basync (?:function )?#?(?P<name>\w+)\("),
}
_TEST = re.compile(r"^[ \t]*(?:async )?def (test_\w+)", re.MULTILINE)
MAX_TEST_NAME = 80
MAX_SUBJECT = 72


def faults_of_text(text: Text) -> Iterator[str]:
    """Yield each fault of a comment or docstring."""
    if text.is_docstring and _PREPOSITION.match(text.words):
        yield f"start the docstring with a verb or a noun: {text.words}"
    if not text.is_docstring and _has_no_verb(text.words):
        yield f"give the comment a verb: {text.words}"


def faults_of_source(source: str, suffix: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the description of each fault in a file's text and names."""
    rules = (
        (_NEGATED_NOUN, "negate the verb, not the noun"),
        (_TRANSLATED, "say it plainly"),
        (_DANGLING, "say the noun"),
        (_REPLACE_BY, "say replace with"),
    )
    for pattern, advice in rules:
        for found in pattern.finditer(source):
            yield _line(source, found), f"{advice}: {found[0]}"
    for found in _FUNCTIONS[suffix].finditer(source) if suffix in _FUNCTIONS else ():
        groups = found.groupdict()
        name = groups["name"] or groups["word"]
        if is_named_by_participle(name) and not groups.get("value"):
            yield _line(source, found), f"name the function by a verb: {name}"
    for found in _TEST.finditer(source) if suffix == ".py" else ():
        if len(found[1]) > MAX_TEST_NAME or re.search(r"_(?:is|are|was|were)_no_(?!longer)", found[1]):
            yield _line(source, found), f"shorten the test's name, or negate its verb: {found[1]}"


def fault_of_subject(subject: str) -> str | None:
    """Return the fault of a commit's subject line, or None."""
    if len(subject) > MAX_SUBJECT:
        return f"use at most {MAX_SUBJECT} characters: {subject}"
    if not subject[:1].isupper() or subject.endswith("."):
        return f"start with a capital, and end without a full stop: {subject}"
    return None


def is_named_by_participle(name: str) -> bool:
    """Return whether a name in snake or camel case starts with a participle."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_").split("_")
    if _PARTICIPLES.fullmatch(words[0]):
        return True
    return words[0].endswith("ed") and not _NOT_PARTICIPLES.fullmatch(words[0])


def _has_no_verb(words: str) -> bool:
    first, *rest = re.findall(r"[a-z]+(?:['-][a-z]+)*", words.lower()) or [""]
    # A comment in lower case labels the code beside it.
    if not _OPENERS.fullmatch(first) or not rest or words.lstrip("- ")[:1].islower():
        return False
    return not any(_may_be_verb(before, word) for before, word in pairwise([first, *rest]))


def _may_be_verb(before: str, word: str) -> bool:
    if _AUXILIARIES.fullmatch(word) or re.search(r"n't$", word):
        return True
    has_ending = len(word) > 3 and re.search(r"(?:s|ed)$", word) and not _NOT_VERBS.fullmatch(word)
    return bool(has_ending and not _DETERMINERS.fullmatch(before))


def _line(source: str, found: re.Match[str]) -> int:
    return source.count("\n", 0, found.start()) + 1
