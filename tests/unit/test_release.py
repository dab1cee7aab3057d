"""What a release promises agrees: the package's metadata, the matrix of systems, the support table."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.tools.manual import PAGE, manual

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = [
    row.rpartition(" ")[2] for row in PROJECT["classifiers"] if re.fullmatch(r"Programming.*:: 3\.\d+", row)
]


def matrix() -> dict[str, list[str]]:
    workflow: Any = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
    axes: dict[str, list[str]] = workflow["jobs"]["quick"]["strategy"]["matrix"]
    return axes


def test_each_python_of_the_metadata_is_in_the_matrix() -> None:
    pythons = matrix()["python"]
    assert set(PYTHONS) <= set(pythons)
    assert PROJECT["requires-python"] == f">={pythons[0]}"


def test_the_matrix_has_each_system_and_the_oldest_and_newest_dependencies() -> None:
    assert matrix()["os"] == ["ubuntu", "macos", "windows"]
    assert matrix()["dependencies"] == ["lowest", "newest"]


def test_the_support_table_names_each_python_of_the_metadata() -> None:
    table = [
        line for line in (ROOT / "README.md").read_text("utf-8").splitlines() if line.startswith("| Python")
    ]
    for version in (c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)):
        assert any(version in row for row in table), version


def test_the_notice_names_the_source_of_each_file_of_foreign_data() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    data = list((ROOT / "server").rglob("*.json"))
    assert data
    for path in data:
        assert path.relative_to(ROOT).as_posix() in notice


def test_the_manual_page_is_that_of_the_commands() -> None:
    assert PAGE.read_text("utf-8") == manual(), "run `make manual`"
