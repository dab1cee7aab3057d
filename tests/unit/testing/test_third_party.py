"""The suite as a third party runs it: another folder, another process, without these tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "tests" / "README.md"
SECONDS = 60.0

MY_PLUGIN = """
from jumpseat.adapters.openai.adapter import OpenAIAdapter as MyAdapter
from jumpseat.testing import ChatCompletionsScript as MyScript
"""

ECHO = '''
import asyncio

from jumpseat.adapters.base import Adapter
from jumpseat.chat import *
from jumpseat.testing import AdapterContract


class Echo(Adapter):
    """Repeats the message, and makes no requests."""

    async def stream(self, request):
        origin = Origin(self.provider_name, request.model)
        yield ResponseEvent(request.model)
        yield TextStartEvent(0)
        said = ""
        for word in "".join(block.text for block in request.messages[-1].content).split():
            await asyncio.sleep(0)
            said += word
            yield TextDeltaEvent(0, word)
        yield TextDoneEvent(0, TextBlock(said, origin=origin))
        yield DoneEvent(REASON, Usage(input_tokens=1, output_tokens=1))


class TestEcho(AdapterContract):
    speaks_http = False
    live_request = ChatRequest(messages=(Message.user("one two"),), model="parrot")
    models = ("parrot",)

    def make_adapter(self, base_url, http):
        return Echo()
'''


def run_pytest(folder, *arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    return subprocess.run(
        # The environment's plug-ins for pytest are not loaded, because the suite must not need them.
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-rfs", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def snippet():
    """Return the example of the page about tests."""
    text = PAGE.read_text("utf-8")
    section = text[text.index("## The contract of adapters") :]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


@pytest.mark.requirement("adapters:contract-public")
def test_the_example_of_the_page_runs_in_a_folder_of_its_own_with_pytest_alone(tmp_path):
    (tmp_path / "my_plugin.py").write_text(MY_PLUGIN, "utf-8")
    (tmp_path / "test_mine.py").write_text(snippet(), "utf-8")
    recordings = ROOT / "tests" / "contract" / "recordings" / "openai"
    shutil.copytree(recordings, tmp_path / "recordings")

    ran = run_pytest(tmp_path)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = int(re.search(r"(\d+) passed", ran.stdout)[1])
    assert passed > 60, ran.stdout
    assert "failed" not in ran.stdout

    # Adding a recording adds tests.
    for path in recordings.glob("llama-text-whole.*"):
        shutil.copy(path, tmp_path / "recordings" / path.name.replace("llama-text-whole", "another"))
    more = run_pytest(tmp_path, "-k", "another")
    assert more.returncode == 0, more.stdout + more.stderr
    assert int(re.search(r"(\d+) passed", more.stdout)[1]) == 5


def test_an_adapter_without_http_passes_with_reasons_for_skipped_checks(tmp_path):
    (tmp_path / "test_echo.py").write_text(ECHO.replace("REASON", '"end_turn"'), "utf-8")

    # pytest can be configured to refuse tests without any case.
    ran = run_pytest(tmp_path, "-o", "empty_parameter_set_mark=fail_at_collect")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "this adapter does not send HTTP requests" in ran.stdout
    assert "this contract has no folder of `recordings`" in ran.stdout


def test_an_adapter_without_http_that_breaks_a_rule_fails_with_a_sentence(tmp_path):
    (tmp_path / "test_echo.py").write_text(ECHO.replace("REASON", '"stop"'), "utf-8")

    ran = run_pytest(tmp_path)

    assert ran.returncode == 1
    assert "has the stop reason 'stop', which is not one of end_turn" in ran.stdout


def test_without_pytest_the_import_error_says_what_to_install():
    code = "import sys; sys.modules['pytest'] = None; import jumpseat.testing"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=SECONDS, check=False
    )
    assert ran.returncode == 1
    sentence = f"jumpseat.testing needs pytest. Run `{sys.executable} -m pip install pytest`."
    assert ran.stderr.splitlines()[-1] == f"ImportError: {sentence}"
