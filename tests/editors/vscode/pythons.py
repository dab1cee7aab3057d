"""The Pythons that the extension finds."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

_MAIN = """
const vscode = require('vscode');
exports.activate = () => ({
  environments: {
    known: [],
    getActiveEnvironmentPath: () => ({ id: 'active', path: 'active' }),
    resolveEnvironment: async ({ id }) => id === 'active' && { executable: { uri: vscode.Uri.file(PATH) } },
  },
});
"""


def create_broken_pythons(directory: Path) -> Path:
    """Create a directory for the PATH that contains broken programs under all names of Python."""
    directory.mkdir()
    for name in ("python3", "python", *(f"python3.{minor}" for minor in range(11, 15))):
        file = directory / name
        file.write_text("#!/bin/sh\nexit 1\n")
        file.chmod(0o755)
    return directory


def create_python_extension(directory: Path, interpreter: Path) -> Path:
    """Create a Python extension with only the part of its API that we use: the active interpreter."""
    file = directory / "python.vsix"
    package = {
        "name": "python",
        "publisher": "ms-python",
        "version": "0.0.1",
        "engines": {"vscode": "^1.127.0"},
        "main": "./main.js",
        "activationEvents": [],
        "capabilities": {"untrustedWorkspaces": {"supported": "limited", "description": "As the real one."}},
    }
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("extension/package.json", json.dumps(package))
        archive.writestr("extension/main.js", _MAIN.replace("PATH", json.dumps(str(interpreter))))
    return file
