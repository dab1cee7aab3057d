"""Tools that the daemon runs, in Neovim: the selection, approvals, calls in the chat, and unsaved buffers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.neovim.child import Child, running_neovim
from tests.editors.provider import list_sent_texts, write_config

pytestmark = [pytest.mark.editor, pytest.mark.slow]

TEXT = "one\ntwo\nthree\n"
HINT = " · ".join(
    [
        "y: yes",
        "n: no",
        "a: allow this tool in this conversation",
        "A: always allow this tool",
        "e: no, and explain why",
    ]
)
READ = ("read", {"path": "notes.md"})
EDIT = ("edit", {"path": "notes.md", "oldText": "two", "newText": "2"})


def call(tool: str, arguments: dict[str, Any], call_id: str = "c1") -> Reply:
    """Return an answer that calls a file tool."""
    calls = [FakeCall(call_id, f"files__{tool}", [json.dumps(arguments)])]
    return Reply.events(completion_stream(["Let me see."], tool_calls=calls))


def script(provider: ThreadedUpstream, *calls: tuple[str, dict[str, Any]]) -> None:
    """Let the model make these calls one after the other, and then answer."""
    for number, (tool, arguments) in enumerate(calls, 1):
        provider.script(call(tool, arguments, f"c{number}"))
    provider.script(Reply.events(completion_stream(["Done."])))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A file in the folder of a project."""
    file = tmp_path / "project" / "notes.md"
    file.parent.mkdir()
    file.write_text(TEXT)
    return file


@pytest.fixture
def child(home: Path, notes: Path) -> Iterator[Child]:
    """A Neovim in the project, with a chat that may use the file tools."""
    with running_neovim(home, options={"tools": ["files/*"]}) as running:
        running.command(f"cd {notes.parent}")
        running.command("Jumpseat")
        yield running


def wait_for_approval(child: Child) -> None:
    """Wait until an approval is shown."""
    child.wait_for_text("Allow this call?")


def decide(child: Child, key: str) -> None:
    """Wait for an approval, open its window, and press a key in it."""
    wait_for_approval(child)
    child.command("Jumpseat approve")
    child.keys(key)


@pytest.mark.scenario("tools")
def test_a_call_is_approved_with_its_diff_and_shown_folded(child, provider, notes):
    script(provider, READ, EDIT)
    child.ask("Correct it.")
    wait_for_approval(child)
    screen = child.screen
    assert "Edit notes.md · files/edit" in screen
    assert "-two" in screen
    assert "+2" in screen
    assert HINT in re.sub(r"[│\s]+", " ", screen)
    assert "waiting for your approval" in screen
    assert notes.read_text() == TEXT

    decide(child, "y")
    child.wait_until_idle()
    assert notes.read_text() == "one\n2\nthree\n"
    child.wait_for_text("▸ ✓ files/read path=notes.md · 3 lines")
    child.wait_for_text("▸ ✓ files/edit newText=2 oldText=two path=notes.md · 1 line")
    assert "```tool_use id=c1 name=files__read" in child.text
    assert child.text.endswith("\n\nDone.\n\n## Me\n\n")
    assert "tools:\n- files/*\n" in child.text
    assert child.messages == []


@pytest.mark.scenario("tools")
def test_the_reason_for_denying_a_call_is_sent_to_the_model(child, provider, notes):
    script(provider, READ, EDIT)
    child.lua("""
        vim.ui.input = function(options, answer)
          _G.asked = options.prompt
          answer('Not that file.')
        end
    """)
    child.ask("Correct it.")
    decide(child, "e")
    child.wait_until_idle()
    assert child.lua("return _G.asked") == "Why not? "
    assert "Not that file." in list_sent_texts(provider, 2)[-1]
    assert notes.read_text() == TEXT
    child.wait_for_text("✗ files/edit")


def test_a_decision_for_the_conversation_covers_later_calls(child, provider, notes):
    script(provider, READ, EDIT, ("edit", {"path": "notes.md", "oldText": "one", "newText": "1"}))
    child.ask("Correct it.")
    decide(child, "a")
    child.wait_until_idle()
    assert notes.read_text() == "1\n2\nthree\n"


