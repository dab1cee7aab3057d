"""The packages for Emacs and Neovim that `make archives` builds."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat import __version__
from tests.tools.archives import build_emacs_package, build_neovim_archive

ROOT = Path(__file__).parents[2]
WHEEL = f"jumpseat-{__version__}-py3-none-any.whl"
SHARED = {"README.md", "LICENSE", "bootstrap.py", WHEEL}


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A directory with a wheel."""
    (tmp_path / WHEEL).write_bytes(b"a wheel")
    return tmp_path


def files_in(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as opened:
        found = {each.name: opened.extractfile(each) for each in opened if each.isfile()}
        return {name: file.read() for name, file in found.items() if file is not None}


def test_the_emacs_package_contains_the_wheel_and_what_package_el_requires(dist: Path) -> None:
    files = files_in(build_emacs_package(dist))

    top = f"jumpseat-{__version__}"
    sources = {file.name for file in (ROOT / "editors/emacs").glob("*.el")}
    assert files.keys() == {
        f"{top}/{name}" for name in {*sources, *SHARED, "jumpseat-pkg.el", "jumpseat.info", "dir"}
    }
    assert files[f"{top}/{WHEEL}"] == b"a wheel"
    description = files[f"{top}/jumpseat-pkg.el"].decode()
    assert f'(define-package "jumpseat" "{__version__}" "Chat with' in description
    assert """'((emacs "28.1"))""" in description


def test_the_neovim_archive_contains_only_the_wheel_and_the_plug_in(dist: Path) -> None:
    files = files_in(build_neovim_archive(dist))

    top = {name.split("/")[1] for name in files}
    assert {name.split("/")[0] for name in files} == {"jumpseat"}
    assert top == {"doc", "lua", "plugin", *SHARED}
    assert {"jumpseat/plugin/jumpseat.lua", "jumpseat/doc/tags"} <= files.keys()


@pytest.mark.parametrize(
    ("build", "editor"), [(build_emacs_package, "emacs"), (build_neovim_archive, "neovim")]
)
def test_the_links_of_a_packaged_readme_lead_to_the_repository(
    build: Callable[[Path], Path], editor: str, dist: Path
) -> None:
    [text] = [
        content.decode() for name, content in files_in(build(dist)).items() if name.endswith("README.md")
    ]
    links = re.findall(r"\]\(([^)#][^)]*)\)", text)

    base = f"https://github.com/jumpseat/jumpseat/blob/v{__version__}/"
    paths = [link.removeprefix(base).partition("#")[0] for link in links]
    assert "README.md" in paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    assert text.startswith(f"# jumpseat for {editor.title()}\n")


@pytest.mark.parametrize("build", [build_emacs_package, build_neovim_archive])
def test_two_builds_are_equal(build: Callable[[Path], Path], dist: Path) -> None:
    first = build(dist).read_bytes()

    assert build(dist).read_bytes() == first
