"""The installation of the daemon."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import PACKAGE, running_emacs
from tests.editors.programs import path_with_uv, path_with_uv_that_says
from tests.editors.provider import WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]

INSTALL_SECONDS = 300.0
"""A time limit that is much longer than a download and an installation, even on a busy machine."""

NO_PROGRAM = """(advice-add 'executable-find :filter-return
    (lambda (found) (unless (and found (string-match-p "/jumpseat\\\\'" found)) found)))"""
"""Lisp that hides a `jumpseat` that is installed on this machine, for example in `/usr/local/bin`."""


def test_a_failed_installation_says_why_and_what_to_do(home, package, tmp_path):
    path = path_with_uv_that_says(tmp_path, "No such release.")
    with running_emacs(home, package=package, options={"package": "~/jumpseat"}, env={"PATH": path}) as child:
        child.command("jumpseat-install")
        message = child.wait_for_message("No such release.")
        directory = child.eval("(expand-file-name (jumpseat--install-directory))")
        assert f" --directory {directory} --key {jumpseat.__version__} ~/jumpseat " in message
        assert (
            "Set \u2018jumpseat-package\u2019 to install a wheel or a checkout. M-x jumpseat-log shows"
            in message
        )


def test_a_user_without_the_program_is_offered_its_installation(home, package):
    with running_emacs(home, package=package, options={"command": None}, before=NO_PROGRAM) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("jumpseat is not installed (Install jumpseat, Not now): ")
        child.keys("?")
        child.wait_for_text("Install jumpseat")
        child.keys("Not now^M")
        child.wait_for_text("The program jumpseat was not found.")


def test_an_installed_daemon_answers(home, package, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    # This uv cannot run the installer, so Python runs it.
    path = path_with_uv_that_says(tmp_path, "", code=1)
    (tmp_path / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    # Use the files of the checkout. There is no wheel beside them, so the checkout is installed.
    with running_emacs(home, package=PACKAGE, options={"command": None}, env={"PATH": path}) as child:
        child.command("jumpseat-install")
        child.wait("(not jumpseat-install--running)", seconds=INSTALL_SECONDS)
        assert child.messages[-1] == f"jumpseat {jumpseat.__version__} is installed."
        assert "python -m pip install " in child.log
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert child.eval("(equal (jumpseat--program) (list (jumpseat--installed-program)))")


def test_what_is_needed_is_reported_if_neither_uv_nor_python_can_install(home, package, tmp_path):
    # The first directory of this PATH contains only a uv, which fails.
    path = path_with_uv_that_says(tmp_path, "", code=1).split(":")[0]
    with running_emacs(home, package=package, env={"PATH": path}) as child:
        child.command("jumpseat-install")
        child.wait_for_message("jumpseat needs uv, or Python 3.11 or newer with venv. Neither was found.")


def test_each_line_of_the_installer_is_logged_as_one_line(home, package, tmp_path):
    # Emacs reads a line of this length in several pieces. The exit code means that the installation failed.
    path = path_with_uv(
        tmp_path, "import sys\nprint('pip install ' * 8_000 + '.', file=sys.stderr)\nsys.exit(20)\n"
    )
    with running_emacs(home, package=package, env={"PATH": path}) as child:
        child.command("jumpseat-install")
        child.wait("""(with-current-buffer "*jumpseat log*"
                        (string-search (concat (apply #'concat (make-list 8000 "pip install ")) ".\n")
                                       (buffer-string)))""")


def test_an_installed_version_is_installed_again_only_on_request(home, package, tmp_path):
    path = path_with_uv_that_says(tmp_path, "No network.")
    with running_emacs(home, package=package, env={"PATH": path}) as child:
        directory = Path(child.eval("(expand-file-name (jumpseat--install-directory))"))
        directory.mkdir(parents=True)
        (directory / "current.json").write_text(
            json.dumps({"key": jumpseat.__version__, "program": f"{tmp_path}/bin/uv"})
        )
        child.command("jumpseat-install")
        child.wait_for_message("is already installed; use a prefix argument to reinstall it.")
        child.keys("^U")
        child.command("jumpseat-install")
        assert " --again " in child.wait_for_message("No network.")
