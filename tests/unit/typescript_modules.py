"""The imports and the layers of the VS Code extension."""

from __future__ import annotations

import os.path
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "editors" / "vscode" / "src"

ORDER = (
    *("base", "daemon", "provider"),
    *("ui/common", "ui/text", "ui/input", "ui/account", "ui/tools", "ui/completions", "ui/chat", "ui/edit"),
    *("ui/scm", "ui/transcripts", "ui/conversations", "entry"),
)
"""Every folder of the extension, lowest first; the files in `entry` start and register all parts."""

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r"|\b(?:from|import|require)\b\s*\(?\s*(?P<quote>['\"])(?P<path>[^'\"\n]*)(?P=quote)"
    r"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`",
    re.DOTALL,
)


def find_imports(source: str) -> set[str]:
    """Return every path that a file imports or exports from, including imports of types."""
    return {token["path"] for token in _TOKEN.finditer(source) if token["path"]}


def read_imports() -> dict[str, set[str]]:
    """Return the imports of each file; both are paths below the source, without the suffix."""
    return {
        name: {_resolve(name, path) if path.startswith(".") else path for path in find_imports(text)}
        for name, text in ((_name(path), path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.ts")))
    }


def read_layers() -> dict[str, str]:
    """Return the layer of each file: its folder, or the folder of `ORDER` that contains its folder."""
    return {name: _layer(name) for name in map(_name, SOURCE.rglob("*.ts"))}


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").as_posix()


def _layer(name: str) -> str:
    folder, _, _ = name.rpartition("/")
    return next((layer for layer in ORDER if f"{folder}/".startswith(f"{layer}/")), "entry")


def _resolve(name: str, path: str) -> str:
    target = os.path.normpath(f"{name}/../{path}").replace(os.sep, "/")
    return f"{target}/index" if (SOURCE / target).is_dir() else target
