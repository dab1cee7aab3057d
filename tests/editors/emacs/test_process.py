"""The daemon's process as the package sees it: missing, old, killed, shared, and the end of Emacs."""

from __future__ import annotations

import sys

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors import chats
from tests.editors.emacs.child import running_emacs
from tests.editors.programs import NEEDED, body_with_methods, program_that, slow_program
from tests.editors.provider import WORDS, hold_answer
from tests.hub import Hub

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("missing-binary")
def test_a_missing_program_is_an_error_in_the_chat_that_says_how_to_get_it(home, package):
    with running_emacs(home, package=package, options={"command": ["/nowhere/jumpseat"]}) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("The program /nowhere/jumpseat was not found.")
        child.wait_until_idle()
        assert child.text == "## Me\n\nHello?"


def test_a_program_without_attach_is_too_old(home, package, tmp_path):
    old = program_that(tmp_path, "import sys\nsys.exit(\"No such command 'attach'.\")\n")
    with running_emacs(home, package=package, options={"command": old}) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("is too old for this package")
        child.wait_for_text("(it lacks attach)")
        child.wait_until_idle()


def test_a_program_that_refuses_to_start_gives_its_reason_in_the_chat(home, package, tmp_path):
    broken = program_that(tmp_path, "import sys\nif '--help' not in sys.argv: sys.exit('No space left.')\n")
    with running_emacs(home, package=package, options={"command": broken}) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text(
            "jumpseat ended with code 1 before it was ready: No space left. See M-x jumpseat-log"
        )
        child.wait_until_idle()


def test_a_needed_method_that_an_old_daemon_lacks_is_named(home, package, tmp_path):
    old = program_that(tmp_path, body_with_methods(["chat/start"], "sys.stdin.read()"))
    with running_emacs(home, package=package, options={"command": old}) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("jumpseat 0.0.9 at ")
        child.wait_for_text("it lacks chat/cancel")
        child.wait_until_idle()


@pytest.mark.scenario("stop-before-first-token")
def test_a_question_waits_for_a_program_that_starts_slowly_and_can_be_stopped(
    home, package, provider, tmp_path
):
    provider.script(Reply.events(WORDS))
    go = tmp_path / "go"
    slow = slow_program(tmp_path, go)
    with running_emacs(home, package=package, options={"command": slow}) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("sending")
        child.stop()
        # Without the stop, Emacs would wait for the program for 20 seconds.
        child.wait("(not (jumpseat--view-get :state))", seconds=10)
        child.send()
        go.touch()
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        assert child.text.count("Hello there.") == 1
    assert len(provider.requests) == 1


@pytest.mark.scenario("daemon-killed")
def test_the_partial_answer_of_a_killed_daemon_stays_and_a_daemon_is_started(child, provider, home):
    chats.check_killed_daemon(child, provider, home)


def test_the_partial_of_a_killed_daemon_is_escaped_by_the_next_one(child, provider, home):
    chats.check_killed_daemon_and_heading(child, provider, home)


def test_a_program_that_always_crashes_is_started_a_limited_number_of_times(home, package, tmp_path):
    runs = tmp_path / "runs"
    body = body_with_methods(NEEDED, "time.sleep(0.2)")
    crashing = program_that(tmp_path, f"open({str(runs)!r}, 'a').write('x')\n{body}")
    with running_emacs(home, package=package, options={"command": crashing}) as child:
        child.eval("(jumpseat--rpc-start)")
        child.wait_for_message("It ended too often")
        # The program was started once and restarted five times.
        assert len(child.messages) == 6
        assert runs.read_text() == "x" * 6


def test_the_end_of_emacs_stops_the_answer_and_leaves_the_daemon_running(home, package, provider):
    provider.script(hold_answer("Half", gate=Gate()))
    with running_emacs(home, package=package) as child:
        child.command("jumpseat")
        child.ask("A story.")
        child.wait_for_text("Half")
        child.quit()
        provider.wait_for_disconnect(1)
    assert Hub(home).processes()


def test_emacs_exits_immediately_even_if_the_daemon_does_not_read(home, package, tmp_path):
    stuck = program_that(tmp_path, body_with_methods(NEEDED, "time.sleep(60)"))
    with running_emacs(home, package=package, options={"command": stuck}) as child:
        child.eval("(jumpseat--rpc-start)")
        child.wait("(jumpseat--rpc-info)")
        child.quit()
        assert child.process.wait(5) == 0


