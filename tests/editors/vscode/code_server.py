"""VS Code as a server: one process with its own home, extensions and settings."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import jumpseat
from tests.daemon import environment_of
from tests.editors.vscode.published import copy_published
from tests.hub import no_daemon_afterwards

REPOSITORY = Path(__file__).parents[3]
ENVIRONMENT = Path(f"{sys.prefix}-vscode")
"""The environment that `make test-vscode` creates; it contains Node, installed from a wheel."""

PACKAGE = REPOSITORY / "tests/tools/vscode/node_modules/code-server"
DRIVER = Path(__file__).parent / "driver"
DRIVER_ID = "jumpseat-tests.driver"
GRANTED = {DRIVER_ID: ["languageModelSystem"]}
"""The proposed interface that the driver needs to send system messages. In VS Code, Copilot Chat has it."""

VSIX = REPOSITORY / "dist" / f"jumpseat-{jumpseat.__version__}.vsix"
WAIT_SECONDS = 60.0
"""The time that VS Code may take to start on a busy machine."""

SETTINGS = {
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "workbench.startupEditor": "none",
    "workbench.enableExperiments": False,
    "window.menuBarVisibility": "hidden",
    "editor.minimap.enabled": False,
    # A test opens its repository itself.
    "git.autoRepositoryDetection": False,
    "git.openRepositoryInParentFolders": "never",
    "remote.autoForwardPorts": False,
    "files.autoSave": "off",
    # The open file is attached to a question only if a test attaches it.
    "chat.implicitContext.enabled": {"panel": "never"},
    # Nobody signs in to GitHub here, and without this setting, VS Code would start Copilot's own program.
    "chat.agentHost.enabled": False,
}

PATH = "/usr/bin:/bin"


@dataclass
class CodeServer:
    """A running code-server; `home` contains its files and those of the daemon."""

    home: Path
    origin: str
    workspace: Path
    _taken: set[Path]

    @property
    def url(self) -> str:
        """The page that opens the workspace."""
        return f"{self.origin}/?folder={self.workspace}"

    @property
    def drivers(self) -> Path:
        """The directory of the sockets of the test's own extension."""
        return self.home / "drivers"

    def wait_for_driver(self) -> Path:
        """Wait for the socket of the window that was opened last, and return it."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not (new := set(self.drivers.glob("*.sock")) - self._taken):
            assert time.monotonic() < deadline, f"no extension host started\n{self.log()[-2000:]}"
            time.sleep(0.02)
        (found,) = new
        self._taken.add(found)
        return found

    def configure(self, **settings: Any) -> None:
        """Set some machine settings of the extension, such as `path`; None removes a setting."""
        file = self.home / "data/Machine/settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        values = json.loads(file.read_text("utf-8")) if file.exists() else {}
        values |= {f"jumpseat.{name}": value for name, value in settings.items()}
        file.write_text(json.dumps({name: value for name, value in values.items() if value is not None}))

    def log(self) -> str:
        """Return the output of code-server and the logs of the extension hosts."""
        names = ("data/logs/*/exthost*/remoteexthost.log", "data/logs/*/**/jumpseat*.log", "daemon/*.log")
        files = [self.home / "code-server.log", *(file for name in names for file in self.home.glob(name))]
        return "\n".join(f"--- {file}\n{file.read_text('utf-8', 'replace')}" for file in files)


def workspace_of(home: Path) -> Path:
    """Return the folder to open in a VS Code with this home. It is outside the daemon's own directory."""
    return home.with_name(f"{home.name}-files") / "workspace"


def skip_if_programs_are_missing() -> None:
    """Skip the test if Node, code-server, the packed extension or Chromium is missing."""
    for file in (ENVIRONMENT / "bin/node", PACKAGE):
        if not file.exists():
            pytest.skip(f"code-server is not installed ({file} is missing): run `make test-vscode`")
    if not VSIX.exists():
        pytest.skip(f"{VSIX} is not built: run `make vsix`")
    if chromium() is None:
        pytest.skip("Chromium is not installed")


def chromium() -> str | None:
    """Return the path of the browser, if it is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@functools.cache
def _copy_entry() -> Path:
    """Copy code-server at the first call; return the copy's `entry.js`."""
    return copy_published(PACKAGE, REPOSITORY / "build/vscode/code-server", GRANTED)


@contextlib.contextmanager
def running_code_server(
    home: Path,
    *,
    extensions: Sequence[Path] = (VSIX,),
    settings: Mapping[str, Any] | None = None,
    path: str | None = None,
    asks_for_trust: bool = False,
) -> Iterator[CodeServer]:
    """Run a code-server with these extensions and the driver. All its files are below `home`.

    Args:
        path: The PATH; by default, one with the program `jumpseat` of this checkout.
        asks_for_trust: Whether a folder is restricted until someone trusts it.
    """
    skip_if_programs_are_missing()
    server = _prepare(home, settings or {})
    path = path or f"{_write_program(home).parent}:{PATH}"
    # VS Code uses the variables of a login shell.
    (home / ".profile").write_text(f'export PATH="{path}"\n')
    variables = {
        **os.environ,
        **environment_of(home),
        "HOME": str(home),
        "PATH": path,
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "JUMPSEAT_TEST_DRIVERS": str(server.drivers),
    }
    options = [
        *("--user-data-dir", str(home / "data"), "--extensions-dir", str(home / "extensions")),
        *("--config", str(home / "code-server.yaml"), "--auth", "none"),
    ]
    program = [str(ENVIRONMENT / "bin/node"), str(_copy_entry()), *options]
    for extension in extensions:
        installed = subprocess.run(
            [*program, "--install-extension", str(extension)],
            env=variables,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert installed.returncode == 0, installed.stdout + installed.stderr
    with (home / "code-server.log").open("wb") as log, no_daemon_afterwards(home):
        process = subprocess.Popen(
            [
                *program,
                *("--bind-addr", server.origin.removeprefix("http://")),
                *("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"),
                *([] if asks_for_trust else ["--disable-workspace-trust"]),
                # When a window is closed, its extension host ends after two seconds.
                *("--reconnection-grace-time", "2"),
            ],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # The process needs its own group, so that its children can be ended with it.
            start_new_session=True,
        )
        try:
            _wait_until_it_answers(server.origin, process)
            yield server
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait(10)


def _prepare(home: Path, settings: Mapping[str, Any]) -> CodeServer:
    workspace, drivers = workspace_of(home), home / "drivers"
    for directory in (workspace, drivers, home / "data/User", home / "extensions"):
        directory.mkdir(parents=True)
    (home / "data/User/settings.json").write_text(json.dumps({**SETTINGS, **settings}))
    # VS Code regards folders that exist before the first start as installed extensions.
    shutil.copytree(DRIVER, home / f"extensions/{DRIVER_ID}-0.0.1")
    return CodeServer(home, f"http://127.0.0.1:{_find_free_port()}", workspace, set())


def _write_program(home: Path) -> Path:
    """Write the program `jumpseat`, because this environment may have no scripts."""
    file = home / "bin/jumpseat"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m jumpseat "$@"\n')
    file.chmod(0o755)
    return file


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(origin: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        assert process.poll() is None, "code-server has ended"
        try:
            with urllib.request.urlopen(f"{origin}/healthz", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            assert time.monotonic() < deadline, "code-server does not answer"
            time.sleep(0.05)
