"""The unit tests in Emacs Lisp, and checks of the package as package managers load it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.editors.emacs.child import PACKAGE, emacs

pytestmark = [pytest.mark.editor]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LIMIT_SECONDS = 60.0


def batch(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [emacs(), "--batch", "-Q", *words],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=LIMIT_SECONDS,
    )


def test_the_unit_tests_in_emacs_lisp_pass():
    units = sorted(HERE.glob("units-*.el"))
    files = [word for each in units for word in ("-l", str(each))]
    ran = batch("-L", str(PACKAGE), "-L", str(HERE), *files, "-f", "ert-run-tests-batch-and-exit")
    written = sum(each.read_text("utf-8").count("(ert-deftest ") for each in units)
    assert ran.returncode == 0, ran.stderr
    assert f"Ran {written} tests, {written} results as expected" in ran.stderr


def write_autoloads(directory: Path) -> Path:
    """Return the autoloads of a copy of the package in this directory, as a package manager makes them."""
    for each in PACKAGE.glob("jumpseat*.el"):
        shutil.copy(each, directory)
    file = directory / "jumpseat-autoloads.el"
    generate = f"""(progn (require 'autoload)
        (let ((generated-autoload-file "{file}") (make-backup-files nil))
          (with-suppressed-warnings ((obsolete update-directory-autoloads))
            (update-directory-autoloads "{directory}"))))"""
    assert batch("--eval", generate).returncode == 0
    return file


def test_the_autoloads_have_the_commands_and_load_nothing(tmp_path):
    file = write_autoloads(tmp_path)
    loaded = '(print (seq-filter (lambda (each) (string-prefix-p "jumpseat" (symbol-name each))) features))'
    autoloads = "(mapatoms (lambda (each) (when (autoloadp (symbol-function each)) (print each))))"
    ran = batch("-L", str(tmp_path), "-l", str(file), "--eval", loaded, "--eval", autoloads)
    assert ran.stdout.split("\n")[1] in ("nil", "(jumpseat-autoloads)")
    found = set(re.findall(r"^jumpseat\S*$", ran.stdout, re.MULTILINE))
    commentary = (PACKAGE / "jumpseat.el").read_text("utf-8").partition(";;; Code:")[0]
    named = set(re.findall(r"M-x (jumpseat[a-z-]*)", commentary))
    assert named > {"jumpseat", "jumpseat-install"}
    assert named <= found


def test_a_chat_of_an_autoloaded_command_has_its_keys_and_menu(tmp_path):
    file = write_autoloads(tmp_path)
    found = """(with-temp-buffer
      (jumpseat-chat-mode)
      (print (list (key-binding (kbd "C-c C-w")) (keymapp (key-binding [menu-bar Jumpseat])))))"""
    ran = batch("-L", str(tmp_path), "-l", str(file), "--eval", found)
    assert ran.stdout.strip() == "(jumpseat-copy-code t)", ran.stderr


def test_the_manual_in_info_matches_its_source(tmp_path):
    ran = batch(
        "-l", str(ROOT / "tests/tools/emacs/manual.el"), str(PACKAGE / "jumpseat.texi"), str(tmp_path)
    )
    assert ran.returncode == 0, ran.stderr
    for name in ("jumpseat.info", "dir"):
        assert (tmp_path / name).read_text() == (PACKAGE / name).read_text(), "run `make manual-emacs`"
    found = f"""(progn (require 'info) (info "{PACKAGE / "jumpseat.info"}")
                       (Info-index "jumpseat-request") (print Info-current-node))"""
    assert '"Lisp"' in batch("--eval", found).stdout


def test_every_file_is_short_and_in_the_package():
    for file in PACKAGE.glob("*.el"):
        text = file.read_text("utf-8")
        assert text.count("\n") < 400, file.name
        assert file.name.startswith("jumpseat")
        assert f"(provide '{file.stem})\n;;; {file.name} ends here\n" in text
