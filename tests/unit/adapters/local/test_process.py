"""The child process that runs llama.cpp: its slots, its failures, and the real model."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
import pytest_asyncio

from jumpseat.adapters.local import process as local_process
from jumpseat.adapters.local.model import ENGINE, FILE_NAME, installed_file, packaged_file
from jumpseat.adapters.local.process import SLOTS, LocalServer, slots_for, threads_for
from jumpseat.chat import ConfigError, ServerError
from jumpseat.system.child import Child
from jumpseat.system.paths import places_of_process
from tests.processes import block_until_gone, wait_until_gone

WAIT_SECONDS = 30.0
GIGABYTE = 1 << 30

VARIABLES = {"HOME": os.environ.get("HOME", "")}
"""The complete environment of the child."""

needs_engine = pytest.mark.skipif(find_spec(ENGINE) is None, reason=f"{ENGINE} has no wheel here")

# Find the model when this module is imported, because a fixture may move the data directory later.
MODEL = next(
    (
        file
        for file in (installed_file(places_of_process()), packaged_file())
        if file is not None and file.is_file()
    ),
    None,
)
needs_model = pytest.mark.skipif(
    MODEL is None, reason=f"{FILE_NAME} is not installed: jumpseat local install"
)


def server_running(code, monkeypatch, tmp_path):
    """Return a server whose child process runs this Python code instead of llama.cpp."""
    package = tmp_path / "instead"
    package.mkdir()
    script = package / "child.py"
    script.write_text(code)
    start = Child.start

    async def start_script(child, argv, **options):
        assert argv[0] == sys.executable
        await start(child, [sys.executable, str(script)], **options)

    monkeypatch.setattr(Child, "start", start_script)
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    return LocalServer(model, "model", VARIABLES)


@pytest.mark.parametrize(
    ("file_bytes", "memory_bytes", "slots"),
    [(GIGABYTE, 16 * GIGABYTE, SLOTS), (8 * GIGABYTE, 16 * GIGABYTE, 1), (8 * GIGABYTE, None, SLOTS)],
)
def test_a_model_that_fills_the_memory_gets_one_slot(file_bytes, memory_bytes, slots):
    assert slots_for(file_bytes, memory_bytes) == slots


@pytest.mark.parametrize(("processors", "threads"), [(None, 1), (1, 1), (2, 1), (8, 7)])
def test_one_processor_is_left_to_other_programs(processors, threads):
    assert threads_for(processors) == threads


async def test_a_child_that_ends_without_reading_its_input_can_report_why(monkeypatch, tmp_path):
    code = 'import os; os.close(0); print(\'{"engine_error": "no"}\')'
    server = server_running(code, monkeypatch, tmp_path)
    with pytest.raises(ConfigError, match="cannot be imported: no"):
        await server.start()


async def test_the_order_to_load_is_sent_on_stdin_and_the_reply_read_from_stdout(monkeypatch, tmp_path):
    code = (
        "import json, sys\n"
        "order = json.loads(sys.stdin.readline())\n"
        "reply = {'address': order['api_key'], 'context_tokens': order['context_tokens']}\n"
        "print(json.dumps(reply), flush=True)\n"
        "sys.stdin.read()\n"
    )
    server = server_running(code, monkeypatch, tmp_path)
    await server.start()
    assert server.alive
    assert (server.address, server.context_tokens) == (server.api_key, local_process.SLOT_CONTEXT_TOKENS)
    await server.close()
    assert not server.alive
    await server.close()


async def test_a_child_that_dies_is_an_error_that_is_not_retried(monkeypatch, tmp_path):
    server = server_running("raise SystemExit(3)", monkeypatch, tmp_path)
    with pytest.raises(
        ServerError, match=r"before the model was loaded: it ended with exit code 3\."
    ) as raised:
        await server.start()
    assert not raised.value.retryable
    assert not server.alive


async def test_closing_ends_a_load_that_is_under_way(monkeypatch, tmp_path):
    server = server_running("import time; time.sleep(600)", monkeypatch, tmp_path)
    load = asyncio.create_task(server.start())
    async with asyncio.timeout(WAIT_SECONDS):
        while not server._process.pid:  # noqa: ASYNC110 - no event reports its start
            await asyncio.sleep(0)
        await server.close()
        with pytest.raises(ServerError, match="it was stopped"):
            await load


async def test_closing_a_server_while_it_starts_ends_its_process(monkeypatch, tmp_path):
    server = server_running("import time; time.sleep(600)", monkeypatch, tmp_path)
    load = asyncio.create_task(server.start())
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_SECONDS):
        await server.close()
        with pytest.raises(ServerError, match="it was stopped"):
            await load
    assert await wait_until_gone(server._process.pid)


async def test_a_load_that_hangs_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(local_process, "LOAD_TIMEOUT_SECONDS", 0.01)
    server = server_running("import sys; sys.stdin.read()", monkeypatch, tmp_path)
    with pytest.raises(ServerError, match=r"it did not answer within 0\.01 s"):
        await server.start()


async def test_much_output_of_llama_cpp_neither_blocks_it_nor_causes_warnings(monkeypatch, tmp_path, caplog):
    code = (
        "import sys\n"
        "for _ in range(5000): print('x' * 100, file=sys.stderr)\n"
        'print(\'{"model_error": "no"}\')\n'
    )
    server = server_running(code, monkeypatch, tmp_path)
    with caplog.at_level("WARNING"), pytest.raises(ConfigError, match=r"cannot load .*model\.gguf"):
        await server.start()
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_an_engine_that_cannot_be_imported_is_a_different_error_from_a_bad_file(monkeypatch, tmp_path):
    server = server_running('print(\'{"engine_error": "GLIBC_2.99 not found"}\')', monkeypatch, tmp_path)
    with pytest.raises(ConfigError, match=r"xllamacpp cannot be imported: GLIBC_2\.99") as raised:
        await server.start()
    assert "pip install" in raised.value.hint


@needs_engine
async def test_llama_cpp_refuses_a_damaged_file_without_dying(tmp_path):
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF and then nothing that makes sense")
    with pytest.raises(ConfigError, match="the file is damaged"):
        await LocalServer(damaged, "damaged", VARIABLES).start()


@needs_engine
@needs_model
@pytest.mark.local_model
def test_the_server_ends_when_its_parent_is_gone(tmp_path):
    """A killed daemon cannot clean up, so its child ends when the pipe closes."""
    order = {
        "model_path": str(MODEL),
        "name": "m",
        "api_key": "k",
        "slots": 1,
        "context_tokens": 512,
        "threads": 1,
    }
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "jumpseat.adapters.local.server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with child:
        child.stdin.write(json.dumps(order) + "\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["context_tokens"] == 512
        assert child.poll() is None
        child.stdin.close()
        assert child.wait(WAIT_SECONDS) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="prctl exists only on Linux")
def test_a_suspended_server_ends_with_its_parent(tmp_path):
    """A suspended child does not notice the end of its input, so a signal from the kernel ends it."""
    code = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from jumpseat.adapters.local import process\n"
        "from jumpseat.system.environment import environment_of_process\n"
        "sys.executable = os.path.abspath(sys.argv[1])\n"
        "async def main():\n"
        "    server = process.LocalServer(Path(sys.executable), 'model', os.environ)\n"
        "    await server.start()\n"
        "    os.kill(int(server.address), signal.SIGSTOP)\n"
        "    print(server.address, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    child = tmp_path / "child"
    child.write_text(
        f"#!{sys.executable}\n"
        "import json, os\n"
        "from jumpseat.adapters.local import server\n"
        "server._serve = lambda order: ({'address': str(os.getpid()), 'context_tokens': 1}, order)\n"
        "server.main()\n"
    )
    child.chmod(0o755)
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(child)], stdout=subprocess.PIPE, encoding="utf-8"
    )
    with parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    try:
        assert block_until_gone(pid, WAIT_SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def real_server():
    server = LocalServer(Path(MODEL or ""), "smollm2-135m-instruct", VARIABLES)
    await server.start()
    yield server
    await server.close()


def get(server, path, key):
    request = urllib.request.Request(server.address + path, headers={"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
        return json.loads(answer.read())


@needs_engine
@needs_model
@pytest.mark.local_model
class TestTheRealServer:
    """llama.cpp itself, started once for all of these tests."""

    def test_each_slot_has_the_whole_context(self, real_server):
        properties = get(real_server, "/props", real_server.api_key)
        assert real_server.context_tokens == 8192
        assert properties["default_generation_settings"]["n_ctx"] == 8192
        assert properties["total_slots"] in (1, SLOTS)

    def test_the_server_listens_on_loopback_and_requires_its_key(self, real_server):
        assert real_server.address.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(real_server, "/v1/models", "another-key")

    def test_the_server_has_no_page_for_browsers(self, real_server):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(real_server, "/", real_server.api_key)

    def test_the_model_is_listed_under_the_providers_name(self, real_server):
        listed = get(real_server, "/v1/models", real_server.api_key)
        assert [row["id"] for row in listed["data"]] == ["smollm2-135m-instruct"]
