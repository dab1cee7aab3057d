"""The scenarios of the editors, the tests that name them, and the tables in the clients' READMEs agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CLIENTS = TESTS.parents[1] / "editors"
EDITORS = ["emacs", "neovim", "vscode"]


def list_ids(page: Path) -> list[str]:
    """Return the ids in the page's table of scenarios."""
    _, _, table = page.read_text("utf-8").partition("\n| id |")
    return re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)


def list_tested_ids(editor: str) -> set[str]:
    """Return the ids that the Python tests of an editor name."""
    return {
        argument.value
        for module in (TESTS / editor).glob("test_*.py")
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.scenario"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def test_every_scenario_has_one_row() -> None:
    listed = list_ids(TESTS / "scenarios.md")
    assert len(listed) == len(set(listed)) > 20


@pytest.mark.parametrize("editor", EDITORS)
def test_the_readme_of_a_client_lists_the_scenarios_that_its_tests_cover(editor: str) -> None:
    listed = list_ids(CLIENTS / editor / "README.md")
    assert list_tested_ids(editor) <= set(list_ids(TESTS / "scenarios.md"))
    assert sorted(listed) == sorted(list_tested_ids(editor))
