"""`jumpseat edit`, and edits and transcripts by the client library, with the real daemon."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from jumpseat_client import ChatFailed, Client

BEFORE = b"a = 1\r\n    b = 2\r\n    c = 3\r\nd = 4"

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def environment(home: Path, upstream: ThreadedUpstream) -> dict[str, str]:
    (home / "config.toml").write_text(
        f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\ndefault_model = "m"\n', "utf-8"
    )
    return dict(os.environ)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a file.py"
    path.write_bytes(BEFORE)
    path.chmod(0o640)
    return path


def run(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "jumpseat", "edit", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
        env=environment, timeout=30, check=False,
    )  # fmt: skip


def answers(upstream: ThreadedUpstream, text: str, finish_reason: str = "stop") -> None:
    upstream.script(Reply.events(completion_stream([text], finish_reason=finish_reason)))


def question(upstream: ThreadedUpstream) -> str:
    content = upstream.requests[0].json["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_the_replacement_of_the_lines_is_printed_byte_for_byte(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    answers(upstream, "Sure:\n```python\nb = 20\n\nc = '\x0c'\n```\n")
    done = run(environment, file, "--lines", "2:3", "Change", "them.")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"    b = 20\r\n\r\n    c = '\x0c'\r\n"
    assert "\nChange them.\n" in question(upstream)
    assert "lines 2-3" in question(upstream)
    assert "a file.py" in question(upstream)
    assert file.read_bytes() == BEFORE


def test_in_place_changes_only_these_lines_and_keeps_the_mode(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    answers(upstream, "```\nd = 5\n```")
    done = run(environment, file, "-l", "4", "--in-place", "Change it.")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert file.read_bytes() == BEFORE[:-1] + b"5"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640 or sys.platform == "win32"
    assert sorted(each.name for each in file.parent.iterdir()) == ["a file.py", "home"]


def test_without_lines_the_whole_file_is_edited(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    answers(upstream, "```\nx\n```")
    assert run(environment, file, "-i", "Shorten it.").returncode == 0
    assert file.read_bytes() == b"x"


@pytest.mark.parametrize(("text", "reason"), [("```\nx", "length"), ("", "stop")])
def test_an_incomplete_answer_changes_nothing(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path, text: str, reason: str
) -> None:
    answers(upstream, text, reason)
    done = run(environment, file, "--in-place", "Change it.")

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"There is no replacement" in done.stderr
    assert file.read_bytes() == BEFORE


def test_a_file_that_was_changed_in_the_meantime_is_not_changed(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    gate = Gate()
    upstream.script(Reply.events([gate, *completion_stream(["```\nx\n```"])]))
    with subprocess.Popen(
        [sys.executable, "-m", "jumpseat", "edit", file, "--in-place", "Change it."],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
    ) as process:  # fmt: skip
        upstream.wait_for_request()
        file.write_bytes(b"mine")
        upstream.open(gate)
        assert process.stderr is not None
        message = process.stderr.read()

    assert (process.returncode, file.read_bytes()) == (1, b"mine")
    assert b"changed in the meantime" in message


def test_the_result_as_json(environment: dict[str, str], upstream: ThreadedUpstream, file: Path) -> None:
    answers(upstream, "```\nx\n```")
    result = json.loads(run(environment, "--json", file, "Shorten it.").stdout)

    assert (result["replacement"], result["text"], result["stopReason"]) == ("x", "```\nx\n```", "end_turn")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--lines", "0", "x"], 2, b"--lines 0: give one line or a range"),
        (["--lines", "3:2", "x"], 2, b"--lines 3:2"),
        (["--lines", "a", "x"], 2, b"--lines a"),
        (["--lines", "9:", "x"], 1, b"has 4 lines; there is no line 9."),
        ([], 2, b"INSTRUCTION"),
    ],
)
def test_wrong_usage_is_reported(
    environment: dict[str, str], file: Path, arguments: list[str], code: int, words: bytes
) -> None:
    done = run(environment, file, *arguments)

    assert (done.returncode, done.stdout) == (code, b"")
    assert words in done.stderr


def test_a_file_that_is_not_text_is_rejected(environment: dict[str, str], file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    done = run(environment, file, "x")

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is not UTF-8 text" in done.stderr


async def test_the_library_edits(environment: dict[str, str], upstream: ThreadedUpstream) -> None:
    upstream.script(
        Reply.events(completion_stream(["```\nx = ", "2\n```"])),
        Reply.events(completion_stream(["```\n", "x"], finish_reason="length")),
        Reply.json({"error": {"message": "No."}}, 400),
    )
    async with Client.spawn(env=environment) as client:
        stream = client.edit({"text": "x = 1\n", "languageId": "python"}, "Make it two.", model="fake:n")
        assert "".join([delta.text async for delta in stream]) == "```\nx = 2\n```"
        assert (await stream.response()).replacement == "x = 2\n"
        assert (await client.edit("x", "Cut it.", stream=False).response()).replacement is None
        with pytest.raises(ChatFailed):
            await client.edit("x", "Fail.").response()
    assert upstream.requests[0].json["model"] == "n"


async def test_the_library_writes_and_reads_transcripts(environment: dict[str, str]) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}]
    async with Client.spawn(env=environment) as client:
        text = await client.render_transcript(
            messages, model="fake:m", settings={"temperature": 1}, conversation_id="c1"
        )
        read = await client.parse_transcript(text)

    assert text.startswith("---\nmodel: fake:m\n")
    assert (read["messages"], read["model"], read["settings"]) == (messages, "fake:m", {"temperature": 1})
    assert read["conversationId"] == "c1"
