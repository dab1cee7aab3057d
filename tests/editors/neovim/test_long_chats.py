"""Long answers and long chats, which must not block the main loop of Neovim."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MAX_MS = 16
"""The time of one frame at 60 Hz, in milliseconds."""

ROUNDS = 4

# Record the most CPU time, in milliseconds, that Neovim uses between two ticks of a timer. Do not measure
# elapsed time: on a busy machine, other processes delay the loop by more than a frame.
WATCH_MAIN_LOOP = """
    _G.longest = 0
    local function used()
      local usage = vim.uv.getrusage()
      return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
    end
    local last = used()
    _G.timer = vim.uv.new_timer()
    _G.timer:start(0, 1, function()
      local now = used()
      _G.longest, last = math.max(_G.longest, now - last), now
    end)
"""


def lines_of_a_long_chat() -> list[str]:
    """Return 5,000 lines, which end with the heading of a question."""
    lines = []
    for number in range(250):
        role = "Me" if number % 2 == 0 else "Assistant"
        lines += [f"## {role}", "", *(f"line {number}.{each}" for each in range(17)), ""]
    return [*lines, "## Me", ""]


@pytest.mark.scenario("many-deltas")
@pytest.mark.parametrize("chat", ["short, highlighted", "long"])
def test_five_thousand_deltas_never_block_the_main_loop_for_a_frame(child, provider, chat):
    words = [f"word{number} " + ("\n" if number % 12 == 0 else "") for number in range(5000)]
    provider.default(Reply.events(completion_stream(words)))
    child.command("syntax off")
    child.lua(WATCH_MAIN_LOOP)
    longest = []
    # Take the best of several rounds: the plug-in needs the same time in each; a busy machine may add to it.
    for _ in range(ROUNDS):
        child.command("Jumpseat!")
        if chat == "long":
            # With this many lines, code that processes all lines for each delta would exceed the limit.
            # Tree-sitter would exceed it too, so it stays off.
            child.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", lines_of_a_long_chat())
        else:
            child.lua("vim.treesitter.start(0, 'markdown')")
        child.command("redraw!")
        child.lua("_G.longest = 0")
        child.ask("Many words.")
        child.wait_until_idle()
        longest.append(child.lua("return _G.longest"))
        if longest[-1] <= MAX_MS:
            break
    assert 0 < min(longest) <= MAX_MS, longest
    _, _, answer = child.body.rpartition("## Assistant\n")
    # The last two words are the heading "## Me".
    assert "".join(words).split() == answer.split()[:-2]


@pytest.mark.scenario("long-chat")
def test_a_chat_of_five_thousand_lines_is_continued_at_its_end(child, provider):
    child.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", lines_of_a_long_chat())
    provider.script(Reply.events(completion_stream(["The ", "end."])))
    child.ask("And?")
    child.wait_until_idle()
    assert child.text.endswith("line 249.16\n\n## Me\nAnd?\n\n## Assistant\n\nThe end.\n\n## Me\n\n")
    assert len(provider.requests[0].json["messages"]) == 251
    child.wait_for_text("The end.")
