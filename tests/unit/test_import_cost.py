"""What importing costs: measured by what a fresh interpreter has loaded afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """\
import sys
before = set(sys.modules)
import {module}
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(loaded - sys.stdlib_module_names))
"""


def third_party_modules_after_importing(module: str, directory: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module=module)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=directory,
    )
    return set(done.stdout.split())


def test_importing_jumpseat_loads_nothing_else(tmp_path: Path) -> None:
    assert third_party_modules_after_importing("jumpseat", tmp_path) == {"jumpseat"}


@pytest.mark.parametrize("module", ["jumpseat.rpc.serve", "jumpseat_client"])
def test_the_daemon_and_the_client_load_no_http_no_terminal_and_no_model(module: str, tmp_path: Path) -> None:
    loaded = third_party_modules_after_importing(module, tmp_path)

    assert loaded & {"httpx2", "httpx", "click", "rich", "xllamacpp", "keyring"} == set()
    assert "jumpseat" in loaded


def test_the_vocabulary_needs_no_third_party_library(tmp_path: Path) -> None:
    assert third_party_modules_after_importing("jumpseat.chat", tmp_path) == {"jumpseat"}
