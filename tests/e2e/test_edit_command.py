"""`jumpseat edit`, and the client library's edits and transcripts, with the real daemon."""

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
from tests.fakes.terminal import Terminal

SERVE = json.dumps([sys.executable, "-P", "-m", "jumpseat", "serve"])
BEFORE = b"a = 1\r\n    b = 2\r\n    c = 3\r\nd = 4"

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    with ThreadedUpstream() as running:
        yield running


@pytest.fixture
def environment(home: Path, upstream: ThreadedUpstream) -> dict[str, str]:
    (home / "config.toml").write_text(
        f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\ndefault_model = "m"\n'
        'models = [{ id = "m", max_output_tokens = 20000 }]\n',
        "utf-8",
    )
    return dict(os.environ)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a file.py"
    path.write_bytes(BEFORE)
    path.chmod(0o640)
    return path


def run(
    environment: dict[str, str], *arguments: str | Path, piped: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "jumpseat", "edit", *arguments], input=piped, capture_output=True,
        env=environment, timeout=30, check=False,
    )  # fmt: skip


def script_answer(upstream: ThreadedUpstream, text: str, finish_reason: str = "stop") -> None:
    upstream.script(Reply.events(completion_stream([text], finish_reason=finish_reason)))


def question(upstream: ThreadedUpstream) -> str:
    content = upstream.requests[0].json["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_the_replacement_of_the_lines_is_printed_byte_for_byte(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    script_answer(upstream, "Sure:\n```python\nb = 20\n\nc = '\x0c'\n```\n")
    done = run(environment, "--stdout", f"{file}:2-3", "Change", "them.")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"    b = 20\r\n\r\n    c = '\x0c'\r\n"
    assert "\nChange them.\n" in question(upstream)
    assert upstream.requests[0].json["max_tokens"] == 20_000
    assert "lines 2-3" in question(upstream)
    assert "a file.py" in question(upstream)
    assert file.read_bytes() == BEFORE


def test_the_yes_option_changes_only_the_named_lines_and_shows_the_change(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    script_answer(upstream, "```\nd = 5\n```")
    done = run(environment, f"{file}:4", "--yes", "Change it.")

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[2:] == [
        "@@ -1,4 +1,4 @@",
        " a = 1",
        "     b = 2",
        "     c = 3",
        "-d = 4",
        "\\ No newline at end of file",
        "+d = 5",
        "\\ No newline at end of file",
    ]
    assert file.read_bytes() == BEFORE[:-1] + b"5"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640 or sys.platform == "win32"
    assert sorted(each.name for each in file.parent.iterdir()) == ["a file.py", "home"]


@pytest.mark.parametrize(("answer", "code", "content"), [(b"y", 0, b"x"), (b"n", 1, BEFORE)])
def test_on_a_terminal_the_change_is_shown_as_a_coloured_diff_with_a_question(
    environment: dict[str, str],
    upstream: ThreadedUpstream,
    file: Path,
    answer: bytes,
    code: int,
    content: bytes,
) -> None:
    script_answer(upstream, "```\nx\n```")
    command = [sys.executable, "-m", "tests.fakes.cli", SERVE, "edit"]
    terminal = Terminal([*command, str(file), "Shorten it."], environment)
    terminal.read_until(lambda output: b"[y/N]" in output)
    assert b"\x1b[31m-a = 1\x1b[0m" in terminal.output
    assert b"\x1b[32m+x\x1b[0m" in terminal.output
    assert file.read_bytes() == BEFORE
    terminal.type(answer + b"\n")

    assert terminal.finish()[0] == code
    assert file.read_bytes() == content


def test_an_edit_that_cannot_be_confirmed_is_refused_before_the_request(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    done = run(environment, file, "Shorten it.")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Add --yes" in done.stderr
    assert upstream.requests == []


@pytest.mark.parametrize("arguments", [("--yes",), ("--json", "--yes")])
def test_a_read_only_file_is_refused_before_the_request(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path, arguments: tuple[str, ...]
) -> None:
    file.chmod(0o444)
    done = run(environment, file, "Shorten it.", *arguments)

    assert done.returncode == 2
    assert b"cannot be written: It is read-only." in done.stdout + done.stderr
    assert (upstream.requests, file.read_bytes()) == ([], BEFORE)


def test_the_edit_of_a_read_only_file_can_be_printed(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    file.chmod(0o444)
    script_answer(upstream, "```\nx\n```")
    done = run(environment, file, "Shorten it.", "--stdout")
    assert (done.returncode, done.stdout) == (0, b"x")


def test_the_text_for_an_empty_file_ends_with_a_line_ending(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    file.write_bytes(b"")
    script_answer(upstream, "```python\nprint(1)\n```")
    done = run(environment, file, "Write it.", "--yes", "--json")

    assert (done.returncode, file.read_bytes()) == (0, b"print(1)\n")
    assert json.loads(done.stdout)["replacement"] == "print(1)\n"


def test_piped_input_is_rewritten(environment: dict[str, str], upstream: ThreadedUpstream) -> None:
    script_answer(upstream, "```\nHallo\n```")
    done = run(environment, "-", "Translate it.", piped="Hellö\n".encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"Hallo\n", b"")
    assert "Hellö" in question(upstream)


def test_an_answer_without_changes_is_reported(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    before = file.stat()
    script_answer(upstream, "```\na = 1\n```")
    done = run(environment, f"{file}:1", "-y", "Shorten it.")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"The model did not change anything.\n")
    assert file.stat().st_ino == before.st_ino


def test_an_edit_keeps_a_link_and_the_encoding_of_the_file(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    file.write_bytes("\ufeffä = 1\r\n".encode("utf-16-le"))
    link = file.with_name("link.py")
    link.symlink_to(file)
    script_answer(upstream, "```\nö = 1\n```")

    assert run(environment, link, "-y", "Rename it.").returncode == 0
    assert link.is_symlink()
    assert file.read_bytes() == "\ufeffö = 1\r\n".encode("utf-16-le")


def test_a_character_outside_the_encoding_changes_nothing(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    file.write_bytes("ä\n".encode("latin-1"))
    script_answer(upstream, "```\n€\n```")
    done = run(environment, file, "-y", "--encoding", "latin-1", "Change it.")

    assert (done.returncode, done.stdout) == (1, b"")
    assert "which iso8859-1 cannot encode" in done.stderr.decode()
    assert file.read_bytes() == "ä\n".encode("latin-1")


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        ("```\nx", "length", "the answer reached the output limit."),
        ("```\nx", "content_filter", "the provider's content filter cut the answer off."),
        ("", "stop", "the answer has no new text."),
    ],
)
def test_an_incomplete_answer_does_not_change_the_file(
    environment: dict[str, str],
    upstream: ThreadedUpstream,
    file: Path,
    text: str,
    reason: str,
    message: str,
) -> None:
    script_answer(upstream, text, reason)
    done = run(environment, file, "--yes", "Change it.")

    assert (done.returncode, done.stdout) == (1, b"")
    failure, hint = done.stderr.decode().splitlines()
    assert failure == f"jumpseat: There is no replacement: {message}"
    assert ("--max-tokens" in hint) == (reason == "length")
    assert file.read_bytes() == BEFORE


def test_a_file_that_was_changed_during_the_request_is_not_edited(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path
) -> None:
    gate = Gate()
    upstream.script(Reply.events([gate, *completion_stream(["```\nx\n```"])]))
    with subprocess.Popen(
        [sys.executable, "-m", "jumpseat", "edit", file, "--yes", "Change it."],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
    ) as process:  # fmt: skip
        upstream.wait_for_request()
        file.write_bytes(b"mine")
        upstream.open(gate)
        assert process.stderr is not None
        message = process.stderr.read()

    assert (process.returncode, file.read_bytes()) == (1, b"mine")
    assert b"in the meantime" in message


@pytest.mark.parametrize("more", [[], ["--yes"]])
def test_the_result_is_printed_as_json(
    environment: dict[str, str], upstream: ThreadedUpstream, file: Path, more: list[str]
) -> None:
    script_answer(upstream, "```\nx\n```")
    result = json.loads(run(environment, "--json", *more, file, "Shorten it.").stdout)

    assert (result["replacement"], result["text"], result["stopReason"]) == ("x", "```\nx\n```", "end_turn")
    assert file.read_bytes() == (b"x" if more else BEFORE)


async def test_the_client_library_edits_a_text(
    environment: dict[str, str], upstream: ThreadedUpstream
) -> None:
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


async def test_the_client_library_writes_and_reads_transcripts(environment: dict[str, str]) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}]
    async with Client.spawn(env=environment) as client:
        text = await client.render_transcript(
            messages, model="fake:m", settings={"temperature": 1}, conversation_id="c1"
        )
        read = await client.parse_transcript(text)

    assert text.startswith("---\nmodel: fake:m\n")
    assert (read["messages"], read["model"], read["settings"]) == (messages, "fake:m", {"temperature": 1})
    assert read["conversationId"] == "c1"
