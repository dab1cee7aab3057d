"""The marker lines of the two formats of transcripts, Markdown and Org."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from jumpseat.chat.fence import make_fence

Format: TypeAlias = Literal["markdown", "org"]

FENCED_KINDS = ("tool_use", "tool_result", "context", "image", "document", "redacted_thinking", "other")
"""The types of fenced blocks."""

KEYS = ("model", "system", "tools", "settings", "conversation")
"""The keys of front matter that are not settings."""

# Every marker may end in `\r`, because an editor may save only some lines with CRLF.
END = r"[ \t\r]*\Z"

_KINDS = "|".join(FENCED_KINDS)


def match_beginnings(words: Iterable[str]) -> str:
    """Return a pattern that matches the unfinished words, and the whole words with any blanks after them."""
    begun = {re.escape(word[:length]) for word in words for length in range(len(word))}
    complete = {rf"{re.escape(word)}[ \t]*" for word in words}
    return "|".join(sorted(begun | complete))


class Reserved(NamedTuple):
    """Patterns of the lines that look like markers in one part of a transcript, except headings."""

    complete: tuple[str, ...] = ()
    """Patterns of lines that need an escape."""

    begun: tuple[str, ...] = ()
    """Patterns of unfinished lines that may become lines that need an escape."""


NOTHING = Reserved()


# Compare by identity: the cache of forms would hash all patterns otherwise.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Syntax:
    """How a format writes the parts of a transcript. Patterns match whole lines, unless stated otherwise."""

    escape: str
    """The character to add before a line of text that looks like a marker."""

    heading: str
    """The text before the name of a role, on the first level."""

    level_sign: str = ""
    """The character to repeat before headings of deeper levels; empty if there is only one level."""

    after_role: str = ""
    """A pattern for text that may follow the name of a role."""

    thinking: str
    thinking_end: str
    next_text: str
    """The separator of consecutive text blocks."""

    no_blocks: str
    """The body of a message without blocks. A section without any content is not a message."""

    openings: tuple[str, ...]
    """The first characters of all markers except headings."""

    fence: re.Pattern[str]
    """Matches the first line, with the groups `key`, `kind` and `info`."""

    fence_end: re.Pattern[str]
    """Matches the last line, with the group `key`, which must be the same as in the first line."""

    write_fence: Callable[[str, str], tuple[str, str]]
    """Returns the first line without pairs, and the last line, given the kind and the content."""

    pair: re.Pattern[str]
    """Matches one pair in an info string, with the white space before it. The groups are key and value."""

    pair_form: str
    """The format string for a pair, with the white space before it."""

    front: tuple[str, str]
    """The first and the last line of the front matter."""

    front_name: str
    front_start: re.Pattern[str]
    front_end: re.Pattern[str]
    front_property: re.Pattern[str] | None = None
    """Matches a line with one of `KEYS`. The groups are key and value. None if all lines are YAML."""

    planning: re.Pattern[str] | None = None
    """A line that may be between a headline and its property drawer."""

    aside: re.Pattern[str] | None = None
    """A line before or after the front matter that is not part of the conversation, such as a title."""

    in_text: Reserved
    in_thinking: Reserved
    in_fence: Reserved
    after_blanks: Reserved = NOTHING
    """Lines that need an escape in every region, even if they are indented. The patterns omit the indent."""

    undecided: str
    """The inside of a character class: characters that cannot decide whether a line needs an escape."""


def _write_markdown_fence(kind: str, text: str) -> tuple[str, str]:
    fence = make_fence(text)
    return fence + kind, fence


def _write_org_block(kind: str, text: str) -> tuple[str, str]:
    return f"#+begin_{kind}", f"#+end_{kind}"


_MARKS = ("<details><summary>Thinking</summary>", "<!-- text -->", "<!-- empty -->")
_THINKING_END = "</details>"

MARKDOWN = Syntax(
    escape="\\",
    heading="## ",
    thinking=_MARKS[0],
    thinking_end=_THINKING_END,
    next_text=_MARKS[1],
    no_blocks=_MARKS[2],
    openings=("```", "<"),
    fence=re.compile(rf"(?P<key>`{{3,}})(?P<kind>{_KINDS})(?P<info>[ \t].*)?\r?\Z"),
    fence_end=re.compile(rf"(?P<key>`{{3,}}){END}"),
    write_fence=_write_markdown_fence,
    pair=re.compile(r'[ \t]+([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"`]+)'),
    pair_form=" {}={}",
    front=("---", "---"),
    front_name="front matter",
    front_start=re.compile(rf"---{END}"),
    front_end=re.compile(rf"---{END}"),
    in_text=Reserved(
        (rf"`{{3,}}(?:{_KINDS})(?:[ \t].*)?\r?\Z", rf"(?:{'|'.join(map(re.escape, _MARKS))}){END}"),
        (rf"`*|`{{3,}}(?:{match_beginnings(FENCED_KINDS)})", match_beginnings(_MARKS)),
    ),
    in_thinking=Reserved(
        (rf"{re.escape(_THINKING_END)}{END}",),
        (match_beginnings([_THINKING_END]),),
    ),
    in_fence=NOTHING,
    undecided=r"\s`\\",
)

# Org's syntax: https://orgmode.org/worg/org-syntax.html. A headline begins in the first column, but keywords
# and blocks may be indented. Keywords affect the whole file, even inside blocks. Org's own escape for
# headlines and keywords is a comma (`org-escape-code-in-region`).
_HEADLINES = Reserved((r"\*+(?=[ \t\r]|\Z)",), (r"\**",))

ORG = Syntax(
    escape=",",
    heading="* ",
    level_sign="*",
    after_role=r"(?:[ \t]+:[\w@#%:]+:)?",
    thinking="#+begin_thinking",
    thinking_end="#+end_thinking",
    next_text="#+text:",
    no_blocks="#+empty:",
    openings=("#+",),
    fence=re.compile(rf"(?i:#\+begin_(?P<kind>(?P<key>{_KINDS})))(?P<info>[ \t].*)?\r?\Z"),
    fence_end=re.compile(rf"(?i:#\+end_(?P<key>{_KINDS})){END}"),
    write_fence=_write_org_block,
    pair=re.compile(r'[ \t]+:([a-z_]+)[ \t]+("(?:[^"\\]|\\.)*"|[^\s"]+)'),
    pair_form=" :{} {}",
    front=(":PROPERTIES:", ":END:"),
    front_name="property drawer",
    front_start=re.compile(rf"[ \t]*(?i::PROPERTIES:){END}"),
    front_end=re.compile(rf"[ \t]*(?i::END:){END}"),
    front_property=re.compile(rf"[ \t]*:(?P<key>(?i:{'|'.join(KEYS)})):(?P<value>(?:[ \t].*?)?)\r?\Z"),
    planning=re.compile(r"[ \t]*(?:CLOSED|DEADLINE|SCHEDULED):[ \t]"),
    aside=re.compile(r"[ \t]*#(?:\+[^\s:]+:|[ \t\r]|\Z)"),
    in_text=_HEADLINES,
    in_thinking=_HEADLINES,
    in_fence=_HEADLINES,
    after_blanks=Reserved((r"#\+",), ("#?",)),
    undecided=r"\s*,\\",
)

SYNTAXES: Mapping[Format, Syntax] = {"markdown": MARKDOWN, "org": ORG}
