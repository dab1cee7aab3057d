"""The blocks of the package's README, evaluated in a real Emacs."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.editors.emacs.child import emacs
from tests.unit.pages import EDITOR_PAGES, ROOT, blocks

pytestmark = [pytest.mark.editor]

INIT = """
{block}
(dolist (key '("j" "a"))
  (unless (lookup-key jumpseat-command-map key) (error "No key %s" key)))
(unless (eq (key-binding (kbd "C-c j")) 'jumpseat-command-map) (error "The map has no key"))
(unless (commandp 'jumpseat) (error "Not loaded"))
(princ (symbol-file 'jumpseat-command-map 'defvar))
"""


def evaluate(form, home):
    return subprocess.run(
        [emacs(), "--batch", "-Q", "--eval", f"(progn {form})"],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def test_every_block_of_the_readme_is_evaluated(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "jumpseat").symlink_to(ROOT)
    every = "".join(block.text for block in blocks(EDITOR_PAGES["emacs"], "elisp"))
    ran = evaluate(INIT.replace("{block}", every), tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == str(tmp_path / "src/jumpseat/editors/emacs/jumpseat.el")
