"""The script by which every editor installs the daemon, run as editors run it."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.editors.programs import WAIT_SECONDS
from tests.processes import block_until_gone, descendants

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "editors" / "bootstrap.py"
FAILED, CANCELLED = 20, 21

UV = f"""#!{sys.executable}
# Does the steps of an installation and records them. It waits if the requirement contains "gate", and fails
# if it contains "wrong".
import pathlib, sys, time

here = pathlib.Path(__file__).parent
with (here / "steps").open("a") as steps:
    steps.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "venv":
    (pathlib.Path(sys.argv[-1]) / "bin").mkdir(parents=True)
else:
    requirement = sys.argv[-1]
    for _ in range(6000 if "gate" in requirement else 0):
        if (here / "go").exists():
            break
        time.sleep(0.01)  # Poll, because no event reports a new file.
    if "wrong" in requirement:
        print("error: No matching distribution for", requirement)
        sys.exit("See the documentation")
    print("Collecting pydantic>=2 (from jumpseat)", "Resolved 9 packages in 1s", sep="\\n")
    print("Downloading pydantic-2.whl (1 MB)", "Installing collected packages: pydantic", sep="\\n")
    program = pathlib.Path(sys.argv[-2]).with_name("jumpseat")
    program.write_text("#!/bin/sh\\necho jumpseat 1.2.3\\n")
    program.chmod(0o755)
