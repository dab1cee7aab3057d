"""The imports and the layers of the Neovim plug-in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PLUGIN = Path(__file__).parents[2] / "editors" / "neovim"

ORDER = ("core", "daemon", "display", "account", "input", "tools", "sources", "chat", "edit", "entry")
"""Every folder of the plug-in's modules, lowest first; `entry` has the files that Neovim itself loads."""

COMPUTED = "a computed name"
"""Stands for a module whose name is computed at run time. No check can follow such an import."""

_STRING = r"""(?P<quote{0}>["'])(?P<name{0}>[^"'\n]*)(?P=quote{0})"""
_TOKEN = re.compile(
    "|".join(
        [
            r"--\[(?P<level>=*)\[.*?\](?P=level)\]",
            r"--[^\n]*",
            r"\brequire\b\s*[(,]?\s*" + _STRING.format(1),
            r"\bpackage\.loaded\s*\[\s*" + _STRING.format(2),
            # This names the module of a source for blink.cmp, which then requires it.
            r"\bmodule\s*=\s*" + _STRING.format(3),
            r"(?P<computed>\brequire\b)",
            r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[(?P<depth>=*)\[.*?\](?P=depth)\])""",
        ]
    ),
    re.DOTALL,
)
_IN_VIM_SCRIPT = re.compile(r"\bv:lua\.require" + _STRING.format(""))
"""A function of a module in the value of an option, such as 'omnifunc'."""


def find_imports(source: str) -> set[str]:
    """Return every module that a file requires, also inside functions, by `pcall` or in an option."""
    found: set[str] = set()
    for token in _TOKEN.finditer(source):
        found |= {token[group] for group in ("name1", "name2", "name3") if token[group]}
        if token["computed"]:
            found.add(COMPUTED)
        if token["text"]:
            found |= {each["name"] for each in _IN_VIM_SCRIPT.finditer(token["text"])}
    return found


def read_imports() -> dict[str, set[str]]:
    """Return the imports of each module, with the names that `require` takes."""
    return {name: find_imports(path.read_text("utf-8")) for name, path in _files()}


def read_layers() -> dict[str, str]:
    """Return the layer of each module: its folder."""
    folders = {name: path.relative_to(PLUGIN).parts[2:-1] for name, path in _files()}
    return {name: each[0] if each else "entry" for name, each in folders.items()}


def _files() -> Iterator[tuple[str, Path]]:
    for path in sorted([*PLUGIN.glob("lua/**/*.lua"), *PLUGIN.glob("plugin/*.lua")]):
        parts = path.relative_to(PLUGIN).with_suffix("").parts
        yield ".".join(part for part in parts if part not in ("lua", "init")), path
