"""Finds the replacement for a piece of text in the answer to an edit.

Models add fences and prose around the replacement. To lose the user's text is worse than to keep the model's
prose, so text that could be either is kept. Works on the whole answer, never on its deltas.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

from jumpseat.engine.fenced_blocks import (
    BARE_FENCE,
    OPENING,
    FencedBlock,
    block_from_end_to_end,
    fenced_blocks,
    lines_outside,
)

SHORTEST_FENCE = 3
LONGER_FENCE = 4
"""For texts that are likely to contain fences of three marks."""

MARKUP = frozenset(("markdown", "md", "mdx", "rmd", "quarto", "qmd", "vimwiki"))
"""Languages (ids of LSP, and names that models write) whose texts contain fences."""

PROSE = frozenset(("text", "plaintext", "txt", "gitcommit", "rst", "restructuredtext", "org", "latex", ""))
"""Languages that are equally likely for a code block inside such a text."""

_SOFTENER = r"(?:(?:sure|certainly|of course|absolutely|okay|ok|got it|no problem)(?: thing)?[!.,:]?\s+)"
_HERE_IS = r"here(?:'s|\u2019s| is| are)\s"
_THING = r"(?:code|text|version|snippet|function|method|class|file|replacement|rewrite|selection|paragraph)\b"
_CHATTER = re.compile(
    rf"(?:{_SOFTENER}{_HERE_IS}[^\n]*|(?:{_SOFTENER})?{_HERE_IS}(?:the|your|a|an)\s[^\n]*{_THING}[^\n]*):\s*\Z",
    re.IGNORECASE,
)
_LONGEST_ANNOUNCEMENT = 200
_ONE_LINE = re.compile(r"(`{3,})(?P<text>[^`\n]+)\1")
_DIFFS = frozenset(("diff", "patch", "udiff"))
_DIFF_BEGINS = re.compile(r"(?:diff --git |Index: |--- \S|@@ -\d)")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_TELLING = 3
"""A line of at least this many characters is not in two texts by accident."""


def asked_fence(target: str, language: str | None) -> str:
    """The fence in which to ask for a replacement: one that its content will not close."""
    longest = max((len(run) for run in re.findall("`+", target)), default=0)
    least = LONGER_FENCE if longest >= SHORTEST_FENCE or _may_get_fences(language) else SHORTEST_FENCE
    return "`" * max(least, longest + 1)


def replacement_in(answer: str, target: str, language: str | None = None) -> str | None:
    """The text that replaces `target`; None if the answer contains none.

    This is the content of the fenced block; of several blocks, the longest one in the target's language that
    differs from the target. An answer with lines of the target outside its fences is used whole, as is one
    without fences, except for a first line that announces the text. Line ends, trailing line ends and the
    common indentation become those of the target. A diff replaces only a diff.

    Args:
        answer: the whole text of the answer.
        target: the text that was to be rewritten.
        language: the target's language, as LSP names it.
    """
    if not answer.strip():
        return None
    lines = answer.replace("\r\n", "\n").split("\n")
    old = target.replace("\r\n", "\n").split("\n")
    in_one_line = _ONE_LINE.fullmatch(answer.strip())
    block = None
    if in_one_line is not None and not target.lstrip().startswith("```"):
        first, _, rest = in_one_line["text"].strip().partition(" ")
        named = rest and _name(first) == _name(language)
        found = [rest.strip() if named else in_one_line["text"].strip()]
    else:
        block = _meant(lines, old, target, language)
        found = list(block.lines) if block else _without_wrapping(lines, old)
    while found and not found[-1].strip():
        found.pop()
    if not found:
        return ""
    if _is_diff(found, block.language if block else "") and not _may_be_diff(old, language):
        return None
    text = "\n".join(_indented(found, old)) + _end_of(target)
    crlf = target.count("\r\n")
    return text.replace("\n", "\r\n") if crlf and 2 * crlf >= target.count("\n") else text


def _end_of(target: str) -> str:
    """The line ends that the target ends with; one where it is nothing else."""
    stripped = target.rstrip("\r\n")
    end = target[len(stripped) :].replace("\r\n", "\n")
    return end if stripped else end[:1]


def _meant(lines: list[str], old: list[str], target: str, language: str | None) -> FencedBlock | None:
    """The fenced block that is the replacement; None where the answer itself is."""
    blocks = fenced_blocks(lines)
    asked = len(asked_fence(target, language))
    as_asked = [block for block in blocks if asked > SHORTEST_FENCE and block.length >= asked]
    if as_asked:
        return _likeliest(as_asked, old, language)
    if not blocks or _shares_a_line(lines_outside(lines, blocks), old):
        return None
    if asked == SHORTEST_FENCE:
        return _likeliest(blocks, old, language)
    # The text has fences itself, or may get some: a shorter fence than was asked for may belong to it.
    olds = {line.strip() for line in old}
    around = block_from_end_to_end(_without_wrapping(lines, old)) if _lower(language) in MARKUP else None
    if around is not None and around.language in MARKUP and around.opening.strip() not in olds:
        return around
    said = [line for line in lines_outside(lines, blocks) if line.strip()]
    nothing_else = not said or (len(said) == 1 and _announces(said[0]))

    def is_around(block: FencedBlock) -> bool:
        if block.opening.strip() in olds:
            return False
        if block.language in PROSE:
            return nothing_else
        return block.language in MARKUP or _name(block.language) == _name(language)

    return _likeliest(blocks, old, language) if all(map(is_around, blocks)) else None


def _likeliest(blocks: Sequence[FencedBlock], old: list[str], language: str | None) -> FencedBlock:
    wanted, old_words = _name(language), _stripped(old)
    in_it = [block for block in blocks if wanted and _name(block.language) == wanted]
    whole = [block for block in blocks if not _is_diff(block.lines, block.language)]
    likely = in_it or whole or blocks
    others = [block for block in likely if _stripped(block.lines) != old_words]
    return max(others or likely, key=lambda block: sum(map(len, block.lines)))


def _is_diff(lines: Sequence[str], language: str) -> bool:
    """Whether this tells changes of a text, and is not the text: by its fence, or by its head and a hunk."""
    first = next(filter(str.strip, lines), "")
    return language in _DIFFS or (_DIFF_BEGINS.match(first) is not None and any(map(_HUNK.match, lines)))


def _may_be_diff(old: Sequence[str], language: str | None) -> bool:
    """Whether the target itself is a diff, or a piece of one in a text of which no language is known."""
    name = _lower(language)
    return _is_diff(old, name) or (not name and any(line[:1] in ("+", "-") for line in old))


def _shares_a_line(lines: Sequence[str], old: Sequence[str]) -> bool:
    """Whether one of these lines is, but for its indentation, a line of the old text."""
    telling = {line.strip() for line in old if len(line.strip()) >= _TELLING}
    return any(line.strip() in telling for line in lines)


def _without_wrapping(lines: list[str], old: Sequence[str]) -> list[str]:
    """An answer without fenced blocks, but for what can be no part of it.

    That is blank lines before it, a first line that announces it, and one fence that closes nothing.
    """
    with_words = [index for index, line in enumerate(lines) if line.strip()]
    kept = lines[with_words[0] : with_words[-1] + 1]
    if len(kept) > 1 and BARE_FENCE.match(kept[-1]) and not any(map(OPENING.match, kept[:-1])):
        kept.pop()
        while not kept[-1].strip():  # Its first line has words.
            kept.pop()
    announces = (
        len(kept) > 2 and _announces(kept[0]) and not kept[1].strip() and not _shares_a_line(kept[:1], old)
    )
    if not announces:
        return kept
    return kept[next(index for index, line in enumerate(kept) if index and line.strip()) :]


def _announces(line: str) -> bool:
    said = line.strip()
    return len(said) <= _LONGEST_ANNOUNCEMENT and _CHATTER.match(said) is not None


def _indented(new: list[str], old: Sequence[str]) -> list[str]:
    """The new lines with the old ones' common indentation, where the model has taken it from all of them.

    It has not where a line that both texts have stands as it stood, or where the first line is indented.
    """
    margin = _margin(old)
    if not margin or new[0][:1].isspace() or _margin(new):
        return new
    kept = {line.rstrip() for line in old if len(line.strip()) >= _TELLING}
    if any(line.rstrip() in kept for line in new):
        return new
    return [margin + line if line.strip() else line for line in new]


def _margin(lines: Sequence[str]) -> str:
    """The white space that every line with words begins with."""
    # Characters are what is compared here; there are no paths.
    return os.path.commonprefix(  # noqa: RUF071
        [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    )


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


_SHORT_NAMES = {
    "python": "py", "javascript": "js", "javascriptreact": "js", "jsx": "js", "typescript": "ts",
    "typescriptreact": "ts", "tsx": "ts", "shellscript": "sh", "bash": "sh", "shell": "sh", "zsh": "sh",
    "golang": "go", "rust": "rs", "ruby": "rb", "csharp": "cs", "c++": "cpp", "yml": "yaml",
    "markdown": "md", "plaintext": "txt", "text": "txt", "emacs-lisp": "elisp", "python3": "py",
}  # fmt: skip


def _name(language: str | None) -> str:
    """One name for the names that a language has."""
    name = _lower(language)
    return _SHORT_NAMES.get(name, name)


def _may_get_fences(language: str | None) -> bool:
    return language is not None and language.lower() in MARKUP | PROSE


def _lower(language: str | None) -> str:
    return (language or "").lower()
