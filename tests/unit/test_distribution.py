"""How tests are distributed over processes: expensive fixtures are set up once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CONFTEST = "from tests.conftest import pytest_xdist_make_scheduler\n"
MODULE = """
import os, pytest

{mark}
@pytest.mark.parametrize("number", range(20))
def test_it(number):
    with open("ran_in", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


@pytest.mark.parametrize(("mark", "processes"), [('@pytest.mark.xdist_group("dear")', 1), ("", 2)])
def test_a_module_that_names_a_group_stays_in_one_process(tmp_path: Path, mark: str, processes: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, "utf-8")
    (tmp_path / "test_module.py").write_text(MODULE.format(mark=mark), "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-q"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    workers = (tmp_path / "ran_in").read_text("utf-8").split()
    assert (len(workers), len(set(workers))) == (20, processes)
