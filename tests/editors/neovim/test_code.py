"""Yanking code blocks of a chat, and inserting them into the last file."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply

pytestmark = [pytest.mark.editor, pytest.mark.slow]

LISTS = """1. First:

   ```python
   def f(x):
       return x  # one

   f(1)
   ```

2. Second:
   - ~~~~sh
     ls
     ~~~
       deep  # two
     ~~~~

> ```lua
> quoted()  -- three
>
>   more()
> `````

Some text:

    indented code  # four

      more

```c
last
```
"""


def test_code_blocks_are_yanked_and_inserted_into_the_last_file(child, provider, tmp_path):
    (tmp_path / "a.py").write_text("first\nsecond\n")
    child.command(f"edit {tmp_path / 'a.py'}")
    child.command("Jumpseat")
    provider.script(Reply.events(completion_stream(["Here:\n\n```python\nx = 1\n", "y = 2\n```\n\nDone."])))
    child.ask("Code?")
    child.wait_until_idle()
    child.command("Jumpseat yank")
    assert child.lua("return vim.fn.getreg('\"')") == "x = 1\ny = 2\n"
    child.command("Jumpseat insert")
    lines = child.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.py'), 0, -1, false)")
    assert lines == ["first", "x = 1", "y = 2", "second"]


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("one", "def f(x):\n    return x  # one\n\nf(1)\n"),
        ("two", "ls\n~~~\n  deep  # two\n"),
        ("three", "quoted()  -- three\n\n  more()\n"),
        ("four", "indented code  # four\n\n  more\n"),
        # The cursor is not in a code block, so the last one is yanked.
        ("Some text", "last\n"),
    ],
)
def test_the_block_at_the_cursor_is_yanked_without_its_indentation(child, provider, word, code):
    provider.script(Reply.events(completion_stream([LISTS])))
    child.ask("Code?")
    child.wait_until_idle()
    child.lua("assert(vim.fn.search(..., 'bw') > 0)", word)
    child.command("Jumpseat yank")
    assert child.lua("return vim.fn.getreg('\"')") == code


LINES_TO_ESCAPE = r"""# vim: set ts=4 :
x = 1  # Vim<700: vim: Local Variables:
## Me
\## Assistant
```context uri=a
<!-- text -->
<details><summary>Thinking</summary>
# vim\: kept \\ex: kept
index: 1
\## Notes
"""
"""Code that a chat contains in an escaped form: Neovim or the daemon would interpret these lines."""


def test_code_is_yanked_as_the_model_wrote_it(child, provider):
    provider.script(
        Reply.events(completion_stream(["````sh\n", LINES_TO_ESCAPE, "````\n\nText.\n\n    vi: code\n"]))
    )
    child.ask("Code?")
    child.wait_until_idle()
    assert "\n# vim\\: set ts=4 :\n" in child.text
    child.lua("vim.fn.search('index', 'bw')")
    child.command("Jumpseat yank")
    assert child.lua("return vim.fn.getreg('\"')") == LINES_TO_ESCAPE
    child.lua("vim.fn.search('code', 'bw')")
    child.command("Jumpseat yank")
    assert child.lua("return vim.fn.getreg('\"')") == "vi: code\n"