"""

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="the uv of these tests is a script with a shebang")


class Machine:
    """A directory with the installations of one editor, and a uv that a test controls."""

    def __init__(self, root: Path) -> None:
        self.root, self.directory = root, root / "daemon"
        self.uv = root / "uv"
        self.uv.write_text(UV)
        self.uv.chmod(0o755)
        self.started: list[subprocess.Popen[str]] = []

    @property
    def steps(self) -> list[str]:
        """The commands that uv received."""
        file = self.root / "steps"
        return (
            [re.sub(r" /.*/", " ", line) for line in file.read_text().splitlines()] if file.exists() else []
        )

    @property
    def program(self) -> Path:
        """The program that an editor starts."""
        return Path(json.loads((self.directory / "current.json").read_text())["program"])

    @property
    def environments(self) -> set[str]:
        """The names of the environments in the directory."""
        return {entry.name for entry in self.directory.iterdir() if entry.is_dir()}

    def begin(
        self, *arguments: str, command: list[str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start an installation, with this uv unless another command is named."""
        call = command or [sys.executable, str(SCRIPT), "--uv", str(self.uv)]
        with (self.root / "log").open("a") as log:
            process = subprocess.Popen(
                [*call, "--directory", str(self.directory), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                **options,
            )
        self.started.append(process)
        return process

    def install(self, *arguments: str, **options: Any) -> tuple[int, list[str]]:
        """Install, and return the exit code and the lines of progress without the elapsed seconds."""
        return finish(self.begin(*arguments, **options))

    def open_gate(self) -> None:
        """Let uv continue with an installation that waits."""
        (self.root / "go").touch()


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Wait until an installation ends. Return its exit code and its progress without seconds or repetitions.

    Do not close its standard input, which would cancel it.
    """
    assert process.stdout is not None
    lines = [re.sub(r" \(\d+ s\)$", "", line) for line in process.stdout.read().splitlines()]
    return process.wait(WAIT_SECONDS), list(dict.fromkeys(lines))


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)  # Poll, because files and processes report no events.


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine on which nothing is installed."""
    made = Machine(tmp_path)
    yield made
    made.open_gate()
    for process in made.started:
        with process:
            process.kill()


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with the program `jumpseat` and nothing else."""
    file = tmp_path / "jumpseat-9.9-py3-none-any.whl"
    info = "jumpseat-9.9.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("jumpseat.py", "def main(): print('jumpseat 9.9\\npygls 2')\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: jumpseat\nVersion: 9.9\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\njumpseat = jumpseat:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return file


def test_python_installs_a_wheel_which_a_second_run_keeps(
    machine: Machine, wheel: Path, tmp_path: Path
) -> None:
    # `python -m` would import these modules from the current directory, which may be a workspace.
    for name in ("venv.py", "pip.py"):
        (tmp_path / name).write_text("raise SystemExit('a module of the workspace')")
    python = [sys.executable, str(SCRIPT)]

    code, lines = machine.install("--key", "9.9", wheel.as_uri(), command=python, cwd=tmp_path)

    assert (code, lines[-1]) == (0, "jumpseat 9.9 is installed."), (machine.root / "log").read_text()
    ran = subprocess.run(
        [machine.program, "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.startswith("jumpseat 9.9\n")
    first = machine.program
    assert machine.install("--key", "9.9", wheel.as_uri(), command=python)[0] == 0
    assert machine.program == first
    assert machine.environments == {first.parents[1].name}


def test_the_wheel_beside_the_script_is_installed_without_a_requirement(
    machine: Machine, wheel: Path, tmp_path: Path
) -> None:
    plugin = tmp_path / "a plug-in"
    plugin.mkdir()
    shutil.copy(SCRIPT, plugin)
    shutil.copy(wheel, plugin)

    code, lines = machine.install("--key", "9.9", command=[sys.executable, str(plugin / SCRIPT.name)])

    assert (code, lines[-1]) == (0, "jumpseat 9.9 is installed."), (machine.root / "log").read_text()


@POSIX
def test_without_a_wheel_the_checkout_is_installed(machine: Machine, tmp_path: Path) -> None:
    # An editor's plug-in manager may link to the script.
    link = tmp_path / SCRIPT.name
    link.symlink_to(SCRIPT)
    checkout = SCRIPT.parents[1].as_uri()

    code, _ = machine.install("--key", "1", command=[sys.executable, str(link), "--uv", str(machine.uv)])

    assert code == 0
    assert f" jumpseat[local,keyring,mcp] @ {checkout}\n" in (machine.root / "log").read_text()


def test_a_copy_of_the_script_alone_does_not_ask_the_package_index(machine: Machine, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(SCRIPT, alone)

    code, lines = machine.install("--key", "1", command=[sys.executable, str(alone / SCRIPT.name)])

    reason = f"{alone} contains no wheel and is not in a checkout."
    assert (code, lines[-1]) == (FAILED, f"The installation of jumpseat failed: {reason}")
    assert not machine.directory.exists()


def test_without_a_network_the_installation_fails_with_the_reason_from_pip(machine: Machine) -> None:
    environment = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}

    code, lines = machine.install(
        "--key", "1", "jumpseat==1", command=[sys.executable, str(SCRIPT)], env=environment
    )

    reason = "No matching distribution found for jumpseat==1"
    assert (code, lines[-1]) == (FAILED, f"The installation of jumpseat failed: {reason}.")
    assert machine.environments == set()


def test_the_script_parses_on_python_3_6() -> None:
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("import sys; sys.version_info = (3, 9, 18)", "Python 3.9 is too old: jumpseat needs 3.11 or newer."),
        (
            "import importlib.util as u; u.find_spec = {}.get",
            "This Python cannot create virtual environments",
        ),
    ],
)
def test_a_python_that_cannot_install_exits_with_code_1(machine: Machine, change: str, reason: str) -> None:
    run = f"{change}; exec(compile(open({str(SCRIPT)!r}).read(), 'bootstrap.py', 'exec'))"

    code, lines = machine.install("--key", "1", "jumpseat", command=[sys.executable, "-c", run])

    assert (code, lines) == (1, [])
    assert reason in (machine.root / "log").read_text()


@POSIX
def test_the_progress_of_uv_is_shown_and_its_output_logged(machine: Machine) -> None:
    code, lines = machine.install("--key", "1", "~/jumpseat[local]")

    assert code == 0
    assert lines == [
        "Creating a Python environment",
        "Installing packages",
        "Installing packages: pydantic",
        "Installing packages: Resolved 9 packages",
        "Installing packages: pydantic-2.whl",
        "Installing packages: unpacking",
        "Checking the installation",
        "jumpseat 1.2.3 is installed.",
    ]
    log = (machine.root / "log").read_text()
    assert (
        f"pip install --python {machine.program.with_name('python')} {Path.home()}/jumpseat[local]\n" in log
    )
    assert "Downloading pydantic-2.whl (1 MB)\n" in log


@POSIX
def test_a_step_that_prints_nothing_shows_how_long_it_has_taken(machine: Machine) -> None:
    process = machine.begin("--key", "1", "gate")
    assert process.stdout is not None
    wait_until(lambda: re.fullmatch(r"Installing packages \([1-9] s\)\n", process.stdout.readline()))


@POSIX
def test_the_next_requirement_is_tried_if_one_cannot_be_installed(machine: Machine) -> None:
    assert machine.install("--key", "1", "wrong", "right")[0] == 0
    assert [step.split()[-1] for step in machine.steps[1:]] == ["wrong", "right"]


@POSIX
def test_a_failed_installation_keeps_the_previous_one(machine: Machine) -> None:
    machine.install("--key", "1", "right")
    before = machine.program

    code, lines = machine.install("--key", "2", "wrong")

    reason = "The installation of jumpseat failed: No matching distribution for wrong."
    assert (code, lines[-1]) == (FAILED, reason)
    assert machine.program == before
    assert machine.environments == {before.parents[1].name}


@POSIX
def test_a_new_key_keeps_the_previous_installation_and_removes_older_ones(machine: Machine) -> None:
    programs = []
    for key in ("1", "2", "3"):
        assert machine.install("--key", key, "right")[0] == 0
        programs.append(machine.program)

    assert [each.exists() for each in programs] == [False, True, True]


@POSIX
def test_an_installation_is_replaced_on_request_or_if_it_no_longer_works(machine: Machine) -> None:
    machine.install("--key", "1", "right")
    first = machine.program
    machine.install("--key", "1", "--again", "right")
    second = machine.program
    second.write_text("#!/no/python\n")
    machine.install("--key", "1", "right")

    assert len({first, second, machine.program}) == 3


@POSIX
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[1]",
        b'{"key": "1"}',
        b'{"key": "1", "program": 2}',
        b'{"key": "2", "program": ""}',
    ],
)
def test_a_corrupt_record_of_the_installation_is_replaced(machine: Machine, content: bytes) -> None:
    machine.directory.mkdir()
    (machine.directory / "current.json").write_bytes(content)

    code, lines = machine.install("--key", "1", "right")

    assert (code, lines[-1]) == (0, "jumpseat 1.2.3 is installed."), (machine.root / "log").read_text()
    assert machine.environments == {machine.program.parents[1].name}


@POSIX
def test_two_concurrent_installers_install_once(machine: Machine) -> None:
    both = [machine.begin("--key", "1", "gate") for _ in range(2)]
    lines = {each: each.stdout.readline() for each in both if each.stdout}
    # Wait until the installer that has the lock is in its second step.
    wait_until(lambda: len(machine.steps) == 2)
    assert any(line.startswith("Waiting for another installation") for line in lines.values())
    machine.open_gate()

    assert [finish(each)[0] for each in both] == [0, 0]
    assert len(machine.steps) == 2
    assert machine.environments == {machine.program.parents[1].name}


@POSIX
def test_a_killed_installer_releases_its_lock_and_its_files_are_removed(machine: Machine) -> None:
    killed = machine.begin("--key", "1", "gate")
    wait_until(lambda: len(machine.steps) == 2)
    (incomplete,) = machine.environments
    killed.send_signal(signal.SIGKILL)
    killed.wait()

    code, lines = machine.install("--key", "1", "right")

    assert code == 0
    assert "Waiting for another installation" not in lines
    assert incomplete not in machine.environments


@POSIX
def test_the_end_of_the_editor_cancels_the_installation(machine: Machine) -> None:
    process = machine.begin("--key", "1", "gate")
    wait_until(lambda: len(machine.steps) == 2)
    children = descendants(process.pid)
    assert children
    assert process.stdin is not None
    process.stdin.close()

    code, lines = finish(process)

    assert (code, lines[-1]) == (CANCELLED, "The installation of jumpseat was cancelled.")
    assert all(block_until_gone(pid, WAIT_SECONDS) for pid in children)
    assert machine.environments == set()


@POSIX
def test_a_directory_that_cannot_be_written_is_reported(machine: Machine) -> None:
    machine.directory.write_text("A file is here.")

    code, lines = machine.install("--key", "1", "right")

    assert code == FAILED
    assert re.fullmatch(r"The installation of jumpseat failed: .*File exists.*\.", lines[-1])
