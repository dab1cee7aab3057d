"""Code blocks of a chat that are shown as a diff in their file, and accepted there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.editors.neovim.child import Child, running_neovim

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MATHS = """\
import os


class Maths:
    def double(self, x):
        result = x + x
        return result

    def half(self, x):
        return x / 2


def spare():
    pass
"""
OTHER = "def greet(name):\n    print('Hello', name)\n"
TWICE = "def double(self, x: int) -> int:\n    return 2 * x\n"
MATHS_AFTER = MATHS.replace(
    "    def double(self, x):\n        result = x + x\n        return result\n",
    "    def double(self, x: int) -> int:\n        return 2 * x\n",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "maths.py").write_text(MATHS)
    (folder / "other.py").write_text(OTHER)
    return folder


@pytest.fixture
def child(home: Path, project: Path) -> Iterator[Child]:
    """A Neovim in the project, with `other.py` and a chat beside it."""
    with running_neovim(home, str(project / "other.py"), options={"window": "right"}) as running:
        running.command(f"cd {project}")
        running.command("Jumpseat")
        yield running


def ask_for_code(child: Child, provider: ThreadedUpstream, text: str) -> None:
    """Ask a question, and wait for this answer of the model."""
    provider.script(Reply.events(completion_stream([text])))
    child.ask("How?")
    child.wait_until_idle()


def apply_to(child: Child, name: str) -> None:
    """Apply the last code block, and wait until it is shown in the file."""
    child.keys("gp")
    child.wait("_G.messages[#_G.messages]:find('The code is shown in ', 1, true)")
    assert child.lua("return vim.fs.basename(vim.api.nvim_buf_get_name(0))") == name


@pytest.mark.scenario("apply-code")
@pytest.mark.parametrize(
    "answer",
    [
        f"So:\n\n```python src/maths.py\n{TWICE}```\n",
        f'So:\n\n```python title="src/maths.py"\n{TWICE}```\n',
        f"So:\n\n```python:src/maths.py\n{TWICE}```\n",
        f"So:\n\n```python\n# src/maths.py\n\n{TWICE}```\n",
        f"**src/maths.py**:\n\n```python\n{TWICE}```\n",
        f"In `src/maths.py`, change the method:\n\n```python\n{TWICE}```\n",
    ],
    ids=["fence", "title", "colon", "comment", "label", "sentence"],
)
def test_a_code_block_is_shown_in_the_file_that_it_names_and_accepted(child, provider, answer):
    ask_for_code(child, provider, answer)
    apply_to(child, "maths.py")
    assert child.text == MATHS.rstrip("\n")
    child.command("Jumpseat again")
    assert child.messages[-1] == "jumpseat: Only an edit can be rewritten, not a code block."
    child.wait_for_text("    def double(self, x: int) -> int:")
    child.keys("gA")
    assert child.text == MATHS_AFTER.rstrip("\n")
    child.command("undo")
    assert child.text == MATHS.rstrip("\n")


@pytest.mark.scenario("apply-code")
def test_a_code_block_without_a_path_is_shown_in_the_most_similar_file(child, provider, project):
    child.write(f"@file:{project}/src/maths.py ")
    ask_for_code(child, provider, f"Shorter:\n\n```python\n{TWICE}```\n")
    apply_to(child, "maths.py")
    child.keys("gA")
    assert child.text == MATHS_AFTER.rstrip("\n")


@pytest.mark.scenario("apply-code")
def test_hunks_of_a_code_block_are_accepted_and_rejected_separately(child, provider):
    code = "def greet(name: str):\n    print('Hello', name)\n    return name\n"
    ask_for_code(child, provider, f"```python\n{code}```\n")
    apply_to(child, "other.py")
    child.wait_for_text("ga accept · gr reject")
    child.keys("gr")
    child.keys("ga")
    assert child.text == OTHER + "    return name"


def test_a_code_block_for_a_new_file_fills_its_buffer(child, provider, project):
    ask_for_code(child, provider, "```python src/new.py\nx = 1\ny = 2\n```\n")
    apply_to(child, "new.py")
    child.keys("gA")
    assert child.text == "x = 1\ny = 2"
    assert not (project / "src" / "new.py").exists()
    child.command("write")
    assert (project / "src" / "new.py").read_text() == "x = 1\ny = 2\n"


def test_code_without_similar_lines_in_the_file_is_inserted_below_the_cursor(child, provider):
    ask_for_code(child, provider, "```python\nZ = {}\n```\n")
    apply_to(child, "other.py")
    assert "No lines of other.py are similar" in child.messages[-2]
    child.keys("gA")
    assert child.text == "def greet(name):\nZ = {}\n    print('Hello', name)"


def test_a_diff_is_applied_to_its_files_although_its_line_numbers_are_wrong(child, provider):
    patch = (
        "--- a/src/maths.py\n+++ b/src/maths.py\n@@ -90,4 +90,4 @@\n     def half(self, x):\n"
        "-        return x / 2\n+        return x // 2\n \n@@ -120 +120 @@\n-import os\n+import sys\n"
        "--- a/other.py\n+++ b/other.py\n@@ -1,2 +1,2 @@\n-def greet(name):\n+def greet(who):\n"
        "-    print('Hello', name)\n+    print('Hello', who)\n@@ -7 +7 @@\n-missing\n+found\n"
    )
    ask_for_code(child, provider, f"```diff\n{patch}```\n")
    child.keys("gp")
    child.wait("#_G.messages == 3")
    left_out = "jumpseat: 1 of the 2 changes of the diff do not match other.py, and are left out."
    assert child.messages[-1] == left_out
    child.keys("gA")
    assert child.text == OTHER.replace("name", "who").rstrip("\n")
    child.command("buffer maths.py")
    child.keys("gA")
    assert child.text == MATHS.replace("x / 2", "x // 2").replace("import os", "import sys").rstrip("\n")


GIT_DIFF = """\
diff --git a/src/new.py b/src/new.py
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1,2 @@
+x = 1
+y = 2

