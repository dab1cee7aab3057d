"""Conversations that `jumpseat chat` keeps and continues, and `jumpseat conversations`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from jumpseat_cli.commands.conversations import LIMIT
from jumpseat_client import SyncClient
from jumpseat_client.client import default_command
from tests.fakes.terminal import Terminal

COMMAND = [sys.executable, "-m", "jumpseat"]

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    with ThreadedUpstream() as running:
        running.default(Reply.events(completion_stream(["Hel", "lo"])))
        yield running


@pytest.fixture
def configuration(home: Path, upstream: ThreadedUpstream) -> Path:
    file = home / "config.toml"
    file.write_text(
        f'default_provider = "fake"\n[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        'api_key = "test-key"\ndefault_model = "m"\n',
        encoding="utf-8",
    )
    return file


def run(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, **variables}, timeout=60, check=False, cwd=cwd,
    )  # fmt: skip


def chat(*arguments: str, cwd: Path | None = None) -> dict[str, Any]:
    """Run `jumpseat chat --json` and return its result."""
    result: dict[str, Any] = json.loads(run("chat", "--json", *arguments, cwd=cwd).stdout)
    return result


def list_ids(*arguments: str, cwd: Path | None = None) -> list[str]:
    """Run a command of `jumpseat conversations`, by default `list`; return the ids that it prints."""
    done = run("conversations", *(arguments or ("list",)), "--json", cwd=cwd)
    return [row["id"] for row in json.loads(done.stdout)["conversations"]]


def last_request(upstream: ThreadedUpstream) -> dict[str, Any]:
    request: dict[str, Any] = upstream.requests[-1].json
    return request


@pytest.mark.requirement("10:cli-keep")
@pytest.mark.usefixtures("configuration")
def test_a_chat_is_kept_and_continued_with_its_messages_system_and_model(
    upstream: ThreadedUpstream, tmp_path: Path
) -> None:
    first = chat("--system", "Be brief.", "--model", "fake:other", "Hi")
    other = tmp_path / "elsewhere"
    other.mkdir()
    chat("--no-keep", "Not kept")

    done = run("chat", "-c", "And more?")

    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello\n", "")
    sent = last_request(upstream)
    assert sent["model"] == "other"
    assert [(each["role"], each["content"]) for each in sent["messages"]] == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "And more?"),
    ]
    assert list_ids() == [first["conversationId"]]
    nothing_here = run("chat", "-c", "Hi", cwd=other)
    assert (nothing_here.returncode, nothing_here.stdout) == (1, "")
    assert "no conversation in this directory" in nothing_here.stderr
    failure = json.loads(run("chat", "-c", "--json", "Hi", cwd=other).stdout)
    assert failure["error"]["message"] == "There is no conversation in this directory to continue."

    named = chat("--conversation", first["conversationId"], "--model", "fake:m", "Third", cwd=other)
    assert named["conversationId"] == first["conversationId"]
    assert (len(last_request(upstream)["messages"]), last_request(upstream)["model"]) == (6, "m")


@pytest.mark.requirement("10:cli-keep")
@pytest.mark.usefixtures("configuration")
def test_wrong_uses_of_the_options_to_continue_a_conversation_fail() -> None:
    both = run("chat", "-c", "--conversation", "x", "Hi")
    unknown = run("chat", "--conversation", "unknown", "Hi")

    assert (both.returncode, both.stdout) == (2, "")
    assert unknown.returncode == 1
    assert "unknown" in unknown.stderr
    assert "hint: " in unknown.stderr


@pytest.mark.requirement("10:cli-list")
@pytest.mark.usefixtures("configuration")
def test_kept_conversations_are_listed_searched_shown_exported_and_removed(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    sky = chat("Why is the sky \x1b[31mblue?")["conversationId"]
    sea = chat("And the sea?", cwd=below)["conversationId"]

    assert list_ids() == [sea, sky]
    assert list_ids("list", "--limit", "1") == [sea]
    assert list_ids("list", "--directory", ".", cwd=below) == [sea]
    assert list_ids("search", "SKY", "hello") == [sky]
    assert list_ids("search", "moon") == []
    row = run("conversations").stdout.splitlines()[1].split("\t")
    assert (row[0], row[2], row[3]) == (sky, "Why is the sky blue?", "1")

    shown = run("conversations", "show", sky).stdout
    assert "## Me\n\nWhy is the sky blue?\n\n## Assistant\n\nHello" in shown
    exported = run("conversations", "export", sky).stdout
    assert "sky \x1b[31mblue?" in exported
    assert f"\nconversation: {sky}\n" in exported
    as_json = json.loads(run("conversations", "export", "--json", sky).stdout)
    assert as_json["messages"][0]["content"][0]["text"] == "Why is the sky \x1b[31mblue?"

    removed = run("conversations", "remove", sky)
    assert (removed.returncode, removed.stdout) == (0, f"Deleted: {sky}  Why is the sky blue?\n")
    again = run("conversations", "remove", sea, sky)
    assert (again.returncode, again.stdout, list_ids()) == (1, "", [sea])
    assert again.stderr.startswith(f"jumpseat: There is no kept conversation '{sky}'.\nhint: ")
    as_json = json.loads(run("conversations", "remove", "--json", sea).stdout)
    assert (as_json, list_ids()) == ({"deleted": {sea: True}}, [])
    assert run("conversations", "show", sky).returncode == 1
    nothing = run("conversations")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "There are no kept conversations." in nothing.stderr


@pytest.mark.requirement("10:cli-list")
@pytest.mark.usefixtures("configuration")
def test_control_sequences_of_a_conversation_do_not_reach_the_terminal() -> None:
    name = chat("red \x1b]0;title\x07 alert")["conversationId"]
    controller, terminal = pty.openpty()
    with os.fdopen(controller, "rb", buffering=0) as screen:
        for command in ("show", "export"):
            process = subprocess.Popen(
                [*COMMAND, "conversations", command, name], stdin=subprocess.DEVNULL, stdout=terminal
            )
            assert process.wait(60) == 0
        os.close(terminal)
        text = b""
        try:
            while piece := screen.read(65536):
                text += piece
        except OSError:  # On Linux, this means that the command has closed the terminal.
            pass
    assert text.count(b"alert") == 2
    assert b"\x1b]0;" not in text


@pytest.mark.requirement("10:cli-list")
@pytest.mark.usefixtures("configuration")
def test_an_id_can_be_abbreviated_if_only_one_conversation_matches() -> None:
    with SyncClient.spawn(default_command(shared=True)) as client:
        ids = ["red-one", "red-two", "blue-one"]
        for name in ids:
            client.chat(f"About {name}?", keep=True, conversation_id=name).response()

    assert "About blue-one?" in run("conversations", "show", "blue").stdout
    assert json.loads(run("conversations", "export", "--json", "two").stdout)["id"] == "red-two"
    assert chat("--conversation", "blue", "More")["conversationId"] == "blue-one"
    several = run("conversations", "remove", "two", "red")
    assert (several.returncode, sorted(list_ids())) == (1, sorted(ids))
    assert several.stderr.startswith("jumpseat: 'red' matches 2 kept conversations: red-two, red-one.\n")
    assert run("conversations", "remove", "").returncode == 1
    assert run("conversations", "remove", "two").stdout == "Deleted: red-two  About red-two?\n"


@pytest.mark.requirement("10:cli-list")
@pytest.mark.usefixtures("configuration")
def test_in_a_pipe_searches_and_removals_include_all_conversations() -> None:
    with SyncClient.spawn(default_command(shared=True)) as client:
        for number in range(LIMIT + 2):
            client.chat(f"A secret, number {number}", keep=True).response()
        kept = client.chat("Something else", keep=True).response()["conversationId"]

    whole = run("conversations", "search", "secret")
    assert (len(whole.stdout.splitlines()), whole.stderr) == (LIMIT + 2, "")
    cut = run("conversations", "search", "secret", "--limit", "3")
    assert (len(cut.stdout.splitlines()), cut.stderr) == (
        3,
        "These are the last 3 conversations. To list more, add --limit N.\n",
    )
    code, screen = Terminal([*COMMAND, "conversations", "search", "secret"]).finish()
    assert code == 0
    assert f"These are the last {LIMIT} conversations." in screen

    removed = run("conversations", "remove", "--search", "secret")
    assert (removed.returncode, len(removed.stdout.splitlines())) == (0, LIMIT + 2)
    assert list_ids() == [kept]
    nothing = run("conversations", "remove", "--search", "secret")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    for wrong in ((), ("--search", " "), ("--search", "else", kept)):
        assert run("conversations", "remove", *wrong).returncode == 2


@pytest.mark.requirement("10:cli-list")
@pytest.mark.usefixtures("configuration")
def test_a_user_on_a_terminal_is_asked_before_conversations_are_deleted() -> None:
    first, second = chat("Why?")["conversationId"], chat("How?")["conversationId"]

    terminal = Terminal([*COMMAND, "conversations", "remove", first, second])
    terminal.read_until(lambda screen: b"[y/N]" in screen)
    assert f"{first}  Why?".encode() in terminal.output
    terminal.type(b"n\r")
    code, screen = terminal.finish()
    assert (code, sorted(list_ids())) == (1, sorted([first, second]))
    assert "Nothing was deleted." in screen

    terminal = Terminal([*COMMAND, "conversations", "remove", first])
    terminal.read_until(lambda screen: b"Delete this conversation?" in screen)
    terminal.type(b"y\r")
    assert (terminal.finish()[0], list_ids()) == (0, [second])
    assert Terminal([*COMMAND, "conversations", "remove", "--yes", second]).finish()[0] == 0
    assert list_ids() == []


@pytest.mark.requirement("10:cli-list")
@pytest.mark.usefixtures("configuration")
def test_ids_are_completed_with_their_titles() -> None:
    name = chat("Why?")["conversationId"]

    for line, word in (("jumpseat conversations show ", "3"), ("jumpseat chat --conversation ", "3")):
        done = run(_JUMPSEAT_COMPLETE="zsh_complete", COMP_WORDS=line, COMP_CWORD=word)
        assert done.stdout.split("\n")[:3] == ["plain", name, "Why?"]
    done = run(
        _JUMPSEAT_COMPLETE="bash_complete",
        COMP_WORDS=f"jumpseat conversations remove {name[:9]}",
        COMP_CWORD="3",
    )
    assert done.stdout == f"plain,{name}\n"


@pytest.mark.requirement("10:cli-keep")
def test_with_keeping_off_a_chat_warns_and_answers(configuration: Path) -> None:
    with configuration.open("a") as file:
        file.write("[conversations]\nkeep = false\n")

    done = run("chat", "Hi")

    assert (done.returncode, done.stdout) == (0, "Hello\n")
    assert "This conversation is not kept." in done.stderr
    assert list_ids() == []