def test_keys_that_were_typed_before_the_window_appears_do_not_decide(child, provider, notes):
    gate = Gate()
    provider.script(call(*READ), Reply.events([gate, *completion_stream(tool_calls=[edit_call()])]))
    child.ask("Correct it.")
    provider.wait_for_request(2)
    child.lua("""
        local float = require('jumpseat.display.float')
        local open = float.open
        float.open = function(...)
          local opened = open(...)
          -- Stop the clock: on a busy machine, the key may arrive after the time in which keys are ignored.
          local now = vim.uv.now()
          vim.uv.now = function() return now end
          vim.api.nvim_input('y')
          return opened
        end
    """)
    provider.open(gate)
    wait_for_approval(child)
    child.lua("vim.wait(50, function() return false end)")
    assert "Allow this call?" in child.screen
    assert notes.read_text() == TEXT
    child.stop()
    child.wait_until_idle()


def edit_call() -> FakeCall:
    return FakeCall("c2", "files__edit", [json.dumps(EDIT[1])])


@pytest.mark.scenario("tools")
def test_a_call_of_a_hidden_chat_is_announced_and_approved(child, provider, notes):
    gate = Gate()
    provider.script(
        call(*READ),
        Reply.events([gate, *completion_stream(tool_calls=[edit_call()])]),
        Reply.events(completion_stream(["Done."])),
    )
    child.ask("Correct it.")
    provider.wait_for_request(2)
    child.command(f"edit {notes}")
    provider.open(gate)
    child.wait("#_G.messages == 1")
    (message,) = child.messages
    assert message == "jumpseat: Edit notes.md: a call waits for your approval. :Jumpseat approve shows it."
    assert "Allow this call?" not in child.screen
    assert child.lua("return require('jumpseat').statusline()") == "1 call waits for approval"

    decide_hidden_call(child)
    child.wait("require('jumpseat').statusline() == ''")
    child.wait("vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == '2'")
    assert notes.read_text() == "one\n2\nthree\n"


def decide_hidden_call(child: Child) -> None:
    child.command("Jumpseat approve")
    child.wait_for_text("+2")
    child.keys("y")


def test_no_approval_waits_after_the_answer_was_stopped(child, provider, notes):
    script(provider, READ, EDIT)
    child.ask("Correct it.")
    wait_for_approval(child)
    child.command("Jumpseat stop")
    child.wait("require('jumpseat.tools.approvals').count() == 0")
    child.wait_until_idle()
    assert "Allow this call?" not in child.screen
    child.command("Jumpseat approve")
    assert child.messages == ["jumpseat: No call waits for an approval."]
    assert notes.read_text() == TEXT


@pytest.mark.scenario("tools-unsaved")
def test_a_tool_reads_and_changes_the_unsaved_text_in_one_step_of_undo(child, provider, notes):
    script(provider, READ, EDIT)
    child.command(f"edit {notes}")
    child.keys("Gozwei<Esc>")
    child.command("Jumpseat")
    child.ask("Correct it.")
    decide(child, "y")
    child.wait_until_idle()
    assert "zwei" in list_sent_texts(provider, 1)[-1]
    child.command(f"buffer {notes}")
    assert child.text == "one\n2\nthree\nzwei"
    assert child.lua("return vim.bo.modified") is True
    assert notes.read_text() == TEXT
    child.command("undo")
    assert child.text == "one\ntwo\nthree\nzwei"
    child.command("undo")
    assert child.text == "one\ntwo\nthree"


def apply_edit(child: Child, change: str) -> Any:
    """Run the Lua code `change`, then a request of the daemon to replace the first line; return the answer.

    The request was made for the text before `change`.
    """
    return child.lua(f"""
        require('jumpseat.tools.workspace')
        local client = require('jumpseat.daemon.client')
        local _, handlers = debug.getupvalue(client.handle, 1)
        local uri = vim.uri_from_bufnr(0)
        local document = handlers['workspace/unsaved']({{ uris = {{ uri }} }}).documents[1]
        {change}
        return handlers['workspace/applyEdit']({{ edit = {{ documentChanges = {{ {{
          textDocument = {{ uri = document.uri, version = document.version }},
          edits = {{ {{ newText = 'x\\n', range = {{
            start = {{ line = 0, character = 0 }}, ['end'] = {{ line = 1, character = 0 }} }} }} }},
        }} }} }} }})
    """)


