"""No text installs jumpseat by its bare name, and no editor names a command that its user may not have.

The name is not registered, so a package index would find nothing, or another package.
"""

from __future__ import annotations

import re

import pytest

from tests.unit.texts import shipped_texts

BY_NAME = re.compile(
    r"""
    \b(?:pip[x3]?|uv)(?:\ tool|\ pip)?\ (?:install|add|run|download)\ [^`\n]*(?<![\w./~-])jumpseat(?![\w./-])
    | \buvx\ [^`\n]*(?<![\w./~-])jumpseat(?![\w./-])
    | (?<![\w./~-])jumpseat(?:\[[\w,]+\])?(?:[=~<>!]=|<|>)\ ?[\w%]
    | (?<![\w./~-])jumpseat\[[\w,]+\](?!\ @)
    """,
    re.VERBOSE,
)
EXCEPTIONS = {"pyproject.toml": "its extras include other extras of the same package"}

RUN_IN_A_SHELL = re.compile(r"\b[Rr]un [`'\u2018]jumpseat ")
EDITOR_FOLDERS = ("editors/emacs/", "editors/neovim/", "editors/vscode/")


def test_no_text_installs_jumpseat_by_name() -> None:
    found = [
        f"{name}: {match[0]}"
        for name, text in shipped_texts()
        for match in BY_NAME.finditer(text)
        if name not in EXCEPTIONS
    ]

    assert found == []


@pytest.mark.parametrize(
    ("text", "is_by_name"),
    [
        ("pipx install jumpseat", True),
        ("pip install 'jumpseat[keyring]'", True),
        ("python -m pip install --upgrade jumpseat", True),
        ("uv tool install jumpseat", True),
        ("uvx jumpseat chat", True),
        ("package = 'jumpseat[local,keyring]==' .. M.version", True),
        ('(format "jumpseat[local,keyring]==%s" jumpseat-version)', True),
        ("pip uninstall jumpseat", False),
        ("pip install '.[local]'", False),
        ("pip install ~/src/jumpseat[local]", False),
        ("pip install jumpseat-example", False),
        ("code --install-extension dist/jumpseat-*.vsix", False),
        ("jumpseat[{extras}] @ {wheel}", False),
    ],
)
def test_an_installation_by_name_is_found(text: str, is_by_name: bool) -> None:
    assert bool(BY_NAME.search(text)) is is_by_name


def test_editors_do_not_tell_users_to_run_jumpseat_in_a_shell() -> None:
    found = [
        f"{name}: {line}"
        for name, text in shipped_texts()
        if name.startswith(EDITOR_FOLDERS)
        for line in text.splitlines()
        if RUN_IN_A_SHELL.search(line)
    ]

    assert found == []
