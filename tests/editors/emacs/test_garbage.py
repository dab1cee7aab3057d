"""Garbage collections are deferred while an answer comes, and only then."""

from __future__ import annotations

import os
import signal

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import running_emacs
from tests.hub import Hub

pytestmark = [pytest.mark.editor, pytest.mark.slow]

DEFERRED = "(= gc-cons-threshold jumpseat-garbage-limit)"


def half(gate: Gate) -> Reply:
    return Reply.events([chunk({"content": "Half an ans"}), gate, *completion_stream(["wer."])])


@pytest.mark.parametrize("end", ["answered", "stopped", "killed", "error of a handler"])
def test_garbage_is_collected_as_before_once_the_user_is_idle_after_an_answer(child, provider, home, end):
    gate = Gate()
    provider.script(half(gate))
    child.eval("(setq jumpseat-garbage--seconds 0.2)")
    child.wait("(not jumpseat-garbage--raised)")
    before = child.eval("gc-cons-threshold")
    child.ask("A story.")
    child.sees("Half an ans")
    assert child.eval(DEFERRED) is True
    if end == "stopped":
        child.keys("^C^K")
    elif end == "killed":
        os.kill(Hub(home).pid, signal.SIGKILL)
    else:
        if end == "error of a handler":
            child.eval('(add-hook \'jumpseat-turn-ended-functions (lambda (&rest _) (error "Broken")))')
        provider.open(gate)
    child.idle()
    child.wait(f"(= gc-cons-threshold {before})")


def test_garbage_is_not_collected_before_the_last_of_two_answers_has_ended(child, provider):
    gates = Gate(), Gate()
    provider.script(half(gates[0]), half(gates[1]))
    child.eval("(setq jumpseat-garbage--seconds 0.2)")
    for number in (1, 2):
        child.eval(f"(setq chat{number} (progn (jumpseat t) (current-buffer)))")
        child.ask("A story.")
        child.sees("Half an ans")
    provider.open(gates[1])
    child.idle()
    child.eval("(progn (setq idle nil) (run-at-time 1 nil (lambda () (setq idle t))))")
    child.wait("idle")
    assert child.eval(DEFERRED) is True
    provider.open(gates[0])
    child.wait(f"(not {DEFERRED})")


def test_a_user_can_have_garbage_collected_as_always(home, package, provider):
    provider.script(half(Gate()))
    with running_emacs(home, package=package, options={"garbage-limit": None}) as child:
        before = child.eval("gc-cons-threshold")
        child.command("jumpseat")
        child.ask("A story.")
        child.sees("Half an ans")
        assert child.eval("gc-cons-threshold") == before
