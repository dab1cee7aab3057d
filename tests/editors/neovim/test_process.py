"""The daemon's process as the plug-in sees it: missing, old, killed, shared, and the end of Neovim."""

from __future__ import annotations

import os
import signal

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors import chats
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.programs import NEEDED, body_with_methods, program_that, slow_program
from tests.editors.provider import WORDS, hold_answer
from tests.hub import Hub

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def record_ended_turns(child: Child) -> None:
    """Collect the data of each event `JumpseatTurnEnded` in the Lua variable `ended`."""
    child.lua("""
        _G.ended = {}
        vim.api.nvim_create_autocmd('User', { pattern = 'JumpseatTurnEnded',
          callback = function(args) table.insert(_G.ended, args.data) end })
    """)


@pytest.mark.scenario("missing-binary")
def test_a_missing_program_is_an_error_in_the_chat_that_says_how_to_get_it(home):
    with running_neovim(home, options={"command": ["/nowhere/jumpseat"]}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("✗ The program /nowhere/jumpseat was not found. Set it")
        child.wait_until_idle()
        assert child.text == "## Me\n\nHello?"


def test_a_program_without_attach_is_reported_as_too_old(home, tmp_path):
    usage = "jumpseat: error: argument COMMAND: invalid choice: 'attach' (choose from 'serve')"
    old = program_that(tmp_path, f"import sys\nsys.exit({usage!r})\n")
    with running_neovim(home, options={"command": old}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("(it lacks attach)")
        child.wait_until_idle()


def test_a_program_that_refuses_to_start_gives_its_reason_in_the_chat_and_in_the_log(home, tmp_path):
    refusing = program_that(tmp_path, "import sys\nsys.exit('The disk is full.')\n")
    with running_neovim(home, options={"command": refusing}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("✗ jumpseat ended with code 1 before it was ready: The disk is full.")
        child.wait_until_idle()
        assert child.text == "## Me\n\nHello?"
        child.command("Jumpseat log")
        assert "\nThe disk is full.\n" in child.text


def test_a_question_waits_for_a_program_that_starts_slowly_and_can_be_stopped(home, provider, tmp_path):
    provider.script(Reply.events(WORDS))
    go = tmp_path / "go"
    slow = slow_program(tmp_path, go)
    with running_neovim(home, options={"command": slow}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("starting jumpseat")
        child.command("Jumpseat stop")
        child.wait_until_idle()
        child.command("Jumpseat send")
        go.touch()
        child.wait_until_idle()
        assert child.text.count("Hello there.") == 1
    assert len(provider.requests) == 1


def test_a_daemon_that_was_stopped_is_started_by_the_next_question(child, provider, home):
    provider.default(Reply.events(WORDS))
    child.ask("First.")
    child.wait_until_idle()
    child.lua("require('jumpseat.daemon.client').on('end', function() _G.over = true end)")
    os.kill(Hub(home).pid, signal.SIGTERM)
    child.wait("_G.over")
    child.ask("Second.")
    child.wait_until_idle()
    assert child.text.count("Hello there.") == 2
    assert child.messages == []


def test_a_daemon_that_lacks_a_needed_method_is_reported_as_too_old(home, tmp_path):
    old = program_that(tmp_path, body_with_methods(["chat/start", "chat/cancel"], "sys.stdin.read()"))
    with running_neovim(home, options={"command": old}) as child:
        child.command("Jumpseat")
        child.ask("Hello?")
        child.wait_for_text("jumpseat 0.0.9 at ")
        assert "(it lacks edit/start)" in " ".join(child.screen.split())
        child.wait_until_idle()


@pytest.mark.scenario("daemon-killed")
def test_a_killed_daemon_ends_the_turn_keeps_the_partial_and_is_started_again(child, provider, home):
    chats.check_killed_daemon(child, provider, home)


def test_the_partial_of_a_killed_daemon_is_escaped_by_the_next_one(child, provider, home):
    chats.check_killed_daemon_and_heading(child, provider, home)


def test_a_program_that_always_crashes_is_started_a_limited_number_of_times(home, tmp_path):
    runs = tmp_path / "runs"
    body = body_with_methods(NEEDED, "time.sleep(0.2)")
    crashing = program_that(tmp_path, f"open({str(runs)!r}, 'a').write('x')\n{body}")
    with running_neovim(home, options={"command": crashing}) as child:
        child.lua("""
            local function ask()
              require('jumpseat.daemon.client').request('providers/list', {}, function(err)
                if err.data.hint == 'It is being restarted.' then ask() end
              end)
            end
            ask()
        """)
        child.wait("#_G.messages == 6")
        assert "It ended too often" in child.messages[-1]
        assert runs.read_text() == "x" * 6


def test_the_end_of_neovim_stops_the_answer_and_leaves_the_daemon_to_others(home, provider):
    provider.script(hold_answer("Half", gate=Gate()))
    with running_neovim(home) as child:
        child.command("Jumpseat")
        child.ask("A story.")
        child.wait_for_text("Half")
        child.quit()
        provider.wait_for_disconnect(1)
    assert Hub(home).processes()


def test_a_neovim_that_is_ending_does_not_start_a_process(home, tmp_path):
    written = tmp_path / "written"
    with running_neovim(home) as child:
        child.lua(
            """
            vim.api.nvim_create_autocmd('VimLeave', { callback = function()
              local err = require('jumpseat.daemon.client').start()
              vim.fn.writefile({ err and err.message or 'started' }, ...)
            end })
            """.replace("...", f"'{written}'")
        )
        child.quit()
    assert written.read_text("utf-8") == "Neovim is exiting.\n"


@pytest.mark.scenario("two-editors")
def test_two_neovims_share_one_daemon_and_each_has_its_own_chat(home, provider):
    provider.script(Reply.events(WORDS), Reply.events(completion_stream(["Other."])))
    with running_neovim(home) as first, running_neovim(home) as second:
        for child in (first, second):
            child.command("Jumpseat")
            child.ask("Hello?")
            child.wait_until_idle()
        assert len(Hub(home).pointers()) == 1
        assert "Hello there." in first.text
        assert "Other." in second.text


def test_null_and_empty_tables_are_normalised_in_messages(child):
    received = child.lua("""
        local wire = require('jumpseat.core.wire')
        local message = { a = vim.NIL, b = { c = vim.NIL, d = 1 }, e = { {}, { f = vim.NIL } } }
        message = wire.remove_nulls(message)
        return { vim.inspect(message), vim.json.encode(wire.prepare({})), vim.json.encode(wire.prepare(nil)) }
    """)
    assert received == ["{\n  b = {\n    d = 1\n  },\n  e = { {}, {} }\n}", "{}", "{}"]


def test_bytes_that_are_not_utf_8_are_replaced_in_messages(child):
    sent = child.lua(r"""
        local wire = require('jumpseat.core.wire')
        return wire.prepare({ a = 'wört 😀 \xff\xf0\x9f end \xed\xa0\x80', b = { 'p', 1, true, vim.NIL } })
    """)
    assert sent == {"a": "wört 😀 \ufffd\ufffd\ufffd end \ufffd\ufffd\ufffd", "b": ["p", 1, True, None]}


def test_a_log_that_has_grown_too_large_is_rotated(home):
    log = home / "nvim-state" / "nvim" / "jumpseat.log"
    log.parent.mkdir(parents=True)
    log.write_text("old\n" * 300_000)
    with running_neovim(home) as child:
        child.command("Jumpseat status")
        child.wait_for_text("fake: configured")
    assert log.with_name("jumpseat.log.1").read_text().startswith("old")
    assert "old" not in log.read_text()


def test_a_message_of_the_daemon_is_shown(child, home):
    child.command("Jumpseat status")
    child.wait_for_text("fake: configured")
    (home / "config.toml").write_text("[providers\n")
    child.wait("#_G.messages == 1")
    assert "config.toml" in child.messages[0]


def test_turns_are_announced_to_other_plug_ins(child, provider):
    provider.script(Reply.events(WORDS))
    record_ended_turns(child)
    child.ask("Hello?")
    child.wait("#_G.ended == 1")
    assert child.lua("return _G.ended[1].stop_reason") == "end_turn"


@pytest.mark.scenario("stop-before-first-token")
def test_a_turn_that_is_cancelled_before_its_first_delta_ends(child, provider):
    provider.default(Reply.events(WORDS))
    outcome = child.lua("""
        local outcome
        local turn = require('jumpseat.daemon.turn').start('chat/start',
          { messages = { { role = 'user', content = 'x' } } }, function() end, function(o) outcome = o end)
        turn:stop()
        vim.wait(20000, function() return outcome end)
        return outcome
    """)
    assert outcome["cancelled"] is True
