"""An extension with the part of the Python extension's API that is used: its active interpreter."""

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


def python_extension(directory: Path, interpreter: Path) -> Path:
    """Write the extension into a directory and return its file."""
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
