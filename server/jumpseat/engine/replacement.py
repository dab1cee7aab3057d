"""Finds the replacement for a piece of text in the answer to an edit.

Models add fences and prose around the replacement. In case of doubt, text counts as part of the replacement,
because extra prose is easy to remove, but lost text is easy to overlook. Only complete answers are supported.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

from jumpseat.chat.fence import SHORTEST_FENCE, make_fence
from jumpseat.engine.fenced_blocks import (
    BARE_FENCE,
    OPENING,
    FencedBlock,
    find_enclosing_block,
    find_fenced_blocks,
    find_lines_outside,
)

LONGER_FENCE = 4
"""The minimum number of marks in the outer fence of a text that may contain fences of three marks."""

MARKUP = frozenset(("markdown", "md", "mdx", "rmd", "quarto", "qmd", "vimwiki"))
"""Languages (LSP ids, and names that models write) whose texts contain fences."""

PROSE = frozenset(("text", "plaintext", "txt", "gitcommit", "rst", "restructuredtext", "org", "latex", ""))
"""Names of formats for prose. A fence with such a name may enclose the answer or belong to its content."""

_POLITE = r"(?:(?:sure|certainly|of course|absolutely|okay|ok|got it|no problem)(?: thing)?[!.,:]?\s+)"
_HERE_IS = r"here(?:'s|\u2019s| is| are)\s"
_NOUN = r"(?:code|text|version|snippet|function|method|class|file|replacement|rewrite|selection|paragraph)\b"
_ANNOUNCEMENT = re.compile(
    rf"(?:{_POLITE}{_HERE_IS}[^\n]*|(?:{_POLITE})?{_HERE_IS}(?:the|your|a|an)\s[^\n]*{_NOUN}[^\n]*):\s*\Z",
    re.IGNORECASE,
)
_MAX_ANNOUNCEMENT = 200
_ONE_LINE = re.compile(r"(`{3,})(?P<text>[^`\n]+)\1")
_DIFFS = frozenset(("diff", "patch", "udiff"))
_DIFF_BEGINS = re.compile(r"(?:diff --git |Index: |--- \S|@@ -\d)")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_DISTINCTIVE = 3
"""The minimum length of a line that two texts do not share by chance; `}` and `--` are shorter."""


def choose_fence(target: str, language: str | None) -> str:
    """Return the fence to request, longer than any fence that the replacement is likely to contain."""
    may_get_fences = language is not None and language.lower() in MARKUP | PROSE
    shortest = LONGER_FENCE if "```" in target or may_get_fences else SHORTEST_FENCE
    return make_fence(target, shortest=shortest)


def find_replacement(answer: str, target: str, language: str | None) -> str | None:
    """Return the text that replaces `target`; None if the answer does not contain one.

    The replacement is the content of the fenced block. If there are several blocks, those in the target's
    language and those that differ from the target are preferred; the longest of these is used.

    If the answer has no fence, or if lines of the target are outside all fences, the replacement is the whole
    answer, without a first line such as "Here is the code:".

    Line endings, trailing blank lines and the common indentation are adapted to the target.

    Args:
        answer: the complete text of the answer.
        target: the text to rewrite.
        language: the target's LSP language id.
    """
    if not answer.strip():
        return None
    lines = answer.replace("\r\n", "\n").split("\n")
    old = target.replace("\r\n", "\n").split("\n")
    # A short replacement may come as inline code, with or without the language.
    in_one_line = _ONE_LINE.fullmatch(answer.strip())
    block = None
    if in_one_line is not None and not target.lstrip().startswith("```"):
        first, _, rest = in_one_line["text"].strip().partition(" ")
        has_language = rest and _normalize_language(first) == _normalize_language(language)
        new = [rest.strip() if has_language else in_one_line["text"].strip()]
    else:
        block = _find_replacing_block(lines, old, target, language)
        new = list(block.lines) if block else _remove_wrapping(lines, old)
    while new and not new[-1].strip():
        new.pop()
    if not new:
        return ""
    # A diff of the target describes the replacement; it must not be pasted over the target.
    if _is_diff(new, block.language if block else "") and not _may_be_diff(old, language):
        return None
    text = "\n".join(_restore_indentation(new, old)) + _find_line_endings(target)
    crlf = target.count("\r\n")
    return text.replace("\n", "\r\n") if crlf and 2 * crlf >= target.count("\n") else text


def _find_line_endings(target: str) -> str:
    """Return the line endings at the end of the target, as line feeds."""
    stripped = target.rstrip("\r\n")
    end = target[len(stripped) :].replace("\r\n", "\n")
    # A target of blank lines marks a place for new text, so do not append all its line endings.
    return end if stripped else end[:1]


def _find_replacing_block(
    lines: list[str], old: list[str], target: str, language: str | None
) -> FencedBlock | None:
    """Return the fenced block around the replacement; None if the whole answer is the replacement."""
    blocks = find_fenced_blocks(lines)
    length = len(choose_fence(target, language))
    # If a long fence was requested, a fence of that length cannot be content. A fence of three marks can.
    long_enough = [block for block in blocks if length > SHORTEST_FENCE and block.fence_length >= length]
    if long_enough:
        return _choose_best(long_enough, old, language)
    if not blocks or _has_common_line(find_lines_outside(lines, blocks), old):
        return None
    if length == SHORTEST_FENCE:
        return _choose_best(blocks, old, language)
    # The replacement may contain fences, so a fence shorter than requested may be one of them.
    stripped = {line.strip() for line in old}
    enclosing = find_enclosing_block(_remove_wrapping(lines, old)) if _lower(language) in MARKUP else None
    if enclosing is not None and enclosing.language in MARKUP and enclosing.opening.strip() not in stripped:
        return enclosing
    outside = [line for line in find_lines_outside(lines, blocks) if line.strip()]
    has_prose = len(outside) > 1 or (len(outside) == 1 and not _is_announcement(outside[0]))

    def may_enclose(block: FencedBlock) -> bool:
        if block.opening.strip() in stripped:
            return False
        if block.language in PROSE:
            return not has_prose
        return block.language in MARKUP or _normalize_language(block.language) == _normalize_language(
            language
        )

    return _choose_best(blocks, old, language) if all(map(may_enclose, blocks)) else None


def _choose_best(blocks: Sequence[FencedBlock], old: list[str], language: str | None) -> FencedBlock:
    name, old_words = _normalize_language(language), _strip_lines(old)
    same_language = [block for block in blocks if name and _normalize_language(block.language) == name]
    no_diffs = [block for block in blocks if not _is_diff(block.lines, block.language)]
    likely = same_language or no_diffs or blocks
    # Many answers quote the target before the replacement.
    changed = [block for block in likely if _strip_lines(block.lines) != old_words]
    return max(changed or likely, key=lambda block: sum(map(len, block.lines)))


def _is_diff(lines: Sequence[str], language: str) -> bool:
    """Whether these lines are a diff, judged by their fence's language or by a diff header and a hunk."""
    first = next(filter(str.strip, lines), "")
    return language in _DIFFS or (_DIFF_BEGINS.match(first) is not None and any(map(_HUNK.match, lines)))


