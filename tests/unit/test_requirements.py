"""The manifest of requirements and the tests that name its rows agree, in both directions."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parents[1]

MAX_TESTS_OF_A_ROW = 12
"""A requirement with more tests than this should be divided into several rows."""


def rows_named_in(source: str) -> list[str]:
    """Return the ids in all `pytest.mark.requirement(…)` of a module, once for each mark."""
    return [
        argument.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _is_mark(node.func)
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def _is_mark(called: ast.expr) -> bool:
    # The name is compared first, because unparsing every call would take seconds.
    return (
        isinstance(called, ast.Attribute)
        and called.attr == "requirement"
        and ast.unparse(called.value) == "pytest.mark"
    )


@functools.cache
def rows_and_their_tests() -> dict[str, list[str]]:
    """Return the modules whose tests name a requirement, by its id."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for row in rows_named_in(path.read_text("utf-8")):
            found[row].append(str(path.relative_to(TESTS)))
    return found


def test_every_row_that_a_test_names_exists() -> None:
    assert {row: where for row, where in rows_and_their_tests().items() if row not in REQUIREMENTS} == {}


def test_every_row_that_is_not_deferred_has_a_test() -> None:
    expected = {row for row, each in REQUIREMENTS.items() if each.deferred is None}
    assert expected - rows_and_their_tests().keys() == set()


def test_no_deferred_row_has_a_test() -> None:
    deferred = {row for row, each in REQUIREMENTS.items() if each.deferred is not None}
    assert deferred & rows_and_their_tests().keys() == set()


def test_a_row_is_not_shared_by_more_than_a_dozen_tests() -> None:
    counts = {row: len(where) for row, where in rows_and_their_tests().items()}
    assert {row: count for row, count in counts.items() if count > MAX_TESTS_OF_A_ROW} == {}


def test_a_row_has_a_behaviour_and_a_source() -> None:
    assert [row for row, each in REQUIREMENTS.items() if not (each.behaviour and each.source)] == []


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("@pytest.mark.requirement('a', 'b')\ndef test_x(): ...", {"a", "b"}),
        ("class TestX:\n    @pytest.mark.requirement('c')\n    async def test_y(self): ...", {"c"}),
        ("pytestmark = pytest.mark.requirement('d')", {"d"}),
        ("x = [pytest.param(1, marks=pytest.mark.requirement('e'))]", {"e"}),
        ("@pytest.mark.slow\ndef test_z(): 'pytest.mark.requirement'", set()),
    ],
)
def test_the_search_finds_the_marks(source: str, rows: set[str]) -> None:
    assert set(rows_named_in(source)) == rows
