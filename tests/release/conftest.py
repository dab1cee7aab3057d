"""Fixtures for tests that install each file of `dist/` in an empty home and ask a question.

Run `make dist` first to build the files. A missing file is a failure, not a reason to skip.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.packaging.home import Home

ROOT = Path(__file__).parents[2]
QUESTION = "In one sentence, what is the capital of France?"
INSTALL_SECONDS = 400.0
"""The time limit for one installation with its downloads, on a busy machine."""


def answer_in(chat: str) -> str:
    """Return the answer in the text of an editor's chat. Fail if there is none."""
    found = re.search(r"^## Assistant\b[^\n]*\n(.*?)(?=^## Me$|\Z)", chat, re.MULTILINE | re.DOTALL)
    assert found is not None, chat
    return found[1].strip()


@pytest.fixture(scope="session")
def built() -> Callable[[str], Path]:
    """Return a function that finds a file in `dist/` by its name, in which `{}` stands for the version."""

    def find(name: str) -> Path:
        file = ROOT / "dist" / name.format(__version__)
        assert file.is_file(), f"{file} is missing: run `make dist`"
        return file

    return find


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Create an empty home directory with a Python on the PATH. An editor's daemon ends with the test."""
    directory = tmp_path / "user"
    (directory / ".local/bin").mkdir(parents=True)
    # The interpreter of the virtual environment could import the packages that are installed there.
    (directory / ".local/bin/python3").symlink_to(sys._base_executable)
    home = Home(directory)
    yield home
    for current in directory.rglob("current.json"):
        home.stop_daemon(json.loads(current.read_text("utf-8"))["program"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test in this directory, and skip it if this system does not use HOME."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(600))
            if os.name != "posix":
                item.add_marker(pytest.mark.skip(reason="HOME sets the home directory only on POSIX"))