def _may_be_diff(old: Sequence[str], language: str | None) -> bool:
    """Whether the target is a diff or, if its language is unknown, may be a part of one."""
    name = _lower(language)
    return _is_diff(old, name) or (not name and any(line[:1] in ("+", "-") for line in old))


def _has_common_line(lines: Sequence[str], old: Sequence[str]) -> bool:
    """Whether any of these lines is also in the old text, ignoring indentation."""
    distinctive = {line.strip() for line in old if len(line.strip()) >= _DISTINCTIVE}
    return any(line.strip() in distinctive for line in lines)


def _remove_wrapping(lines: list[str], old: Sequence[str]) -> list[str]:
    """Remove blank lines at the edges, an announcement and a stray closing fence."""
    not_blank = [index for index, line in enumerate(lines) if line.strip()]
    kept = lines[not_blank[0] : not_blank[-1] + 1]
    if len(kept) > 1 and BARE_FENCE.match(kept[-1]) and not any(map(OPENING.match, kept[:-1])):
        kept.pop()
        while not kept[-1].strip():  # The loop ends, because the first line is not blank.
            kept.pop()
    # If no blank line follows an announcement, it may be the first line of a paragraph.
    if (
        len(kept) > 2
        and _is_announcement(kept[0])
        and not kept[1].strip()
        and not _has_common_line(kept[:1], old)
    ):
        return kept[next(index for index, line in enumerate(kept) if index and line.strip()) :]
    return kept


def _is_announcement(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) <= _MAX_ANNOUNCEMENT and _ANNOUNCEMENT.match(stripped) is not None


def _restore_indentation(new: list[str], old: Sequence[str]) -> list[str]:
    """Indent the new lines like the old ones if the model removed their common indentation."""
    margin = _find_margin(old)
    if not margin or new[0][:1].isspace() or _find_margin(new):
        return new
    # A line that is unchanged, including its indentation, shows that the model preserved the indentation.
    indented = {line.rstrip() for line in old if len(line.strip()) >= _DISTINCTIVE}
    if any(line.rstrip() in indented for line in new):
        return new
    return [margin + line if line.strip() else line for line in new]


def _find_margin(lines: Sequence[str]) -> str:
    """Return the common indentation of the lines that are not blank."""
    return os.path.commonprefix(  # noqa: RUF071 - characters are compared on purpose
        [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    )


def _strip_lines(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


_SHORT_NAMES = {
    "python": "py", "javascript": "js", "javascriptreact": "js", "jsx": "js", "typescript": "ts",
    "typescriptreact": "ts", "tsx": "ts", "shellscript": "sh", "bash": "sh", "shell": "sh", "zsh": "sh",
    "golang": "go", "rust": "rs", "ruby": "rb", "csharp": "cs", "c++": "cpp", "yml": "yaml",
    "markdown": "md", "plaintext": "txt", "text": "txt", "emacs-lisp": "elisp", "python3": "py",
}  # fmt: skip


def _normalize_language(language: str | None) -> str:
    """Return the canonical name of a language, which is its short name if it has several."""
    name = _lower(language)
    return _SHORT_NAMES.get(name, name)


def _lower(language: str | None) -> str:
    return (language or "").lower()
