"""The chat buffer, against the real daemon and a scripted provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors import chats
from tests.editors.neovim.child import WAIT_MS, running_neovim
from tests.editors.provider import WORDS, hold_answer

pytestmark = [pytest.mark.editor, pytest.mark.slow]


@pytest.mark.scenario("stream")
def test_an_answer_streams_below_the_question_and_the_next_question_follows(child, provider):
    gate = Gate()
    provider.script(hold_answer("Hel", "lo.", gate=gate))
    child.ask("Say hello.")
    child.wait_for_text("Hello.")
    assert "fake:fake-model · answering" in child.screen
    assert ":Jumpseat stop" in child.screen

    provider.open(gate)
    child.wait_until_idle()
    child.wait_for_text("Hello. End.")
    assert child.text.startswith("---\nmodel: fake:fake-model\nconversation: ")
    assert child.body == "## Me\n\nSay hello.\n\n## Assistant\n\nHello. End.\n\n## Me\n\n"
    assert "## Assistant fake:fake-model · 10 → 5 tokens" in child.screen
    assert child.messages == []


def test_the_model_is_shown_even_if_the_first_deltas_arrive_together(child):
    shown = child.lua("""
        local written = require('jumpseat.display.answer').new(0, '## Assistant')
        written:write({ { type = 'start', provider = 'fake', model = 'm' }, { type = 'text_start' },
          { type = 'text_delta', text = 'Hello' },
          { type = 'usage', usage = { inputTokens = 1, outputTokens = 2 } } })
        return require('jumpseat.display.view').status(0)
    """)
    assert (shown["model"], shown["state"]) == ("fake:m", "streaming")
    assert shown["usage"]["outputTokens"] == 2


@pytest.mark.scenario("stop-after-first-token")
def test_a_stopped_answer_keeps_its_text_and_can_be_continued(child, provider):
    chats.check_answer_stopped_in_the_middle(child, provider)


@pytest.mark.scenario("stop-before-first-token")
def test_an_answer_that_is_stopped_before_the_first_token_leaves_the_question(child, provider):
    provider.script(Reply.events(WORDS))
    child.write("A slow one.")
    child.lua("vim.cmd('JumpseatSend') vim.cmd('JumpseatStop')")
    child.wait_until_idle()
    assert child.text == "## Me\n\nA slow one."
    assert provider.requests == []

    child.command("Jumpseat send")
    child.wait_until_idle()
    assert child.text.count("## Assistant") == 1


@pytest.mark.scenario("stop-before-first-token")
def test_a_request_that_waits_for_the_provider_is_stopped_too(child, provider):
    chats.check_answer_stopped_before_it_begins(child, provider)


@pytest.mark.scenario("thinking")
def test_thinking_is_folded_and_sent_back_as_thinking(child, provider):
    chats.check_thinking_is_folded(child, provider)
    chats.check_thinking_is_sent_back(child, provider)


def test_only_thinking_is_folded_if_front_matter_is_inserted(child):
    folded = child.lua("""
        local written = require('jumpseat.display.answer').new(vim.api.nvim_get_current_buf(), '## Assistant')
        written:write({ { type = 'start', provider = 'fake', model = 'm' },
          { type = 'thinking_start', transcript = '<details><summary>Thinking</summary>\\n\\n' },
          { type = 'thinking_delta', text = 'Let me think.', transcript = 'Let me think.' } })
        vim.api.nvim_buf_set_lines(0, 0, 0, false, { '---', 'model: fake:m', '---', '' })
        written:write({ { type = 'thinking_done', transcript = '\\n\\n</details>\\n' },
          { type = 'text_start' }, { type = 'text_delta', text = 'Yes.', transcript = '\\nYes.' } })
        local first = vim.fn.search('<details>', 'n')
        return { vim.fn.foldclosed(first - 1), vim.fn.foldclosed(first) - first }
    """)
    assert folded == [-1, 0]


def test_a_line_of_the_answer_that_looks_like_a_heading_stays_in_the_answer(child, provider):
    chats.check_line_that_looks_like_a_heading(child, provider)


def test_an_unfinished_answer_cannot_speak_for_the_user(child, provider):
    chats.check_unfinished_answer_with_a_heading(child, provider)


def test_an_empty_answer_is_reported(child, provider):
    chats.check_empty_answer(child, provider)


def test_blank_lines_around_an_answer_are_not_shown_but_sent_back(child, provider):
    provider.script(
        Reply.events(completion_stream(["\n\nYes, ", "it is.\n\n"], reasoning=["Hm.\n"])), Reply.events(WORDS)
    )
    child.ask("Is it?")
    child.wait_until_idle()
    assert child.body.endswith("\n\nHm.\n\n</details>\n\nYes, it is.\n\n## Me\n\n")
    child.ask("Sure?")
    child.wait_until_idle()
    answer = provider.requests[1].json["messages"][1]
    assert (answer["content"], answer["reasoning_content"]) == ("\n\nYes, it is.\n\n", "Hm.\n")


def test_an_answer_and_the_text_before_it_are_separate_steps_of_undo(child, provider):
    gate = Gate()
    provider.script(hold_answer("One ", "two ", gate=gate))
    child.keys("iMy question.<Esc>")
    child.command("Jumpseat send")
    child.wait_for_text("One two")
    provider.open(gate)
    child.wait_until_idle()
    child.command("undo")
    assert child.text == "## Me\n\nMy question."
    child.command("undo")
    assert child.text == "## Me\n\n"


def test_undo_removes_the_model_that_is_shown_behind_the_heading_of_the_answer(child, provider):
    provider.script(Reply.events(WORDS))
    child.ask("Hi")
    child.wait_until_idle()
    child.wait_for_text("## Assistant fake:fake-model")
    body = child.text
    child.keys("u")
    assert child.text.endswith("## Me\n\nHi")
    child.wait_for_text("\nHi\n")
    child.keys("<C-r>")
    assert child.text == body
    child.wait_for_text("## Assistant\n")


def test_a_users_edit_while_an_answer_streams_is_its_own_step_of_undo(child, provider):
    gate = chats.begin_answer(child, provider, "One ")
    child.lua("vim.api.nvim_win_set_cursor(0, { vim.fn.search('Question', 'nw'), 0 })")
    child.keys("IMine: <Esc>")
    provider.open(gate)
    child.wait_until_idle()
    assert "Mine: Question." in child.text
    assert "One  End." in child.text
    child.command("undo")
    assert "Mine: Question." in child.text
    assert "End." not in child.text
    child.command("undo")
    assert "Mine: " not in child.text
    assert "One" in child.text


def test_a_window_follows_the_answer_only_if_its_cursor_is_at_the_end(child, provider):
    gate = Gate()
    lines = "".join(f"line {number}\n" for number in range(60))
    provider.script(hold_answer("start\n", gate=gate), hold_answer(lines, gate=gate))
    child.ask("Many lines.")
    child.wait_for_text("start")
    child.wait_for_text("model: fake:fake-model")
    child.lua("vim.api.nvim_win_set_cursor(0, { 1, 0 })")
    child.command("split")
    child.command("normal! G")
    provider.open(gate)
    child.wait_until_idle()
    cursors = child.lua("return vim.tbl_map(vim.api.nvim_win_get_cursor, vim.api.nvim_list_wins())")
    count = child.lua("return vim.api.nvim_buf_line_count(0)")
    assert [line for line, _ in cursors] == [count, 1]


def test_text_typed_at_the_end_while_an_answer_streams_becomes_the_next_question(child, provider):
    gate = chats.begin_answer(child, provider, "One")
    child.keys("GA next?")
    provider.open(gate)
    child.wait("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('End') ~= nil")
    child.wait_until_idle()
    child.keys(" More<Esc>")
    assert child.text.endswith("## Assistant\n\nOne End.\n\n## Me\n\n next? More")


@pytest.mark.scenario("opaque-data")
def test_a_second_turn_keeps_opaque_data_after_an_edit_elsewhere_in_the_buffer(child, provider):
    def replace(old, new):
        child.command(f"%s/{old}/{new}/")

    def origin():
        return child.lua("""
            local parsed
            local transcript = require('jumpseat.daemon.transcript')
            transcript.parse(transcript.text(0), function(_, result) parsed = result end)
            vim.wait(20000, function() return parsed end)
            return parsed.messages[2].content[2]
        """).get("origin")

    chats.check_opaque_data(child, provider, replace, origin)


@pytest.mark.scenario("save-and-reopen")
def test_a_chat_is_saved_reopened_and_continued_in_another_neovim(home, provider, tmp_path):
    file = tmp_path / "sky.md"
    with running_neovim(home) as first:
        first.command("Jumpseat")
        chats.ask_about_the_sky(first, provider)
        first.command(f"saveas {file}")
        saved = first.text + "\n"
    assert file.read_text("utf-8") == saved
    with running_neovim(home) as second:
        second.command(f"Jumpseat {file}")
        chats.continue_about_the_sky(second, provider)
        assert second.text.startswith(saved.rstrip("\n"))
    (kept,) = chats.list_kept_ids(home)
    assert f"\nconversation: {kept}\n" in saved


def block_until_the_turn_is_kept(child, home):
    """Block Neovim during its next turn until the daemon has kept the whole turn."""
    child.lua(
        """
        local pattern, wait_ms = ...
        local function is_kept()
          local files = vim.fn.glob(pattern, true, true)
          return files[1] and table.concat(vim.fn.readfile(files[1])):find('Hello there.', 1, true)
        end
        local function wait()
          local last = vim.uv.now() + wait_ms
          while not is_kept() and vim.uv.now() < last do
            vim.uv.sleep(5)
            vim.uv.update_time()
          end
        end
        vim.api.nvim_create_autocmd('User', { pattern = 'JumpseatTurnStarted', once = true,
          callback = function() vim.schedule(wait) end })
        """,
        f"{home}/conversations/*.jsonl",
        WAIT_MS,
    )


def test_a_chat_that_is_saved_when_its_turn_ends_names_its_conversation(child, provider, home):
    provider.script(Reply.events(WORDS))
    block_until_the_turn_is_kept(child, home)
    child.command("autocmd User JumpseatTurnEnded ++nested write | let g:is_saved = v:true")
    child.ask("Hello.")
    child.wait("vim.g.is_saved")
    (file,) = (home / "nvim-data").rglob("chats/*.md")
    (kept,) = chats.list_kept_ids(home)
    assert f"\nconversation: {kept}\n" in file.read_text("utf-8")


def test_a_new_chat_can_be_written_without_naming_a_file(child, provider, home):
    provider.script(Reply.events(WORDS))
    child.ask("Hello.")
    child.wait_until_idle()
    child.command("write")
    (file,) = (home / "nvim-data").rglob("chats/*.md")
    assert file.read_text("utf-8") == child.text + "\n"


@pytest.mark.scenario("two-chats")
def test_two_chats_stream_concurrently_into_their_own_buffers(child, provider):
    gates = Gate(), Gate()
    provider.script(hold_answer("alpha", gate=gates[0]), hold_answer("beta", gate=gates[1]))
    child.ask("First.")
    child.wait_for_text("alpha")
    first = child.lua("return vim.api.nvim_get_current_buf()")
    child.command("Jumpseat!")
    child.ask("Second.")
    child.wait_for_text("beta")
    for gate in gates:
        provider.open(gate)
    child.wait_until_idle()
    assert "beta End." in child.text
    child.command(f"buffer {first}")
    child.wait_until_idle()
    assert "alpha End." in child.text
    assert "beta" not in child.text


def test_an_error_is_below_the_question_which_can_be_sent_again(child, provider):
    chats.check_error(child, provider)


def test_a_partial_answer_stays_when_the_connection_breaks(child, provider):
    chats.check_broken_connection(child, provider)


def test_a_chat_without_a_question_is_not_sent(child, provider):
    child.command("Jumpseat send")
    child.wait("#_G.messages > 0")
    assert "There is no question" in child.messages[0]
    assert provider.requests == []


def test_front_matter_that_cannot_be_read_is_an_error_that_names_the_line(child, provider):
    child.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { '---', 'model: [', '---' })")
    child.ask("Hello?")
    child.wait_for_text("✗ ")
    child.wait_until_idle()
    assert "line" in child.screen
    assert provider.requests == []


def test_a_chat_whose_conversation_line_is_deleted_begins_a_new_conversation(child, provider, home):
    provider.default(Reply.events(WORDS))
    child.ask("First.")
    child.wait_until_idle()
    child.command("g/^conversation: /delete")
    child.ask("Second.")
    child.wait_until_idle()
    assert len(list((home / "conversations").glob("*.jsonl"))) == 2


def test_thinking_is_folded_in_a_window_that_shows_the_chat_later(child, provider):
    provider.script(Reply.events(completion_stream(["Yes."], reasoning=["Let me ", "think."])))
    chat = child.lua("return vim.api.nvim_get_current_buf()")
    child.ask("Is it?")
    child.command("enew")
    child.wait(f"table.concat(vim.api.nvim_buf_get_lines({chat}, 0, -1, false)):find('Yes.## Me')")
    child.command(f"vertical sbuffer {chat}")
    child.wait_for_text("▸ Thinking (1 line)")
    assert "Let me think." not in child.screen


def test_nothing_is_loaded_before_a_command_is_used(home: Path) -> None:
    with running_neovim(home) as child:
        assert (
            child.lua(
                "return vim.tbl_filter(function(n) return vim.startswith(n, 'jumpseat') end, "
                "vim.tbl_keys(package.loaded))"
            )
            == []
        )
        assert child.lua("return vim.fn.exists(':Jumpseat')") == 2
