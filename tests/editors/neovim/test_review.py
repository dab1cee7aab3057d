"""Reviews of edits: hunks are accepted, rejected and undone with keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import Child, running_neovim

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
AFTER = "ONE\ntwo\nthree\nfour and a half\nfour\nfive\nSEVEN\n"
"""The new text, with three hunks: a changed line, a new line, and two lines that became one."""
OLD, NEW = BEFORE.rstrip("\n"), AFTER.rstrip("\n")


@pytest.fixture
def reviewing(home: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """A Neovim with a file of eight lines, and with an edit of the first seven that waits for review."""
    file = tmp_path / "a.txt"
    file.write_text(BEFORE + "eight\n")
    provider.script(Reply.events(completion_stream([AFTER])))
    with running_neovim(home, str(file)) as child:
        child.command("1,7Jumpseat edit Change it.")
        child.wait_for_text("hunk 1 of 3 · ga accept · gr reject · gA accept all · gR reject all")
        yield child


@pytest.mark.scenario("edit-hunks")
def test_hunks_are_accepted_and_rejected_with_keys(reviewing):
    reviewing.keys("ga")
    assert reviewing.text == OLD.replace("one", "ONE") + "\neight"
    reviewing.wait_for_text("hunk 1 of 2")
    assert reviewing.lua("return vim.fn.getline('.')") == "three"
    reviewing.keys("gr")
    assert "four and a half" not in reviewing.screen
    reviewing.keys("ga")
    assert reviewing.text == "ONE\ntwo\nthree\nfour\nfive\nSEVEN\neight"
    assert "ga accept" not in reviewing.screen
    reviewing.command("Jumpseat accept-hunk")
    assert reviewing.messages[-1] == "jumpseat: There is no edit to review in this buffer."


def test_keys_accept_the_hunk_at_the_cursor_and_move_between_hunks(reviewing):
    reviewing.keys("6G")
    reviewing.wait_for_text("hunk 3 of 3")
    reviewing.keys("ga")
    assert reviewing.text == "one\ntwo\nthree\nfour\nfive\nSEVEN\neight"
    reviewing.wait_for_text("hunk 2 of 2")
    reviewing.keys("gg")
    reviewing.wait_for_text("hunk 1 of 2")
    reviewing.keys("]c")
    assert reviewing.lua("return vim.fn.line('.')") == 3
    reviewing.keys("[c")
    assert reviewing.lua("return vim.fn.line('.')") == 1


def test_an_accepted_hunk_is_undone_and_offered_again(reviewing):
    reviewing.keys("gaga")
    assert reviewing.text == OLD.replace("one", "ONE").replace("four", "four and a half\nfour") + "\neight"
    reviewing.keys("u")
    reviewing.wait_for_text("of 2 ·")
    reviewing.keys("u")
    reviewing.wait_for_text("of 3 ·")
    assert reviewing.text == OLD + "\neight"
    reviewing.keys("<C-r>")
    reviewing.wait_for_text("of 2 ·")
    reviewing.keys("gA")
    assert reviewing.text == NEW + "\neight"
    reviewing.keys("u")
    assert reviewing.text == OLD.replace("one", "ONE") + "\neight"


def test_all_hunks_are_rejected_with_one_key_which_is_then_unmapped(reviewing):
    reviewing.keys("gR")
    assert reviewing.text == OLD + "\neight"
    assert "SEVEN" not in reviewing.screen
    assert reviewing.lua("return vim.fn.maparg('gR', 'n')") == ""


def test_lines_added_above_do_not_move_the_hunks(reviewing):
    reviewing.keys("ggOzero<Esc>")
    reviewing.keys("ga")
    assert reviewing.text == "zero\n" + OLD.replace("one", "ONE") + "\neight"
    reviewing.keys("gA")
    assert reviewing.text == "zero\n" + NEW + "\neight"


def test_new_lines_are_shown_between_the_lines_where_they_will_be(reviewing):
    screen = reviewing.screen
    assert screen.index("three") < screen.index("four and a half") < screen.index("\nfour\n")


def test_text_that_is_changed_during_the_review_is_not_overwritten(reviewing):
    reviewing.keys("2Ga!<Esc>")
    reviewing.keys("]c")
    assert reviewing.messages[-1].endswith("have changed, so the cursor cannot move to a change.")
    reviewing.keys("ga")
    assert reviewing.messages[-1].endswith("The new text is shown in a diff beside this buffer.")
    texts = set(
        reviewing.lua("""
            return vim.tbl_map(function(win)
              local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false)
              return table.concat(lines, '\\n')
            end, vim.api.nvim_list_wins())
        """)
    )
    assert texts == {OLD.replace("two", "t!wo") + "\neight", NEW + "\neight"}


def test_a_text_is_rewritten_again_after_a_hunk_was_accepted(reviewing, provider):
    reviewing.keys("ga")
    provider.script(Reply.events(completion_stream(["ONE\n2\n"])))
    reviewing.command("Jumpseat again Shorter.")
    reviewing.wait("#_G.messages == 2")
    sent = str(provider.requests[1].json["messages"])
    assert r"ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n" in sent
    reviewing.keys("gA")
    assert reviewing.text == "ONE\n2\neight"


def test_the_key_maps_of_a_buffer_return_after_a_review(home, provider, tmp_path):
    provider.script(Reply.events(completion_stream(["ONE\n"])))
    (tmp_path / "a.txt").write_text("one\n")
    with running_neovim(home, str(tmp_path / "a.txt"), options={"keys": {"accept": "<F2>"}}) as child:
        child.lua("vim.keymap.set('n', 'ga', function() _G.mine = true end, { buffer = 0 })")
        child.command("Jumpseat edit Upper.")
        child.wait_for_text("ga accept · gr reject")
        child.keys("<F2>")
        assert child.text == "ONE"
        assert child.lua("return _G.mine") is None
        child.keys("ga")
        assert child.lua("return _G.mine") is True


def test_an_answer_without_a_change_has_no_review(home, provider, tmp_path):
    provider.script(Reply.events(completion_stream(["one\n"])))
    (tmp_path / "a.txt").write_text("one\n")
    with running_neovim(home, str(tmp_path / "a.txt")) as child:
        child.command("Jumpseat edit Upper.")
        child.wait("#_G.messages == 1")
        assert child.messages == ["jumpseat: The model changed nothing."]
        child.command("Jumpseat accept")
        assert child.messages[-1] == "jumpseat: There is no edit to review in this buffer."
