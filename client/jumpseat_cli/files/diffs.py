"""Unified diffs of texts, computed in bounded time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jumpseat_cli.files.lines import rows_of

CONTEXT = 3
"""The number of unchanged lines to show before a change, and also after it."""

MAX_COMPARISONS = 10_000_000
"""If the number of old lines times the number of new lines exceeds this, no precise diff is computed."""


def diff_texts(old: str, new: str, old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff, without line endings; nothing if the texts are equal.

    If the part that contains all changes is very large, all of its lines are shown as replaced.
    """
    before, after = rows_of(old), rows_of(new)
    start, end = _count_common(before, after)
    if start == len(before) == len(after):
        return
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    # Leave out the equal lines at the beginning and the end, except those that are shown around a change.
    first, rest = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    hunks = _find_hunks(before[first : len(before) - rest], after[first : len(after) - rest])
    for hunk in hunks:
        (_, old_first, _, new_first, _), (_, _, old_end, _, new_end) = hunk[0], hunk[-1]
        old_range = _format_range(first + old_first, first + old_end)
        yield f"@@ -{old_range} +{_format_range(first + new_first, first + new_end)} @@"
        for tag, old_from, old_to, new_from, new_to in hunk:
            removed = before[first + old_from : first + old_to]
            if tag == "equal":
                yield from _mark(" ", removed)
                continue
            yield from _mark("-", removed)
            yield from _mark("+", after[first + new_from : first + new_to])


def _count_common(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return the number of equal lines at the beginning, and of further equal lines at the end."""
    most = min(len(before), len(after))
    start = 0
    while start < most and before[start] == after[start]:
        start += 1
    end = 0
    while end < most - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, end


def _find_hunks(before: Sequence[str], after: Sequence[str]) -> list[list[tuple[str, int, int, int, int]]]:
    """Return the hunks as groups of opcodes in the form of `difflib`."""
    if len(before) * len(after) > MAX_COMPARISONS:
        return [[("replace", 0, len(before), 0, len(after))]]
    from difflib import SequenceMatcher  # Deferred: it is slow to import.

    return [*SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT)]


def _format_range(first: int, end: int) -> str:
    """Return a range of lines as in the header of a hunk."""
    length = end - first
    start = first + (length > 0)  # An empty range begins at the line before it.
    return str(start) if length == 1 else f"{start},{length}"


def _mark(sign: str, rows: Sequence[str]) -> Iterator[str]:
    for row in rows:
        yield sign + row.rstrip("\r\n")
        if not row.endswith("\n"):
            yield "\\ No newline at end of file"