@pytest.mark.scenario("two-editors")
def test_two_emacsen_share_one_daemon_and_each_has_its_own_chat(home, package, provider):
    provider.script(Reply.events(WORDS), Reply.events(completion_stream(["Other."])))
    with (
        running_emacs(home, package=package) as first,
        running_emacs(home, package=package) as second,
    ):
        for child, answer in ((first, "Hello there."), (second, "Other.")):
            child.command("jumpseat")
            child.ask("Hello?")
            child.wait_for_text(answer)
            child.wait_until_idle()
        assert len(Hub(home).pointers()) == 1
        assert "Hello there." in first.text
        assert "Other." in second.text


def test_a_chat_beside_a_remote_file_has_its_daemon_on_the_users_machine(home, package, provider):
    provider.script(Reply.events(WORDS))
    with running_emacs(home, package=package) as child:
        # The daemon's program is only a name, which Emacs looks up in `exec-path`, as for a remote file.
        directory = home / "bin"
        directory.mkdir()
        (directory / "jumpseat").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m jumpseat "$@"\n')
        (directory / "jumpseat").chmod(0o755)
        child.eval(f"""(progn (setq jumpseat-command nil)
                              (push "{directory}" exec-path)
                              (setq default-directory "/ssh:nowhere.invalid:/home/mona/"))""")
        child.command("jumpseat")
        assert child.eval("(file-remote-p default-directory)")
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()
        child.eval("""(progn (switch-to-buffer "a.py")
                             (setq buffer-file-name "/ssh:mona@nowhere.invalid:/home/mona/a.py")
                             (insert "x = 1\n") (push-mark 1 t t))""")
        child.command("jumpseat-ask", "")
        child.wait_for_text("uri=ssh://mona@nowhere.invalid/home/mona/a.py")


def test_an_emacs_with_a_bare_path_finds_the_program_in_the_users_directory(home, package):
    program = home / ".local" / "bin" / "jumpseat"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with running_emacs(
        home, package=package, options={"command": None}, env={"PATH": "/usr/bin:/bin"}
    ) as child:
        assert child.eval("(jumpseat--program)") == [str(program)]


GARBLING = """
import subprocess, sys
daemon = subprocess.Popen([sys.executable, "-P", "-m", "jumpseat", *sys.argv[1:]], stdout=subprocess.PIPE)
while header := daemon.stdout.readline():
    body = daemon.stdout.read(int(header.split()[1]) + 2)
    sys.stdout.buffer.write(header + body.replace(b"-----+", b"\\\\ud800"))
    sys.stdout.buffer.flush()
"""
"""A program that passes the daemon's messages on, but with an invalid escape instead of `-----+`."""


def test_an_answer_that_emacs_cannot_read_ends_with_an_error(home, package, provider, tmp_path):
    provider.script(Reply.events(completion_stream(["Half ", "-----+"])), Reply.events(WORDS))
    garbling = program_that(tmp_path, GARBLING)
    with running_emacs(home, package=package, options={"command": garbling}) as child:
        child.command("jumpseat")
        child.ask("Hello?")
        child.wait_for_text("✗ Emacs could not parse the response of jumpseat. See M-x jumpseat-log.")
        child.wait_until_idle()
        assert "## Assistant\n\nHalf" in child.text
        assert "A message could not be read" in child.log
        child.ask("Hello?")
        child.wait_for_text("Hello there.")
        child.wait_until_idle()


def test_turns_are_announced_to_other_packages(child, provider):
    provider.script(Reply.events(WORDS))
    child.eval("(add-hook 'jumpseat-turn-ended-functions (lambda (&rest all) (setq ended all)))")
    child.eval("(setq ended nil)")
    child.ask("Hello?")
    child.wait("ended")
    assert child.eval("ended") == [None, "end_turn"]


def test_the_package_can_be_stopped_and_started_again(child, provider):
    provider.default(Reply.events(WORDS))
    child.ask("Hello?")
    child.wait_for_text("Hello there.")
    child.wait_until_idle()
    child.command("jumpseat-restart")
    child.wait_for_message("Reconnecting to jumpseat…")
    child.ask("Again?")
    child.wait('(= 2 (how-many "Hello there." 1))')
    assert len(provider.requests) == 2
