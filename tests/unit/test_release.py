"""The package's metadata, the matrix of systems and the support table agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools.manual import PAGE, manual

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = [
    row.rpartition(" ")[2] for row in PROJECT["classifiers"] if re.fullmatch(r"Programming.*:: 3\.\d+", row)
]


def jobs() -> dict[str, Any]:
    workflow: Any = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
    found: dict[str, Any] = workflow["jobs"]
    return found


def matrix() -> dict[str, list[str]]:
    axes: dict[str, list[str]] = jobs()["quick"]["strategy"]["matrix"]
    return axes


SCRIPTS = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
LINES = [line for script in SCRIPTS for line in script.splitlines()]


def test_each_python_of_the_metadata_is_in_the_matrix() -> None:
    pythons = matrix()["python"]
    assert set(PYTHONS) <= set(pythons)
    assert PROJECT["requires-python"] == f">={pythons[0]}"


def test_the_matrix_has_each_system_and_the_oldest_and_newest_dependencies() -> None:
    assert matrix()["os"] == ["ubuntu", "macos", "windows"]
    assert matrix()["dependencies"] == ["lowest", "newest"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("script", SCRIPTS)
def test_each_step_of_the_workflow_is_valid_shell(script: str) -> None:
    # GitHub replaces the expressions before the shell sees them.
    text = re.sub(r"\$\{\{.*?\}\}", "x", script)
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, encoding="utf-8", check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_extras_markers_and_files_in_the_workflow_exist() -> None:
    text = "\n".join(LINES)
    extras = PROJECT["optional-dependencies"]
    named = [extra for group in re.findall(r"\.\[([a-z,]+)\]", text) for extra in group.split(",")]
    named += re.findall(r"--extra (\w+)", text)
    markers = {
        row.partition(":")[0]
        for row in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"][
            "ini_options"
        ]["markers"]
    }
    (marked,) = re.findall(r'-m "([^"]+)"', text)

    assert set(named) == {"keyring", "local", "mcp", "test"}
    assert set(named) <= set(extras)
    assert set(re.findall(r"\w+", marked)) - {"not", "and", "or"} <= markers
    assert [
        path for path in re.findall(r"(?<![\w./])\.?\w+/[\w/.]+", text) if not (ROOT / path).exists()
    ] == []
    assert all((ROOT / path).is_file() for path in (".ci/run", "pyproject.toml"))


def test_the_oldest_dependencies_of_the_workflow_match_the_makefile() -> None:
    def words(line: str) -> list[str]:
        return [word for word in line.split() if word.startswith("--") or word in ("lowest-direct", ":all:")]

    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    (here,) = [line for line in LINES if "uv pip compile" in line]
    (there,) = [line for line in makefile.splitlines() if "uv pip compile" in line]
    pins = [re.findall(r"'uv[^']*'", text) for text in ("\n".join(LINES), makefile)]

    # The Makefile also trusts the certificates of the machine, which GitHub's runners do not need.
    assert words(here) == [word for word in words(there) if word != "--system-certs"]
    assert pins[0] == pins[1] != []


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


def test_the_manual_page_matches_the_commands() -> None:
    assert PAGE.read_text("utf-8") == manual(), "run `make manual`"
