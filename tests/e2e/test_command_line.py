"""The command line with the real daemon and a fake provider on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_body, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from jumpseat_client import ChatFailed, Client
from tests.fakes.terminal import Terminal, list_visible_lines
from tests.processes import restore_interrupts

COLOURS_AND_CURSOR = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]")
"""Matches the control sequences for colours and for the visibility of the cursor."""

COMMAND = [sys.executable, "-m", "jumpseat"]

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def environment(home: Path, upstream: ThreadedUpstream) -> dict[str, str]:
    (home / "config.toml").write_text(
        f'default_provider = "fake"\n[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        'api_key = "test-key"\ndefault_model = "fake-model"\n',
        encoding="utf-8",
    )
    return dict(os.environ)


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        env=environment, timeout=30, check=False,
    )  # fmt: skip


def test_a_question_is_answered(environment: dict[str, str], upstream: ThreadedUpstream) -> None:
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])))
    done = run(environment, "chat", "Hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello\n", "")


def test_a_question_is_answered_as_json(environment: dict[str, str], upstream: ThreadedUpstream) -> None:
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])))
    result = json.loads(run(environment, "chat", "--json", "Hi").stdout)
    assert (result["text"], result["stopReason"], result["provider"]) == ("Hello", "end_turn", "fake")


@pytest.mark.requirement("2:context-paths")
def test_files_are_sent_with_paths_relative_to_the_working_directory(
    environment: dict[str, str], upstream: ThreadedUpstream, tmp_path: Path
) -> None:
    upstream.default(Reply.events(completion_stream(["```\nx\n```"])))
    below = tmp_path / "project" / "below"
    below.mkdir(parents=True)
    for file in (below / "a.py", below.parent / "b.py"):
        file.write_text("a = 1\n")
    (below / "link.py").symlink_to("/etc/hosts")
    # Start the shared daemon in another directory.
    run(environment, "chat", "Begin in another directory.")
    for arguments in (
        ("chat", "-f", "a.py", "-f", "../b.py", "-f", str(below / "link.py"), "Explain."),
        ("edit", "--stdout", "a.py", "Shorten it."),
    ):
        done = subprocess.run(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=environment,
            timeout=30, check=False, cwd=below,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")

    _, chat, edit = upstream.requests
    for name in ("a.py", "../b.py", "link.py"):
        assert f"`{name}`:" in str(chat.json["messages"])
    assert "`a.py`, line 1:" in str(edit.json["messages"])
    assert str(tmp_path) not in (chat.body + edit.body).decode()


def test_status_names_the_default_provider(environment: dict[str, str]) -> None:
    status = json.loads(run(environment, "status", "--json").stdout)
    assert status["default"] == "fake"


def test_status_names_the_file_with_a_default_that_does_not_exist(
    environment: dict[str, str], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('default_provider = "lokal"\n', encoding="utf-8")
    done = run(environment, "status", "--config", str(wrong))

    assert done.returncode == 1
    assert "default_provider is 'lokal', which does not exist; did you mean local?" in done.stderr
    assert f"hint: Correct default_provider in {wrong}." in done.stderr
    assert "Next:" not in done.stdout


def test_a_configuration_file_can_be_given(environment: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(
        '[providers.other]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n', encoding="utf-8"
    )
    status = json.loads(run(environment, "status", "--json", "--config", str(other)).stdout)
    assert "other" in {row["id"] for row in status["providers"]}


@pytest.mark.parametrize("more", [(), ("--no-stream",)])
def test_thinking_is_printed_on_stderr_only_if_it_is_requested(
    environment: dict[str, str], upstream: ThreadedUpstream, more: tuple[str, ...]
) -> None:
    if more:
        body = completion_body("Because.")
        body["choices"][0]["message"]["reasoning_content"] = "First I think."
        reply = Reply.json(body)
    else:
        reply = Reply.events(completion_stream(["Because."], reasoning=["First ", "I think."]))
    upstream.default(reply)

    done = run(environment, "chat", "--show-thinking", *more, "Why?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Because.\n", "First I think.\n\n")
    assert run(environment, "chat", *more, "Why?").stderr == ""
    terminal = Terminal([*COMMAND, "chat", "--show-thinking", *more, "Why?"], environment)
    code, output = terminal.finish()
    assert code == 0
    assert "\x1b[2mFirst" in output
    plain = COLOURS_AND_CURSOR.sub("", output)
    assert "\n".join(list_visible_lines(plain)).strip() == "First I think.\n\nBecause."


@pytest.mark.usefixtures("ignored_interrupts")
def test_an_interrupt_closes_the_providers_connection(
    environment: dict[str, str], upstream: ThreadedUpstream
) -> None:
    events = completion_stream(["Hel", "lo"])
    upstream.script(Reply.events([*events[:2], Gate(), *events[2:]]))
    with subprocess.Popen(
        [*COMMAND, "chat", "Hi"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment,
        preexec_fn=restore_interrupts,
    ) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 3) == b"Hel"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"\n"
        upstream.wait_for_disconnect()
    assert process.returncode == 130


async def test_leaving_the_loop_over_an_answer_closes_the_providers_connection(
    environment: dict[str, str], upstream: ThreadedUpstream
) -> None:
    events = completion_stream(["Hel", "lo"])
    upstream.script(Reply.events([*events[:2], Gate(), *events[2:]]))
    async with Client.spawn(shared=True, env=environment) as client:
        stream = client.chat("Hi")
        async for delta in stream:
            if delta.text:
                break
        with pytest.raises(ChatFailed) as caught:
            await stream.response()
        assert caught.value.partial is not None
        assert caught.value.partial["text"] == "Hel"
        await asyncio.to_thread(upstream.wait_for_disconnect)


def test_a_prompt_with_a_file_and_a_setting_reaches_the_provider(
    environment: dict[str, str], upstream: ThreadedUpstream, home: Path, tmp_path: Path
) -> None:
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write('[prompts.review]\ntext = "Review: {{input}}"\nsystem = "Be careful."\n')
    (tmp_path / "a.py").write_text("one\ntwo\n", encoding="utf-8")
    upstream.script(Reply.events(completion_stream(["Good."])))
    given = ("-p", "review", "-f", f"{tmp_path}/a.py:2", "-o", "temperature=0.5", "--usage", "briefly")
    done = run(environment, "chat", *given)

    assert (done.returncode, done.stdout) == (0, "Good.\n")
    assert " s · fake:" in done.stderr
    sent = upstream.requests[0].json
    assert sent["temperature"] == 0.5
    assert sent["messages"][0] == {"role": "system", "content": "Be careful."}
    text = str(sent["messages"][1]["content"])
    assert "line 2" in text
    assert "Review: briefly" in text

    refused = run(environment, "chat", "-o", "temperature=9", "Hi")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "jumpseat: settings.temperature must be at most 2.\n"