diff --git a/src/maths.py b/src/maths.py
old mode 100644
new mode 100755
similarity index 90%
index 2222222..3333333
--- a/src/maths.py
+++ b/src/maths.py
@@ -12,2 +12,2 @@
 def spare():
-    pass
+    return

diff --git a/other.py b/other.py
deleted file mode 100644
index 4444444..0000000
--- a/other.py
+++ /dev/null
@@ -1,2 +0,0 @@
-def greet(name):
-    print('Hello', name)
"""


@pytest.mark.scenario("apply-code")
def test_a_diff_with_the_headers_of_git_is_applied(child, provider):
    ask_for_code(child, provider, f"```diff\n{GIT_DIFF}```\n")
    child.keys("gp")
    child.wait("#_G.messages == 3")
    shown = "jumpseat: The code is shown in {}: :Jumpseat accept applies it, :Jumpseat reject discards it."
    assert child.messages == [shown.format(name) for name in ("src/new.py", "src/maths.py", "other.py")]
    child.keys("gA")
    assert child.text == ""
    child.command("buffer maths.py")
    child.keys("gA")
    assert child.text == MATHS.replace("pass", "return").rstrip("\n")
    child.command("buffer new.py")
    child.keys("gA")
    assert child.text == "x = 1\ny = 2"


def test_a_diff_that_only_renames_is_reported(child, provider):
    headers = "similarity index 100%\nrename from other.py\nrename to another.py\n"
    diff = f"diff --git a/other.py b/another.py\n{headers}"
    ask_for_code(child, provider, f"```diff\n{diff}```\n")
    child.keys("gp")
    assert child.messages == ["jumpseat: The diff does not change any lines."]


def test_the_file_of_a_code_block_can_be_named_and_is_reviewed_only_once(child, provider):
    ask_for_code(child, provider, f"```python\n{TWICE}```\n")
    child.command("Jumpseat apply src/maths.py")
    child.wait_for_text("def double(self, x: int)")
    child.command("wincmd p")
    child.command("Jumpseat apply src/maths.py")
    assert "There is already an edit in src/maths.py." in child.messages[-1]


def test_code_that_the_file_already_has_is_reported(child, provider):
    ask_for_code(child, provider, f"```python\n{OTHER}```\n")
    child.keys("gp")
    assert child.messages == ["jumpseat: This code is already in other.py."]


@pytest.mark.parametrize(
    "block",
    ["```sh {}\nls\n```\n", "{}:\n\n```sh\nls\n```\n", "```diff\n--- {}\n+++ {}\n@@ -1 +1 @@\n-a\n+b\n```\n"],
    ids=["fence", "label", "diff"],
)
def test_a_url_that_the_model_writes_is_not_opened(child, provider, tmp_path, block):
    program = tmp_path / "run.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o700)
    ask_for_code(child, provider, block.replace("{}", f"term://{program}"))
    child.keys("gp")
    child.wait("#_G.messages > 0")
    names = child.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert [name for name in names if name.startswith("term:")] == []
    assert not (tmp_path / "ran").exists()
