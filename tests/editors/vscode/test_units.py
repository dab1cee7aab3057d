"""The tests of the VS Code extension's parts that need no editor, against the real daemon."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.system.environment import empty_environment
from jumpseat.tools.files.server import FileTools
from tests.hub import running_daemons
from tests.processes import block_until_gone

EXTENSION = Path(__file__).parents[3] / "editors" / "vscode"


def test_the_parts_of_the_extension_that_need_no_editor_work(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or not (EXTENSION / "node_modules").is_dir():
        pytest.skip("the packages of the VS Code extension are not installed")
    ran = subprocess.run(
        [npm, "--silent", "test"],
        cwd=EXTENSION,
        env={
            **os.environ,
            "JUMPSEAT": str(Path(sys.executable).with_name("jumpseat")),
            # npm writes logs into the home directory, and would ask the registry for its newest version.
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
            "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        },
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    left = [pid for pid, home in running_daemons().items() if tmp_path in home.parents]
    assert all(block_until_gone(pid, seconds=10) for pid in left), "the tests left a daemon running"


def test_npm_runs_every_test_file_of_the_extension() -> None:
    script = json.loads((EXTENSION / "package.json").read_text("utf-8"))["scripts"]["test"]
    patterns = [word for word in script.split() if word.endswith(".test.ts")]
    run = sorted(path for pattern in patterns for path in EXTENSION.glob(pattern))
    assert run == sorted((EXTENSION / "test").rglob("*.test.ts"))


def test_the_file_tools_are_declared_as_the_daemon_defines_them() -> None:
    environment = empty_environment()
    package = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    declared = package["contributes"]["languageModelTools"]
    server = FileTools(environment, environment.places.config_file)
    assert [(each["name"], each["modelDescription"], each["inputSchema"]) for each in declared] == [
        (f"jumpseat_{tool.name}", tool.description, tool.parameters) for tool in server.known_tools
    ]
