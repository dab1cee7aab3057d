"""The installation of the daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

import jumpseat
from jumpseat.testing.upstream import Reply
from tests.editors.emacs.child import PACKAGE, running_emacs
from tests.editors.programs import path_with_uv_that_says
from tests.editors.provider import WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]

INSTALL_SECONDS = 300.0
"""Much longer than a download and an installation need, for a busy machine."""

NO_PROGRAM = """(advice-add 'executable-find :filter-return
    (lambda (found) (unless (and found (string-match-p "/jumpseat\\\\'" found)) found)))"""
"""Hides a `jumpseat` that is installed on this machine, such as one in `/usr/local/bin`."""


def test_the_package_installs_its_own_version() -> None:
    for file, text in {
        "jumpseat-core.el": f'(defconst jumpseat-version "{jumpseat.__version__}"',
        "jumpseat.el": f";; Version: {jumpseat.__version__}\n",
    }.items():
        assert text in (PACKAGE / file).read_text("utf-8")


def test_a_failed_installation_says_why_and_leaves_no_half_environment(home, package, tmp_path):
    path = path_with_uv_that_says(tmp_path, "No such release.")
    with running_emacs(home, package=package, env={"PATH": path}) as child:
        child.command("jumpseat-install")
        assert child.said("could not be installed: No such release. \u2018jumpseat-package\u2019")
        assert child.eval("(file-exists-p (jumpseat-install-directory))") is None


def test_a_user_without_the_program_is_offered_its_installation(home, package):
    with running_emacs(home, package=package, options={"command": None}, before=NO_PROGRAM) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.sees("jumpseat is not installed (Install jumpseat, Not now): ")
        child.keys("?")
        child.sees("Install jumpseat")
        child.keys("Not now^M")
        child.sees("The program jumpseat was not found.")


def test_an_installed_daemon_answers(home, package, provider, installer):
    provider.script(Reply.events(WORDS))
    options = {"package": str(PACKAGE.parents[1]), "command": None}
    with running_emacs(home, package=package, options=options, env=installer.env) as child:
        child.command("jumpseat-install")
        child.wait("(not jumpseat-install--running)", seconds=INSTALL_SECONDS)
        assert child.messages[-1] == f"jumpseat {jumpseat.__version__} is installed."
        assert f"{installer.pip} " in child.log
        child.command("jumpseat")
        child.ask("Hello?")
        child.sees("Hello there.")
        child.idle()
        assert "daemon-" in child.eval("(car (jumpseat-program))")


def test_a_failed_second_installation_leaves_the_first_one(home, package, tmp_path):
    path = path_with_uv_that_says(tmp_path, "No network.")
    with running_emacs(home, package=package, env={"PATH": path}) as child:
        program = Path(child.eval("(expand-file-name (jumpseat-installed-program))"))
        program.parent.mkdir(parents=True)
        program.touch(0o755)
        child.command("jumpseat-install")
        child.said("is installed; with a prefix argument it is installed again.")
        child.keys("^U")
        child.command("jumpseat-install")
        child.said("could not be installed: No network.")
        directory = program.parents[1]
        assert [path.name for path in directory.parent.glob("daemon-*")] == [directory.name]
        assert program.exists()


def test_a_package_that_is_not_there_is_named_with_a_way_on(home, package, installer):
    with running_emacs(
        home, package=package, options={"package": "~/no-such-checkout"}, env=installer.env
    ) as child:
        child.command("jumpseat-install")
        child.wait("(not jumpseat-install--running)", seconds=INSTALL_SECONDS)
        message = child.messages[-1]
        assert message.startswith(f"{home}/no-such-checkout could not be installed: ")
        assert (
            "\u2018jumpseat-package\u2019 names another version, or a checkout; M-x jumpseat-log has"
            in message
        )
        assert "no-such-checkout" in child.log
