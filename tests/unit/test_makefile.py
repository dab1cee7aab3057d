"""The Makefile: set-ups that recover, and targets that say how long they take."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ("jumpseat", "mypy", "pip", "pytest", "python", "ruff")
STAMPS = (".chat-ready", ".test-ready", ".ready")
HELP = dict(re.findall(r"^([a-z-]+):.*## (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
TAKES_TIME = re.compile(r"\b(a|an|\d+) (minutes?|hour)\b")

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]


def make(environment: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in the checkout, with this environment and the ones beside it instead of the usual ones."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", f"VENV={environment}", f"PYTHON={sys.executable}", *arguments],
        cwd=ROOT, env=variables, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """Environments that are set up, with programs that do nothing."""
    for kind in ("", "-lint", "-lowest", "-litellm", "-mutants"):
        programs = tmp_path / f"env{kind}" / "bin"
        programs.mkdir(parents=True)
        for name in PROGRAMS:
            (programs / name).write_text('#!/bin/sh\necho "started $(basename "$0")"\n')
            (programs / name).chmod(0o755)
        for name in STAMPS:
            (programs.parent / name).touch()
    return tmp_path / "env"


@pytest.mark.parametrize(
    "target", ["test", "test-neovim", "test-emacs", "test-slow", "test-lowest", "lint", "bench", "mutants"]
)
def test_a_target_first_prints_its_description_and_duration(environments: Path, target: str) -> None:
    done = make(environments, target)

    assert done.returncode == 0, done.stderr
    before, announced, _ = done.stdout.partition(f"{HELP[target]}...\n")
    assert announced
    assert TAKES_TIME.search(HELP[target])
    assert "started pytest" not in before
    assert "started mypy" not in before


def test_every_run_of_tests_is_announced_with_its_time() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    recipes = dict(re.findall(r"^([a-z-]+):.*##.*\n((?:\t.*\n)+)", text, re.MULTILINE))
    running = [name for name, recipe in recipes.items() if re.search(r"/pytest|/mypy|tests\.", recipe)]

    assert len(running) > 8
    for name in running:
        # These targets run programs in `tests/tools/`, but no tests.
        if name not in ("pictures", "manual", "version", "archives"):
            assert recipes[name].startswith("\t$(ANNOUNCE)\n"), name
            assert TAKES_TIME.search(HELP[name]), name


@pytest.mark.slow
def test_pip_is_installed_into_an_environment_without_it(tmp_path: Path) -> None:
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=60)
    kept = environment / "kept"
    kept.touch()

    done = make(environment, str(environment / "bin" / "pip"))
    assert done.returncode == 0, done.stderr
    found = subprocess.run(
        [environment / "bin" / "python", "-m", "pip", "--version"], capture_output=True, check=False
    )
    assert found.returncode == 0
    assert kept.exists()


def test_a_python_that_cannot_install_pip_is_reported(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$1" = -c ]\n')
    python.chmod(0o755)
    done = make(tmp_path / "env", f"PYTHON={python}", str(tmp_path / "env" / "bin" / "pip"))

    assert done.returncode != 0
    assert f"{tmp_path / 'env'} has no pip. Install what venv needs" in done.stdout
