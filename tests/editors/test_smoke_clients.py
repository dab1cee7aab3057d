"""The smallest client in each editor's own JSON-RPC library, against the real daemon and a fake provider."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, chunk, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.daemon import environment_of
from tests.editors.programs import program
from tests.hub import Hub, no_daemon_afterwards, running_daemons

pytestmark = pytest.mark.editor

EDITORS = Path(__file__).parents[2] / "editors"
VECTORS = Path(__file__).parents[1] / "vectors" / "transcripts.json"
CLIENT_SECONDS = 60.0
"""A time limit. Even a cold editor on a busy machine starts in seconds, so a slower one hangs."""


def neovim(script: str = "smoke") -> Sequence[str]:
    return [program("nvim"), "--headless", "-u", "NONE", "-l", str(EDITORS / "neovim" / f"{script}.lua")]


def emacs(script: str = "smoke") -> Sequence[str]:
    return [program("emacs"), "--batch", "-Q", "-l", str(Path(__file__).parent / "emacs" / f"{script}.el")]


def node(script: str = "smoke") -> Sequence[str]:
    command = [program("node"), str(EDITORS / "node" / f"{script}.mjs")]
    if not (EDITORS / "node" / "node_modules" / "vscode-jsonrpc").is_dir():
        pytest.skip("vscode-jsonrpc is not installed: run `npm ci --prefix editors/node`")
    return command


@pytest.fixture
def tmp_path(tmp_path):
    """The home directory of the editors' user, whose daemon is ended afterwards."""
    with no_daemon_afterwards(tmp_path / "home"):
        yield tmp_path


def run(command, tmp_path, **environment):
    """Run the client, attached to the shared daemon."""
    home = tmp_path / "home"
    ran = subprocess.run(
        command,
        env={
            **os.environ,
            **environment_of(home),
            # The clients start `jumpseat attach`, which must be the program of this checkout.
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            **environment,
        },
        capture_output=True,
        encoding="utf-8",
        timeout=CLIENT_SECONDS,
        check=False,
    )
    assert home in running_daemons().values(), "the client did not attach to a daemon"
    return ran


@pytest.mark.parametrize("client", [neovim, emacs, node])
def test_an_editor_streams_cancels_and_calls_a_tool(client, tmp_path):
    check_chats(client(), tmp_path)


@pytest.mark.requirement("9:editors")
def test_the_editors_share_a_daemon(tmp_path):
    commands = [client() for client in (neovim, emacs, node)]
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(check_chats, command, tmp_path) for command in commands]:
            done.result()
    hub = Hub(tmp_path / "home")
    assert len(hub.processes()) == 1
    assert hub.log.count("is attached") == len(commands)


def check_chats(command, tmp_path):
    """Check the client's three chats: one streams, one is cancelled, and one calls a tool."""
    call = FakeCall("call_1", "weather", ['{"city": ', '"Rome"}'])
    with ThreadedUpstream() as upstream:
        upstream.script(
            Reply.events(completion_stream(["Hel", "lo."])),
            Reply.events([chunk({"content": "Half an ans"})]).stall_after(),
            Reply.events(completion_stream(tool_calls=[call])),
            Reply.events(completion_stream(["It is sunny ", "in Rome."])),
        )
        ran = run(command, tmp_path, JUMPSEAT_BASE_URL=upstream.base_url)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        *printed, summary = ran.stdout.strip().splitlines()
        assert json.loads(summary) == {
            "hello": "Hello.",
            "partial": "Half an ans",
            "city": "Rome",
            "answer": "It is sunny in Rome.",
        }
        assert "".join(printed) == "Hello.Half an ansIt is sunny in Rome."
        replayed = upstream.requests[3].json["messages"]
    assert [message["role"] for message in replayed] == ["user", "assistant", "tool"]
    assert replayed[1]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Rome"}'}
    assert (replayed[2]["tool_call_id"], replayed[2]["content"]) == ("call_1", "sunny")


@pytest.mark.requirement("5:transcript-round-trip")
@pytest.mark.parametrize("client", [neovim, emacs, node])
def test_transcripts_survive_an_editors_own_json(client, tmp_path):
    ran = run(client("vectors"), tmp_path, JUMPSEAT_VECTORS=str(VECTORS))

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout) == {"count": len(json.loads(VECTORS.read_text("utf-8")))}
