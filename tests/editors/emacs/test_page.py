"""The blocks of the package's README, evaluated in a real Emacs."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.editors.emacs.child import PACKAGE, emacs
from tests.unit.pages import EDITOR_PAGES, ROOT, blocks

pytestmark = [pytest.mark.editor]

INIT = """
{block}
(dolist (key '("j" "a"))
  (unless (lookup-key jumpseat-command-map key) (error "No key %s" key)))
(unless (eq (key-binding (kbd "C-c j")) 'jumpseat-command-map) (error "The map has no key"))
(unless (commandp 'jumpseat) (error "Not loaded"))
(princ (symbol-file 'jumpseat-stop 'defun))
"""

# A recipe of MELPA is data: the package's name, and a list of properties.
RECIPE = """
(let* ((recipe '{block}) (rest (cdr recipe)) (root "{root}/"))
  (unless (eq (car recipe) 'jumpseat) (error "Another name"))
  (while rest
    (unless (memq (car rest) '(:fetcher :repo :files)) (error "No key of a recipe: %s" (car rest)))
    (setq rest (cddr rest)))
  (unless (memq (plist-get (cdr recipe) :fetcher) '(github gitlab codeberg git)) (error "No fetcher"))
  (unless (string-match-p "\\\\`[^/]+/[^/]+\\\\'" (plist-get (cdr recipe) :repo)) (error "No repository"))
  (princ (mapconcat (lambda (pattern)
                      (mapconcat 'file-name-nondirectory (file-expand-wildcards (concat root pattern)) " "))
                    (plist-get (cdr recipe) :files) " ")))
"""


def evaluated(form, home):
    return subprocess.run(
        [emacs(), "--batch", "-Q", "--eval", f"(progn {form})"],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("block", blocks(EDITOR_PAGES["emacs"], "elisp"), ids=str)
def test_every_block_of_the_readme_is_evaluated(tmp_path, block):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "jumpseat").symlink_to(ROOT)
    if block.text.startswith("(jumpseat :fetcher"):
        ran = evaluated(RECIPE.replace("{block}", block.text).replace("{root}", str(ROOT)), tmp_path)
        expected = " ".join([*sorted(file.name for file in PACKAGE.glob("*.el")), "bootstrap.py"])
    else:
        ran = evaluated(INIT.replace("{block}", block.text), tmp_path)
        expected = str(tmp_path / "src/jumpseat/editors/emacs/jumpseat.el")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == expected
