"""Copy code-server, and restore a check of VS Code that code-server removes.

The check refuses proposed interfaces to extensions. In the published VS Code, it refuses them to all
extensions from the marketplace.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

_CHECK = re.compile(
    r"function (?P<name>[\w$]+)\((?P<extension>[\w$]+),(?P<proposal>[\w$]+)\)\{return!0\}"
    r"(?=function [\w$]+\([\w$]+,[\w$]+\)\{if\(!(?P=name)\([\w$]+,[\w$]+\)\)"
    r"throw new Error\(`Extension '\$\{[\w$]+\.identifier\.value\}' CANNOT use API proposal)"
)
_CHECKED = r"function \g<name>(\g<extension>,\g<proposal>)" + (
    r"{return!!\g<extension>.enabledApiProposals?.includes(\g<proposal>)}"
)
_GRANTED_TO_ALL = re.compile(r"_envEnablesProposedApiForAll=!0")
_PRODUCT = re.compile(r"(?=\bcodeServerVersion:\")")


def copy_published(installed: Path, directory: Path, granted: Mapping[str, Sequence[str]]) -> Path:
    """Copy code-server into a directory and restore the check; return the copy's `entry.js`.

    Args:
        installed: The directory of code-server's package.
        granted: The proposed interfaces that each extension may use, by its id.
    """
    shutil.rmtree(directory, ignore_errors=True)
    code, source = directory / "lib/vscode", installed / "lib/vscode"
    code.mkdir(parents=True)
    shutil.copytree(installed / "out", directory / "out")
    shutil.copyfile(installed / "package.json", directory / "package.json")
    (directory / "node_modules").symlink_to(installed.parent)
    # Most of VS Code is linked: 42 MB are copied instead of 600 MB.
    for each in source.iterdir():
        if each.name != "out":
            (code / each.name).symlink_to(each)
    shutil.copytree(source / "out", code / "out")
    host = code / "out/vs/workbench/api/node/extensionHostProcess.js"
    page = code / "out/vs/code/browser/workbench/workbench.js"
    _replace(host, _CHECK, _CHECKED)
    _replace(page, _CHECK, _CHECKED)
    _replace(page, _GRANTED_TO_ALL, "_envEnablesProposedApiForAll=!1")
    _replace(page, _PRODUCT, f"extensionEnabledApiProposals:{json.dumps(granted)},")
    return directory / "out/node/entry.js"


def _replace(file: Path, pattern: re.Pattern[str], replacement: str) -> None:
    text, count = pattern.subn(replacement, file.read_text("utf-8"))
    assert count == 1, f"{file} of this code-server has {count} places like {pattern.pattern}"
    file.write_text(text, "utf-8")
