"""Instructions of edits: where the new text goes, and the references and prompts that they contain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.provider import text_of, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

BEFORE = "one\ntwo\nthree\n"


@pytest.fixture
def editing(home: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """A Neovim with a file of three lines."""
    prompts = '[prompts.shout]\ntext = "Write {{input}} in capitals."\nsystem = "You shout."\n'
    write_config(home, provider.base_url, prompts)
    (tmp_path / "a.lua").write_text(BEFORE)
    with running_neovim(home, str(tmp_path / "a.lua")) as child:
        yield child


def script_code(provider: ThreadedUpstream, text: str) -> None:
    """Script an answer that consists of a code block with this text."""
    provider.script(Reply.events(completion_stream([f"```\n{text}```"])))


def question(provider: ThreadedUpstream, number: int = 0) -> str:
    """Return the text of the last message of a request."""
    return text_of(provider.requests[number].json["messages"][-1])


@pytest.mark.scenario("edit-modes")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("2Jumpseat edit-before", "one\nnew\nlines\ntwo\nthree"),
        ("2Jumpseat edit-after", "one\ntwo\nnew\nlines\nthree"),
        ("1Jumpseat edit-before", "new\nlines\none\ntwo\nthree"),
        ("2,3Jumpseat edit-after", "one\ntwo\nthree\nnew\nlines"),
    ],
)
def test_new_text_is_inserted_before_or_after_the_range(editing, provider, command, text):
    script_code(provider, "new\nlines\n")
    editing.command(f"{command} Write.")
    editing.wait_for_text("ga accept · gr reject")
    assert editing.text == BEFORE.rstrip("\n")
    shown = [line.split("  ga")[0] for line in editing.screen.split("\n")[:5]]
    assert shown == text.split("\n")
    assert "write new text for this place" in question(provider)
    # The question contains the lines of the range, and no others.
    assert ("three" in question(provider)) is ("3" in command)
    editing.keys("gA")
    assert editing.text == text
    editing.command("undo")
    assert editing.text == BEFORE.rstrip("\n")


def test_without_a_range_the_context_of_new_text_is_the_whole_buffer(editing, provider):
    script_code(provider, "new\n")
    editing.keys("G")
    editing.command("Jumpseat edit-after Write.")
    editing.wait_for_text("ga accept")
    assert "one\ntwo\nthree" in question(provider)
    editing.keys("ga")
    assert editing.text == BEFORE + "new"


def test_the_place_of_new_text_stays_between_the_lines_while_it_is_written(editing, provider):
    gate = Gate()
    provider.script(
        Reply.events([chunk({"content": "```\nnew\nli"}), gate, *completion_stream(["nes\n```"])])
    )
    editing.command("2Jumpseat edit-after Write.")
    editing.wait_for_text("\nnew\n")
    assert [line.split(" …")[0] for line in editing.screen.split("\n")[:4]] == ["one", "two", "new", "three"]
    editing.lua("vim.api.nvim_buf_set_text(0, 1, 3, 1, 3, { '!' })")
    editing.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'zero' })")
    provider.open(gate)
    editing.wait_for_text("ga accept")
    editing.keys("gA")
    assert editing.text == "zero\none\ntwo!\nnew\nlines\nthree"


@pytest.mark.scenario("edit-modes")
def test_new_text_is_written_into_a_new_buffer(editing, provider):
    script_code(provider, "-- new\nlines\n")
    editing.command("2Jumpseat edit-new Write.")
    editing.wait("vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == '-- new'")
    assert editing.text == "-- new\nlines"
    assert editing.lua("return { vim.bo.filetype, vim.fn.bufname() }") == ["lua", ""]
    assert editing.lua("return vim.api.nvim_buf_get_lines(1, 0, -1, false)") == BEFORE.split()
    assert "two" in question(provider)
    assert "three" not in question(provider)


@pytest.mark.scenario("edit-context")
def test_references_in_an_instruction_add_their_text(editing, provider, tmp_path):
    (tmp_path / "rules.md").write_text("Use capitals.\n")
    script_code(provider, "TWO\n")
    editing.command(f"2Jumpseat edit Follow @file:{tmp_path}/rules.md and @buffer.")
    editing.wait_for_text("ga accept")
    asked = question(provider)
    assert asked.index("Use capitals.") < asked.index("one\ntwo\nthree") < asked.index("Follow @file:")
    editing.keys("gA")
    assert editing.text == "one\nTWO\nthree"


@pytest.mark.scenario("edit-context")
def test_a_prompt_in_an_instruction_is_expanded(editing, provider):
    script_code(provider, "TWO\n")
    editing.command("2Jumpseat edit /shout it")
    editing.wait_for_text("ga accept")
    assert "Write it in capitals." in question(provider)
    assert "/shout" not in question(provider)
    assert "You shout." in provider.requests[0].json["messages"][0]["content"]


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [("/nothing", "nothing"), ("Follow @file:missing.md", "The file missing.md cannot be read.")],
)
def test_an_instruction_that_cannot_be_expanded_is_not_sent(editing, provider, instruction, reason):
    editing.command(f"2Jumpseat edit {instruction}")
    editing.wait_for_text("✗ ")
    assert reason in editing.screen
    assert provider.requests == []
    script_code(provider, "TWO\n")
    editing.command("2Jumpseat edit Upper.")
    editing.wait_for_text("ga accept")


def test_references_and_prompts_are_completed_in_instructions(editing):
    editing.wait("vim.tbl_contains(vim.fn.getcompletion('Jumpseat edit /sh', 'cmdline'), '/shout')")
    complete = "return vim.fn.getcompletion('Jumpseat edit-after like @sel', 'cmdline')"
    assert editing.lua(complete) == ["@selection"]