def test_a_buffer_that_changed_after_the_question_is_not_overwritten(child, notes):
    child.command(f"edit {notes}")
    child.keys("Gozwei<Esc>")
    applied = apply_edit(child, "vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'eins' })")
    assert applied["applied"] is False
    assert applied["failureReason"].endswith("notes.md has changed.")
    assert child.text == "eins\ntwo\nthree\nzwei"


def test_a_change_by_a_tool_while_the_user_types_is_its_own_step_of_undo(child, notes):
    child.command(f"edit {notes}")
    child.keys("Gozwei")
    assert apply_edit(child, "")["applied"] is True
    child.keys("<Esc>")
    assert child.text == "x\ntwo\nthree\nzwei"
    child.command("undo")
    assert child.text == "one\ntwo\nthree\nzwei"


@pytest.mark.scenario("tools")
def test_tools_are_selected_in_a_window_and_by_name(home, provider, notes):
    with running_neovim(home) as child:
        child.command("Jumpseat")
        child.command("Jumpseat tools")
        child.wait_for_text("[ ] files")
        child.wait_for_text("[ ]   edit · needs approval · ")
        child.keys("<Space>")
        child.wait_for_text("[x] files")
        child.lua("vim.fn.search('write')")
        child.keys("<CR>")
        child.wait_for_text("[-] files")
        child.keys("q")
        child.wait_for_text("- files/edit")
        assert "files/write" not in child.text

        child.command("Jumpseat tools files/read, files/search")
        child.wait("not table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('files/edit')")
        assert child.text.startswith("---\ntools:\n- files/read\n- files/search\n---\n")
        child.command("Jumpseat tools -")
        child.wait("not table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('files')")
        found = child.lua("return vim.fn.getcompletion('Jumpseat tools files/s', 'cmdline')")
        assert found == ["files/search"]


def test_the_window_of_tools_shows_why_a_server_failed(home, provider, notes):
    write_config(home, provider.base_url, '[mcp.db]\ncommand = ["no-such-program"]\n')
    script(provider)
    with running_neovim(home, options={"tools": ["db"]}) as child:
        child.command("Jumpseat")
        child.ask("Which tables are there?")
        child.wait_until_idle()
        child.command("Jumpseat tools")
        child.wait_for_text("db · failed: ")


@pytest.mark.scenario("tools")
def test_a_chat_goes_on_after_the_limit_of_calls(home, provider, notes):
    write_config(home, provider.base_url, "[tools]\nmax_rounds = 1\n")
    script(provider, READ)
    with running_neovim(home, options={"tools": ["files/*"]}) as child:
        child.command(f"cd {notes.parent}")
        child.command("Jumpseat")
        child.ask("Read it.")
        child.wait_until_idle()
        child.wait_for_text("The model reached a limit on tool use. :Jumpseat send lets it continue.")
        child.send()
        child.wait_until_idle()
        assert child.text.endswith("```\n\n## Assistant\n\nDone.\n\n## Me\n\n")
        assert child.text.count("## Me") == 2


def test_a_saved_chat_folds_its_calls_and_sends_them_back(child, home, provider, notes):
    script(provider, READ)
    child.ask("Read it.")
    child.wait_until_idle()
    chat = notes.with_name("chat.md")
    child.command(f"write {chat}")
    script(provider)
    with running_neovim(home, str(chat)) as other:
        other.wait_for_text("▸ ✓ files/read path=notes.md · 3 lines")
        assert "three" not in other.screen
        other.ask("And?")
        other.wait_until_idle()
        roles = [message["role"] for message in provider.requests[2].json["messages"]]
        assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_selectors_are_completed_in_the_front_matter(child):
    lines = ["---", "tools: shed, files/s", "- files/w", "---"]
    child.lua("vim.api.nvim_buf_set_lines(0, 0, 3, false, ...)", lines)
    child.lua("require('jumpseat.daemon.lists').tools:get(function() _G.listed = true end)")
    child.wait("_G.listed")
    for line, word in ((2, "files/search"), (3, "files/write")):
        child.keys(f"<Esc>{line}GA")
        child.lua("_G.items = nil")
        child.lua("require('jumpseat.input.complete').request(function(items) _G.items = items end)")
        child.wait("_G.items")
        assert [each["word"] for each in child.lua("return _G.items")] == [word]
