"""Questions and answers of a conversation, on a real terminal with the real daemon."""

from __future__ import annotations

import os
import re
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.e2e.repl.chats import PATH, answer, hold_answer, list_messages, questions
from tests.fakes.typist import ALT_ENTER, CTRL_C, CTRL_D, Typist
from tests.hub import Hub

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]

Start = Callable[..., Typist]

FIRST = [f"a{number:03}" for number in range(100)]
LAST = [f"b{number:03}" for number in range(20)]
COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-9]|4[0-9]|9[0-7]|10[0-7])(;[0-9;]*)?m")


def test_a_conversation_sends_its_earlier_messages(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist()
    person.see("> Ask something")
    person.enter("Hi")
    person.see("fake:m")
    person.enter("And more?")
    person.see("fake:m", times=2)
    shown = person.leave()

    assert list_messages(upstream) == [("user", "Hi"), ("assistant", "Hello"), ("user", "And more?")]
    rows = [row for row in shown.splitlines() if row]
    assert rows[1:3] == ["> Hi", "Hello"]
    assert rows[3].startswith("10 tokens in · 5 out · ")
    assert rows[-2] == ">"
    assert rows[-1].startswith("Kept. To continue it: jumpseat chat --conversation ")


@pytest.mark.requirement("5:auth-method")
def test_a_sign_in_is_not_offered_after_a_refused_key(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(Reply.json({"error": {"message": "Wrong key"}}, status=401), path=PATH)
    person = typist()
    person.enter("Hi")
    person.see("Check the key")

    shown = person.leave()
    assert "Wrong key" in shown
    assert "To sign in, type" not in shown


def test_ctrl_c_before_the_first_token_restores_the_question(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(hold_answer(Gate(), [], ["never"]), path=PATH)
    person = typist()
    person.enter("Whatt?")
    upstream.wait_for_request()
    person.see("Waiting for m")
    person.type(CTRL_C)
    person.see("Stopped.")
    upstream.wait_for_disconnect()
    person.see("> Whatt?", times=2)
    person.enter("\x7f\x7f?")  # Backspace twice, then type the question mark.
    person.see("fake:m")
    shown = person.leave()

    assert questions(upstream) == ["Whatt?", "What?"]
    assert list_messages(upstream) == [("user", "What?")]
    assert "Hello" in shown


def test_ctrl_c_in_mid_stream_keeps_the_text_received_so_far(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(hold_answer(Gate(), ["One *two* ", "three"], ["never"]), path=PATH)
    person = typist()
    person.enter("Count")
    person.see("three")
    person.type(CTRL_C)
    person.see("Stopped. The text so far is kept.")
    upstream.wait_for_disconnect()
    person.enter("Go on")
    person.see("Hello")
    shown = person.leave()

    assert list_messages(upstream) == [("user", "Count"), ("assistant", "One *two* three"), ("user", "Go on")]
    assert shown.count("One two three") == 1


def test_ctrl_c_at_the_prompt_clears_the_line_and_shows_how_to_leave(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    person = typist()
    person.type("half a quest")
    person.see("> half a quest")
    person.type(CTRL_C)
    person.see("> Ctrl-D leaves.")
    person.type("\x1b[A")  # Up restores the line.
    person.see("> half a quest")
    person.type(CTRL_C)
    person.leave()

    assert questions(upstream) == []


@pytest.mark.parametrize("to", [(24, 40), (24, 120), (5, 80)], ids=str)
def test_an_answer_is_printed_once_if_the_window_is_resized(
    typist: Start, upstream: ThreadedUpstream, to: tuple[int, int]
) -> None:
    gate = Gate()
    upstream.script(
        hold_answer(gate, ["Before it.\n\n", " ".join(FIRST)], [f" {' '.join(LAST)}\n\nAfter.\n"])
    )
    person = typist()
    person.enter("Hi")
    person.see(FIRST[-1])
    person.resize(*to)
    upstream.open(gate)
    person.see("10 tokens in")
    person.leave()

    text = "".join("".join(person.screen.rows).split())
    begin, end = text.index("Beforeit."), text.index("10tokensin")
    assert text[begin:end] == "".join(["Beforeit.", *FIRST, *LAST, "After."])


def test_lines_that_are_pasted_together_are_one_question(typist: Start, upstream: ThreadedUpstream) -> None:
    pasted = "\n".join(f"line {number}" for number in range(200))
    person = typist()
    person.see("> ")
    person.paste(pasted.replace("\n", "\r"))
    person.see("line 199")
    person.enter("")
    person.see("Hello")
    person.leave()

    assert questions(upstream) == [pasted]


def test_alt_enter_and_a_backslash_begin_new_lines(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist()
    person.see("> ")
    person.type(f"one{ALT_ENTER}two\\\rthree\r")
    person.see("Hello")
    shown = person.leave()

    assert questions(upstream) == ["one\ntwo\nthree"]
    assert "> one\n  two\n  three\nHello\n" in shown


def test_wide_characters_fit_into_40_columns(typist: Start, upstream: ThreadedUpstream) -> None:
    wide = "日本語の文字は二列を占めます" * 4
    upstream.script(answer(wide[:20], wide[20:]), path=PATH)
    person = typist(size=(24, 40))
    person.see("> ")
    person.enter(f"{wide} 🙂?")
    person.see("fake:m")
    person.leave()

    assert questions(upstream) == [f"{wide} 🙂?"]
    assert "".join(person.text.split()).count(wide) == 2
    assert max(len(row) for row in person.screen.rows) <= 40


def test_no_color_disables_colours(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(answer("# Title\n\n`code` and [link](http://localhost)\n"), path=PATH)
    person = typist(NO_COLOR="1")
    person.enter("Hi")
    person.see("fake:m")
    person.type("/mo\t")
    person.see("/model")
    person.type(CTRL_C)
    person.leave()

    assert COLOUR.search(person.output) is None


def test_colours_are_used_without_no_color(typist: Start) -> None:
    person = typist()
    person.see("> ")
    person.leave()
    assert COLOUR.search(person.output) is not None


def test_a_dumb_terminal_gets_plain_lines(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist(TERM="dumb")
    person.see("leave>")
    person.type("half\x03")
    person.see("(Ctrl-D leaves.)")
    person.type("one\\\n")
    person.see("one\\")
    person.type("two\n")
    person.see("fake:m")
    person.type("/quit\n")
    person.finish()

    assert questions(upstream) == ["one\ntwo"]
    assert b"\x1b" not in person.output


def test_text_typed_during_an_answer_goes_to_the_next_prompt(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    gate = Gate()
    upstream.script(hold_answer(gate, ["One "], ["two"]), path=PATH)
    person = typist()
    person.enter("First")
    person.see("One")
    person.enter("Second")
    person.type(CTRL_D)
    upstream.open(gate)
    shown = person.finish()

    assert questions(upstream) == ["First", "Second"]
    assert "One two\n10 tokens in" in shown


def test_text_typed_before_ctrl_c_in_an_answer_is_not_lost(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(hold_answer(Gate(), ["One "], ["never"]), path=PATH)
    person = typist()
    person.enter("First")
    person.see("One")
    person.type(f"Sec{CTRL_C}")
    person.see("Stopped. The text so far is kept.")
    person.enter("ond")
    person.see("Hello")
    person.leave()

    assert questions(upstream) == ["First", "Second"]


async def test_a_daemon_that_dies_in_mid_turn_is_replaced(
    typist: Start, upstream: ThreadedUpstream, home: Path
) -> None:
    upstream.script(hold_answer(Gate(), ["One ", "two "], ["never"]), path=PATH)
    person = typist()
    person.enter("Count")
    person.see("One two")
    await Hub(home).kill()
    person.see("Another daemon was started.")
    person.enter("Go on")
    person.see("Hello")
    person.enter("/retry")
    person.see("Hello", times=2)
    shown = person.leave()

    assert "jumpseat: The daemon ended" in shown
    before = [("user", "Count"), ("assistant", "One two "), ("user", "Go on")]
    assert list_messages(upstream, 1) == before
    assert list_messages(upstream, 2) == before
    assert shown.count("One two") == 1


async def test_a_daemon_that_dies_between_two_turns_is_replaced_silently(
    typist: Start, upstream: ThreadedUpstream, home: Path
) -> None:
    person = typist()
    person.enter("Hi")
    person.see("fake:m")
    await Hub(home).kill()
    person.enter("And?")
    person.see("fake:m", times=2)
    shown = person.leave()

    assert list_messages(upstream) == [("user", "Hi"), ("assistant", "Hello"), ("user", "And?")]
    assert "daemon" not in shown


def test_a_failed_question_can_be_asked_again(typist: Start, upstream: ThreadedUpstream) -> None:
    upstream.script(Reply.json({"error": {"message": "Bad luck."}}, 400), path=PATH)
    person = typist()
    person.enter("Hi")
    person.see("Bad luck")
    person.enter("/retry")
    person.see("Hello")
    person.leave()

    assert questions(upstream) == ["Hi", "Hi"]


def test_thinking_is_one_line_until_it_is_shown(typist: Start, upstream: ThreadedUpstream) -> None:
    reasoning = ["First I think.\n", "Then I ", "decide.\n"]
    upstream.script(answer("Done.", reasoning=reasoning), answer("Done.", reasoning=reasoning), path=PATH)
    person = typist()
    person.enter("Why?")
    person.see("fake:m")
    assert "Thinking … (2 lines; /thinking shows them)\nDone." in person.shown
    assert "decide" not in person.shown
    person.enter("/thinking")
    person.see("Then I decide.")
    person.enter("/thinking show")
    person.enter("Why?")
    person.see("fake:m", times=2)
    shown = person.leave()

    assert shown.count("First I think.\nThen I decide.\n\nDone.") == 1
    assert b"\x1b[2mThen I " in person.output


def test_words_are_added_to_the_tail_of_an_answer_without_clearing_the_screen(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(answer(*(f"w{number:02} " for number in range(99))), path=PATH)
    person = typist()
    person.enter("Count")
    person.see("fake:m")
    person.leave()

    assert b"\x1b[2J" not in person.output
    assert "".join(person.text.split()).count("w50") == 1


@pytest.mark.parametrize("when", ["at the prompt", "during an answer"])
def test_sigterm_restores_the_terminal(typist: Start, upstream: ThreadedUpstream, when: str) -> None:
    upstream.script(hold_answer(Gate(), ["Once "], ["never"]), path=PATH)
    person = typist()
    person.see("> Ask something")
    if when == "during an answer":
        person.enter("Hi")
        person.see("Once")
    process, screen = person.terminal.process, os.dup(person.terminal.screen)
    assert not termios.tcgetattr(screen)[3] & termios.ECHO
    process.terminate()
    person.finish(143)

    modes = termios.tcgetattr(screen)
    os.close(screen)
    assert modes[3] & (termios.ECHO | termios.ICANON) == termios.ECHO | termios.ICANON
    assert modes[0] & termios.ICRNL
    assert person.output.rindex(b"\x1b[?2004l") > person.output.rindex(b"\x1b[?2004h")
    assert person.output.count(b"\x1b[?25l") == 0 or person.output.rindex(
        b"\x1b[?25h"
    ) > person.output.rindex(b"\x1b[?25l")
