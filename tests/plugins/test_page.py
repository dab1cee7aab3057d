"""The page for authors of plug-ins shows the example's code, and the example imports only public names."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from jumpseat.adapters.http.hooks import HttpAdapter
from jumpseat.config import load_config
from jumpseat.providers import BUILT_IN, KINDS
from tests.plugins import EXAMPLE
from tests.unit.pages import DOCS, fences, names_in, read, spans, table

PLUGINS = DOCS / "plugins.md"
SOURCES = sorted([*EXAMPLE.rglob("*.py"), EXAMPLE / "pyproject.toml"])
PUBLIC = {
    "jumpseat.chat",
    "jumpseat.adapters.base",
    "jumpseat.adapters.http.hooks",
    "jumpseat.dialects",
    "jumpseat.http",
    "jumpseat.testing",
    "jumpseat.tools.server",
}


@pytest.mark.requirement("7:plugins")
@pytest.mark.parametrize("block", [block for each in ("python", "toml") for block in fences(PLUGINS, each)])
def test_every_block_of_code_on_the_page_is_in_the_example(block: str, tmp_path: Path) -> None:
    if block.startswith("[providers."):  # A user's configuration is not part of the example.
        file = tmp_path / "config.toml"
        file.write_text(block, "utf-8")
        (provider,) = load_config(file, None, built_in=BUILT_IN, kinds=KINDS).providers.values()
        assert f"\n{provider.kind} = " in read(EXAMPLE / "pyproject.toml")
        return
    # A block may show several pieces of the example, separated by blank lines.
    pieces = [block] if any(block in read(path) for path in SOURCES) else block.split("\n\n")
    assert [piece for piece in pieces if not any(piece.strip("\n") in read(path) for path in SOURCES)] == []


def test_the_page_shows_each_part_of_a_plug_in() -> None:
    shown = "".join(fences(PLUGINS, "python"))

    for needed in (
        "class Echo(Adapter)",
        "class Parlour(HttpAdapter)",
        "def _take(self",
        "(AdapterContract)",
        "class Shed(ToolServer)",
    ):
        assert needed in shown
    assert "group `jumpseat.adapters`" in read(PLUGINS)
    assert "`jumpseat.tools`" in read(PLUGINS)


def test_the_smallest_provider_has_at_most_ten_lines() -> None:
    echo = ast.parse(read(EXAMPLE / "src" / "jumpseat_example" / "echo.py"))
    (adapter,) = [node for node in echo.body if isinstance(node, ast.ClassDef)]

    assert adapter.end_lineno is not None
    assert adapter.end_lineno - adapter.lineno + 1 <= 10


def test_the_table_of_hooks_lists_the_hooks_of_the_base_class_in_order() -> None:
    hooks = names_in(table(PLUGINS, "hook", "returns"))
    methods = [
        name for name, value in vars(HttpAdapter).items() if inspect.isfunction(value) and name[0] != "_"
    ]
    others = {"call", "form_body", "fetch_models", "stream", "aclose"}

    assert [name for name in methods if name not in others] == hooks
    assert others <= {*methods}
    documented = [name for name in spans(" ".join((HttpAdapter.__doc__ or "").split())) if name in hooks]
    assert documented == hooks


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.suffix == ".py"], ids=lambda path: path.name
)
def test_the_example_imports_only_public_names_of_jumpseat(path: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")

    assert {name for name in imported if re.match(r"jumpseat(\.|$|_client)", name)} <= PUBLIC
