"""Edits in place, against the real daemon and a scripted provider."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.neovim.test_long_chats import WATCH_MAIN_LOOP
from tests.editors.provider import write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "def f(x):\n    if x == True:\n        return 1\n    return 2\n"


def answer(text: str) -> Reply:
    return Reply.events(completion_stream([text[:5], text[5:]]))


@pytest.fixture
def editing(home: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """A Neovim with a Python file, and a model that may write more tokens than by default."""
    write_config(home, provider.base_url, 'models = [{ id = "fake-model", max_output_tokens = 20000 }]\n')
    file = tmp_path / "a.py"
    file.write_text(BEFORE)
    with running_neovim(home, str(file)) as child:
        child.lua("""
            _G.edits = {}
            vim.api.nvim_create_autocmd('User', { pattern = 'JumpseatEditEnded',
              callback = function(args) table.insert(_G.edits, args.data.ready) end })
        """)
        yield child


def wait_for_edits(child: Child, number: int = 1) -> None:
    """Wait until this number of edits has ended: written, failed or stopped."""
    child.wait(f"#_G.edits == {number}")


@pytest.mark.scenario("edit-accept")
def test_a_range_is_rewritten_shown_as_a_diff_and_accepted_in_one_step_of_undo(editing, provider):
    provider.script(answer("```python\n    if x:\n        return 1\n```"))
    editing.command("2,3JumpseatEdit Simplify.")
    wait_for_edits(editing)
    screen = editing.screen
    assert screen.index("if x == True:") < screen.index("if x:\n") < screen.index("return 1")
    assert editing.text == BEFORE.rstrip("\n")

    editing.command("Jumpseat accept")
    assert editing.text == "def f(x):\n    if x:\n        return 1\n    return 2"
    assert "if x == True" not in editing.screen
    editing.command("undo")
    assert editing.text == BEFORE.rstrip("\n")
    sent = str(provider.requests[0].json["messages"])
    assert "Simplify." in sent
    assert "if x == True" in sent
    assert provider.requests[0].json["max_tokens"] == 20_000


@pytest.mark.scenario("edit-reject")
def test_a_rejected_edit_leaves_the_buffer_unchanged(editing, provider):
    provider.script(answer("    if x:\n        return 1\n"))
    editing.command("2,3JumpseatEdit Simplify.")
    wait_for_edits(editing)
    editing.command("Jumpseat reject")
    assert editing.text == BEFORE.rstrip("\n")
    assert "if x:" not in editing.screen
    assert editing.lua("return vim.bo.modified") is False


@pytest.mark.scenario("edit-changed-meanwhile")
def test_an_edit_of_text_that_has_changed_is_shown_beside_it_and_not_applied(editing, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *completion_stream(["    if x:\n        return 1\n"])]))
    editing.command("2,3JumpseatEdit Simplify.")
    provider.wait_for_request(1)
    editing.command("3substitute/1/99/")
    provider.open(gate)
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    assert "The lines under review have changed" in editing.messages[-1]
    buffers = editing.lua("""
        return vim.tbl_map(function(win)
          local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false)
          return { table.concat(lines, '\\n'),
            vim.wo[win].diff }
        end, vim.api.nvim_list_wins())
    """)
    assert [diff for _, diff in buffers] == [True, True]
    texts = {text for text, _ in buffers}
    assert texts == {
        BEFORE.replace("return 1", "return 99").rstrip("\n"),
        "def f(x):\n    if x:\n        return 1\n    return 2",
    }


def test_changes_elsewhere_do_not_stop_an_edit(editing, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *completion_stream(["    if x:\n        return 1\n"])]))
    editing.command("2,3JumpseatEdit Simplify.")
    provider.wait_for_request(1)
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { '# one', '# two' })")
    editing.lua("vim.api.nvim_buf_set_lines(0, -1, -1, false, { '# end' })")
    provider.open(gate)
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    after = "# one\n# two\ndef f(x):\n    if x:\n        return 1\n    return 2\n# end"
    assert editing.text == after


def test_an_edit_is_requested_again_with_another_instruction(editing, provider):
    provider.script(answer("    if y:\n        return 1\n"), answer("    if x:\n        return 1\n"))
    editing.command("2,3JumpseatEdit First.")
    wait_for_edits(editing)
    editing.command("Jumpseat again Second.")
    wait_for_edits(editing, 2)
    editing.command("Jumpseat accept")
    assert editing.text == "def f(x):\n    if x:\n        return 1\n    return 2"
    assert "Second." in str(provider.requests[1].json["messages"])


def test_the_diff_is_shown_while_the_answer_streams(editing, provider):
    gate = Gate()
    pieces = [chunk({"content": "```python\n    if x:\n        ret"}), gate]
    provider.script(Reply.events([*pieces, *completion_stream(["urn 1\n```"])]))
    editing.command("2,3JumpseatEdit Simplify.")
    editing.wait_for_text("    if x:\n")
    assert "```" not in editing.screen
    provider.open(gate)
    wait_for_edits(editing)


def test_the_progress_of_an_edit_is_shown_before_its_first_line(editing, provider):
    gates = Gate(), Gate(), Gate()
    thinking = [gates[0], chunk({"reasoning_content": "Hm."}), gates[1]]
    provider.script(
        Reply.events([*thinking, chunk({"content": "    return"}), gates[2], *completion_stream([" 2\n"])])
    )
    editing.command("4JumpseatEdit Simplify.")
    editing.wait_for_text("    return 2 … waiting")
    provider.open(gates[0])
    editing.wait_for_text("    return 2 … thinking")
    provider.open(gates[1])
    editing.wait_for_text("    return 2 … answering · 10 bytes")
    provider.open(gates[2])
    wait_for_edits(editing)
    assert "…" not in editing.screen


def test_an_edit_in_a_closed_fold_opens_it(editing, provider):
    provider.script(answer("    if x:\n"))
    editing.command("set foldmethod=manual")
    editing.command("2,3fold")
    editing.command("1,4fold")
    editing.command("2JumpseatEdit Simplify.")
    wait_for_edits(editing)
    assert re.search(r"if x == True:  ga accept · gr reject\n    if x:\n", editing.screen)


def test_an_answer_of_one_long_line_does_not_block_neovim(editing, provider):
    line = "word = 12345678; " * 18_000
    pieces = [line[start : start + 1000] for start in range(0, len(line), 1000)]
    provider.script(Reply.events(completion_stream(pieces)))
    editing.lua(WATCH_MAIN_LOOP)
    editing.command("4JumpseatEdit Write one line.")
    wait_for_edits(editing)
    # This takes about 200 ms. Measuring the rest of the line for each of its pieces took 2 seconds or more.
    assert editing.lua("return _G.longest") < 1000
    editing.command("Jumpseat accept")
    assert editing.lua("return #vim.fn.getline(4)") == len("    " + line)


def test_new_lines_above_the_first_line_of_the_file_are_shown(editing, provider):
    provider.script(answer("# One or two.\ndef f(x):\n"))
    editing.command("1JumpseatEdit Comment it.")
    wait_for_edits(editing)
    assert editing.screen.startswith("# One or two.\ndef f(x):  ga accept · gr reject\n    if x")
    editing.command("Jumpseat accept")
    assert editing.text == "# One or two.\n" + BEFORE.rstrip("\n")


def test_an_answer_without_text_is_reported(editing, provider):
    provider.script(Reply.events(completion_stream(["  \n"])))
    editing.command("2,3JumpseatEdit Simplify.")
    wait_for_edits(editing)
    assert editing.messages == ["jumpseat: The model returned no text to apply."]


def test_a_stopped_edit_applies_nothing(editing, provider):
    provider.script(Reply.events([chunk({"content": "    if x:\n"}), Gate()]))
    editing.command("2,3JumpseatEdit Simplify.")
    provider.wait_for_request(1)
    editing.command("Jumpseat stop")
    wait_for_edits(editing)
    provider.wait_for_disconnect(1)
    assert editing.lua("return _G.edits") == [False]
    assert editing.text == BEFORE.rstrip("\n")


def test_characters_of_wide_text_are_replaced_exactly(editing, provider):
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a 😀 wörd b', 'c' })")
    provider.script(answer("wort"))
    editing.keys("gg0fwve:Jumpseat edit Deutsch.<CR>")
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    assert editing.text == "a 😀 wort b\nc"


def test_a_block_selection_is_replaced_line_by_line(editing, provider):
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a1 x', 'a2 y', 'a3 z' })")
    provider.script(answer("bb1\nbb2\nbb3"))
    editing.keys("gg0<C-v>jjl:Jumpseat edit B.<CR>")
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    assert editing.text == "bb1 x\nbb2 y\nbb3 z"


def test_a_block_edit_with_a_different_number_of_lines_is_not_offered(editing, provider):
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a1 x', 'a2 y' })")
    provider.script(answer("one"))
    editing.keys("gg0<C-v>jl:Jumpseat edit B.<CR>")
    wait_for_edits(editing)
    assert "has a different number of lines than the new text" in editing.messages[-1]
    assert editing.text == "a1 x\na2 y"


def test_an_edit_of_a_file_with_crlf_does_not_add_carriage_returns(editing, provider, tmp_path):
    file = tmp_path / "dos.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    provider.script(answer("ONE\r\nTWO\r\n"))
    editing.command(f"edit {file}")
    editing.command("1,2JumpseatEdit Upper.")
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    editing.command("write")
    assert file.read_bytes() == b"ONE\r\nTWO\r\nthree\r\n"


@pytest.mark.parametrize("action", [":Jumpseat reject<CR>", "Gp", "ix<BS><Esc>"])
def test_the_reason_of_a_failed_edit_is_shown_until_the_next_change_or_rejection(editing, provider, action):
    provider.script(Reply.json({"error": {"message": "The key is wrong."}}, 401))
    editing.command("2,3JumpseatEdit Simplify.")
    wait_for_edits(editing)
    editing.wait_for_text("✗ ")
    assert editing.text == BEFORE.rstrip("\n")
    editing.keys("G")
    editing.wait_for_text("✗ ")
    editing.keys("yy" + action)

    assert "✗" not in editing.screen
    assert editing.messages == []


@pytest.mark.parametrize("command", ["bwipeout!", "bdelete!", "edit!"])
def test_an_edit_whose_buffer_is_closed_or_reloaded_is_stopped(editing, provider, command):
    provider.script(Reply.events([chunk({"content": "    if x:\n"}), Gate()]))
    editing.command("2,3JumpseatEdit Simplify.")
    provider.wait_for_request(1)
    editing.command(command)
    provider.wait_for_disconnect(1)
    dropped = "jumpseat: The edit was discarded because its buffer was closed or reloaded."
    assert editing.messages == [dropped]
    assert editing.lua("return _G.edits") == [False]


def test_an_edit_that_is_rejected_while_it_is_written_emits_one_end_event(editing, provider):
    provider.script(Reply.events([chunk({"content": "    if x:\n"}), Gate()]))
    editing.command("2,3JumpseatEdit Simplify.")
    provider.wait_for_request(1)
    editing.command("Jumpseat reject")
    provider.wait_for_disconnect(1)
    assert editing.lua("return _G.edits") == [False]
    assert editing.text == BEFORE.rstrip("\n")


def test_a_finished_edit_whose_buffer_is_reloaded_is_not_applied(editing, provider):
    provider.script(answer("    if x:\n        return 1\n"))
    editing.command("2,3JumpseatEdit Simplify.")
    wait_for_edits(editing)
    editing.command("edit!")
    editing.command("Jumpseat accept")
    assert editing.text == BEFORE.rstrip("\n")
    assert editing.messages[-1] == "jumpseat: There is no edit to review in this buffer."


def test_an_edit_that_is_still_being_written_cannot_be_accepted(editing, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *completion_stream(["    if x:\n        return 1\n"])]))
    editing.command("2,3JumpseatEdit Simplify.")
    provider.wait_for_request(1)
    editing.command("Jumpseat accept")
    assert editing.messages == ["jumpseat: The edit is still being written; :Jumpseat stop stops it."]
    provider.open(gate)
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    assert "    if x:\n" in editing.text


def test_a_new_line_that_is_wider_than_the_window_is_shown_to_its_end(editing, provider):
    long = "    return " + " + ".join(f"part_{number}" for number in range(20))
    provider.script(answer(f"{long}\n"))
    editing.command("4JumpseatEdit Add the parts.")
    wait_for_edits(editing)
    editing.wait_for_text("part_19")
    assert long in editing.screen.replace("\n", "")
    editing.command("Jumpseat accept")
    assert editing.text.endswith(f"\n{long}")


def test_a_locked_buffer_is_not_rewritten(editing, provider):
    editing.command("set nomodifiable")
    editing.command("2,3JumpseatEdit Simplify.")
    assert editing.messages == ["jumpseat: This buffer cannot be rewritten: 'modifiable' is off."]
    assert provider.requests == []


def test_a_block_with_short_lines_and_wide_characters_is_replaced_exactly(editing, provider):
    # The right edge of the block cuts through the emoji, which is two columns wide.
    lines = ["a1 x", "", "ü", "a3 😀z", "four"]
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", lines)
    provider.script(answer(" X\n\n\n 🙂\nur"))
    editing.keys("gg0ll<C-v>4jl:Jumpseat edit B.<CR>")
    wait_for_edits(editing)
    target = str(provider.requests[0].json["messages"])
    assert r" x\n\n\n 😀\nur" in target
    editing.command("Jumpseat accept")
    assert editing.text == "a1 X\n\nü\na3 🙂z\nfour"


def test_new_text_for_a_line_shorter_than_the_block_is_appended_to_the_line(editing, provider):
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'abcd', 'ü', 'efgh' })")
    provider.script(answer("CD\n!\nGH"))
    editing.keys("gg0ll<C-v>2jl:Jumpseat edit B.<CR>")
    wait_for_edits(editing)
    editing.command("Jumpseat accept")
    assert editing.text == "abCD\nü!\nefGH"
