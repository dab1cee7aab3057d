"""The test modules on the page about tests pass as written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.pages import ROOT, TESTING, Block, blocks

pytestmark = [pytest.mark.slow]

LIMIT_SECONDS = 100.0

PLUGIN = """
from jumpseat.adapters.http.hooks import HttpAdapter
from jumpseat.testing import ChatCompletionsScript


class MyAdapter(HttpAdapter):
    pass


class MyScript(ChatCompletionsScript):
    pass
"""

WITH_THE_DAEMON = """
from tests.conftest import *
from tests.daemon import user

{block}
"""

TWO_CHATS = """
    for _ in range(2):
        result = (await daemon.request("chat/start", {"messages": [user("Hi.")], "model": "gh:"})).result
        assert result["text"]
"""
"""The code that replaces `...` in a block of the page."""


# The block that begins with a decorator is not a module: it shows only the beginning of a test.
@pytest.mark.parametrize(
    "block", [block for block in blocks(TESTING, "python") if not block.text.startswith("@pytest")], ids=str
)
def test_a_test_module_of_the_page_passes(tmp_path: Path, block: Block) -> None:
    (tmp_path / "my_plugin.py").write_text(PLUGIN, "utf-8")
    (tmp_path / "recordings").symlink_to(ROOT / "tests/contract/recordings/openai")
    text = block.text
    if "    ...\n" in text:
        text = WITH_THE_DAEMON.replace("{block}", text.replace("    ...\n", TWO_CHATS))
    (tmp_path / "test_shown.py").write_text(text, "utf-8")

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"),
         "--rootdir", str(ROOT), "-o", f"pythonpath={ROOT} {tmp_path}", str(tmp_path / "test_shown.py")],
        cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr
