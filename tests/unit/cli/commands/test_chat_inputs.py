"""The inputs of `jumpseat chat`: files, images, stdin, settings, schemas, tools."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import BashComplete

from jumpseat_cli import program as commands
from jumpseat_cli.chat.question import MAX_TOTAL_BYTES
from jumpseat_cli.daemon.settings import convert_settings
from jumpseat_client import client
from tests.fakes.scenario import Scenario, answer_steps
from tests.unit.cli.test_program import REPOSITORY, argv, read_params, run

pytestmark = pytest.mark.timeout(60)

PNG = b"\x89PNG\r\n\x1a\n\0"
ROWS = [
    {"key": "temperature", "type": "number", "description": "Higher is more random."},
    {"key": "seed", "type": "integer", "description": ""},
    {"key": "keep_alive", "type": "string", "description": ""},
    {"key": "logprobs", "type": "boolean", "description": ""},
    {"key": "verbosity", "type": "enum", "choices": ["low", "high"], "description": ""},
    {"key": "stop", "type": "list", "description": ""},
]
ANSWERS: dict[str, Any] = {
    "settings/schema": {"provider": "fake", "settingsSchema": ROWS},
    "prompts/get": {
        "name": "review",
        "text": "Review: x = 1",
        "system": "Be careful.",
        "model": "fake:p",
        "settings": {"seed": 1, "temperature": 1},
    },
    "prompts/list": {
        "prompts": [
            {"name": "explain", "builtin": True, "usesInput": False},
            {"name": "review", "usesInput": True, "description": "A diff", "model": "fake:p"},
        ]
    },
    "conversations/get": {
        "id": "c1",
        "title": "T",
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "fake:k",
        "system": "Kept.",
        "settings": {"keep_alive": "1m", "seed": 7},
    },
}


@dataclass
class CommandLine:
    """Runs the command line in this process, with a scripted daemon."""

    folder: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def __post_init__(self) -> None:
        self.use_scenario(Scenario.chat(self.folder, answer_steps("ok"), answers=ANSWERS))

    def use_scenario(self, scenario: Scenario) -> None:
        """Use another daemon."""
        self.scenario = scenario
        self.patch.setattr(client, "default_command", lambda **_: scenario.command)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command; return the exit code, stdout and stderr."""
        code = commands.run(arguments)
        return code, *self.capture.readouterr()

    @property
    def asked(self) -> dict[str, Any]:
        """The params of the chat."""
        return read_params(self.scenario)

    @property
    def blocks(self) -> list[Any]:
        """The blocks of the chat's last message."""
        return content(self.scenario)


@pytest.fixture
def jumpseat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    monkeypatch.chdir(REPOSITORY)
    return CommandLine(tmp_path, monkeypatch, capsys)


def make_scenario(folder: Path) -> Scenario:
    """Return a daemon that answers "ok" in each chat."""
    return Scenario.chat(folder, answer_steps("ok"), answer_steps("ok"), answers=ANSWERS)


def content(scenario: Scenario) -> list[Any]:
    """Return the blocks of the last message in the first chat."""
    blocks: list[Any] = read_params(scenario)["messages"][-1]["content"]
    return blocks


def test_files_and_images_come_before_the_question(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n", "utf-8")
    (tmp_path / "i.png").write_bytes(PNG)
    scenario = make_scenario(tmp_path)
    files = ("-f", f"{tmp_path}/*.py:2", "-a", f"{tmp_path}/i.png", "-a", "https://example.com/i.png")
    done = run(scenario, "chat", *files, "why", piped="piped")

    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
    file, piped, image, link, question = content(scenario)
    assert (file["text"], file["range"]["start"]["line"], file["languageId"]) == ("two\n", 1, "python")
    assert piped == {"type": "context", "text": "piped", "label": "stdin"}
    assert image["source"] == base64.b64encode(PNG).decode()
    assert link == {"type": "image", "source": "https://example.com/i.png"}
    assert question == {"type": "text", "text": "why"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-tokens", "0", "x"),
        ("--no",),
        ("-a", "README.md", "x"),
        ("-o", "temperature", "x"),
        ("-o", "=1", "x"),
        ("--schema", "README.md", "x"),
        ("--schema", "none.json", "x"),
        ("--tool", "README.md", "x"),
        ("--thinking", "enormous", "x"),
        ("--no-stdin",),
        ("--no-stdin", "-", "x"),
        ("-f", "README.md"),
    ],
)
def test_wrong_inputs_are_refused_without_a_request_to_the_daemon(
    jumpseat: CommandLine, arguments: tuple[str, ...]
) -> None:
    code, out, error = jumpseat("chat", *arguments)

    assert (code, out) == (2, "")
    assert "Error: " in error
    assert jumpseat.scenario.read_messages() == []


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (("--json-mode", "--schema"), "{}", "--schema and --json-mode cannot be combined"),
        (("--schema",), "[]", "must contain a JSON object"),
        (("--schema",), '{"type": "text"}', "is not a JSON schema: $.type: 'text' is not valid"),
        (("--tool",), '{"name": "f"}', "--tool requires --json"),
        (("--json", "--tool"), '{"type": "function"}', "must contain a tool with name, description and"),
        (("--json", "--tool"), "[1]", "or a list of tools"),
    ],
)
def test_invalid_files_and_exclusive_options_are_reported(
    jumpseat: CommandLine, arguments: tuple[str, ...], text: str, message: str
) -> None:
    file = jumpseat.folder / "s.json"
    file.write_text(text, "utf-8")
    code, out, error = jumpseat("chat", *arguments, str(file), "x")

    assert (code, message in (out or error)) == (2, True)


def test_a_pattern_that_the_shell_expanded_is_reported(jumpseat: CommandLine) -> None:
    code, _, error = jumpseat("chat", "-f", "README.md", "CHANGELOG.md", "explain")

    assert code == 0
    assert error.startswith("warning: CHANGELOG.md is part of the question; repeat -f")


def test_a_dash_reads_stdin_and_no_stdin_ignores_it(tmp_path: Path) -> None:
    scenario = make_scenario(tmp_path)
    assert run(scenario, "chat", "-", "why", piped="x = 1").returncode == 0
    assert [block["text"] for block in content(scenario)] == ["x = 1", "why"]

    assert run(scenario, "chat", "--no-stdin", "why", piped="x = 1").returncode == 0
    params = scenario.read_messages("chat/start")[1]["params"]
    assert params["messages"][0]["content"] == [{"type": "text", "text": "why"}]


def test_a_dash_after_attach_is_an_image_on_stdin(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(PNG)
    scenario = make_scenario(tmp_path)
    with (tmp_path / "i.png").open("rb") as image:
        subprocess.run(
            argv(scenario, "chat", "-a", "-", "why"), stdin=image, timeout=30, cwd=REPOSITORY, check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    assert [block["type"] for block in content(scenario)] == ["image", "text"]


def test_a_pipe_that_sends_nothing_is_reported_and_waited_for(tmp_path: Path) -> None:
    scenario = make_scenario(tmp_path)
    with subprocess.Popen(
        argv(scenario, "chat", "why"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline() == b"Waiting for stdin; --no-stdin ignores it.\n"
        process.stdin.write(b"late")
        process.stdin.close()
        assert (process.stdout.read(), process.stderr.read()) == (b"ok\n", b"")
    assert process.returncode == 0
    assert [block["text"] for block in content(scenario)] == ["late", "why"]


def test_a_non_blocking_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    scenario = make_scenario(tmp_path)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with subprocess.Popen(
        argv(scenario, "chat", "why"),
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
    ) as process:
        os.close(reading)
        assert process.stderr is not None
        process.stderr.readline()
        os.write(writing, b"late")
        os.close(writing)
        assert process.wait(30) == 0
    assert [block["text"] for block in content(scenario)] == ["late", "why"]


@pytest.mark.parametrize("command", [("chat", "why"), ("chat",), ("tokens",), ("chat", "-p", "review")])
def test_stdin_in_another_encoding_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    scenario = make_scenario(tmp_path)
    done = subprocess.run(
        argv(scenario, *command), input="žluť".encode("cp1250"), capture_output=True, timeout=30,
        cwd=REPOSITORY, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout, scenario.read_messages()) == (2, b"", [])
    assert done.stderr == b"Error: stdin is not UTF-8 text. To convert it: iconv -f ENCODING -t UTF-8\n"


def test_files_and_stdin_share_one_size_limit(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * (MAX_TOTAL_BYTES // 8))
    scenario = make_scenario(tmp_path)
    files = ("-f", f"{tmp_path}/*.txt")
    whole = run(scenario, "chat", *files, "--no-stdin", "why")
    more = run(scenario, "chat", *files, "why", piped="x")
    piped = run(scenario, "chat", "why", piped="x" * (MAX_TOTAL_BYTES + 1))

    assert whole.returncode == 0
    assert len(scenario.read_messages("chat/start")) == 1
    for done in (more, piped):
        assert done.returncode == 2
        assert done.stderr == "Error: Files, images, pages and stdin together are larger than 32 MiB.\n"


@pytest.mark.parametrize("arguments", [("chat", "-f", "none.py", "x"), ("edit", "none.py", "x")])
def test_a_missing_file_is_reported_without_the_usage(
    jumpseat: CommandLine, arguments: tuple[str, ...]
) -> None:
    code, out, error = jumpseat(*arguments)
    assert (code, out, error.count("\n"), error.startswith("Error: ")) == (2, "", 1, True)

    code, out, error = jumpseat(*arguments, "--json")
    assert (code, error) == (2, "")
    assert "none.py" in json.loads(out)["error"]["message"]


def test_wrong_usage_with_json_prints_one_json_document(jumpseat: CommandLine) -> None:
    code, out, error = jumpseat("chat", "--thinking", "enormous", "--json", "x")
    assert (code, error) == (2, "")
    assert "enormous" in json.loads(out)["error"]["message"]

    code, out, error = jumpseat("chat", "--thinking", "enormous", "--", "--json")
    assert (code, out) == (2, "")
    assert "Usage: " in error


def test_settings_have_the_types_of_their_rows() -> None:
    texts = {"temperature": "0.5", "seed": "3", "keep_alive": "10", "logprobs": "True", "verbosity": "LOW"}

    assert convert_settings({**texts, "stop": '["a"]', "unknown": "1"}, ROWS) == {
        "temperature": 0.5,
        "seed": 3,
        "keep_alive": "10",
        "logprobs": True,
        "verbosity": "low",
        "stop": ["a"],
        "unknown": "1",
    }


@pytest.mark.parametrize(
    ("key", "text"),
    [("temperature", "hot"), ("temperature", "NaN"), ("seed", ""), ("logprobs", "2"), ("stop", "a")],
)
def test_a_value_of_the_wrong_type_is_sent_as_text_for_the_daemon_to_refuse(key: str, text: str) -> None:
    assert convert_settings({key: text}, ROWS) == {key: text}


def test_settings_are_converted_with_the_schema_of_the_model(jumpseat: CommandLine) -> None:
    assert jumpseat("chat", "-m", "fake:m", "-o", "seed=3", "-o", "x=1=2", "why")[0] == 0
    assert jumpseat.asked["settings"] == {"seed": 3, "x": "1=2"}
    assert jumpseat.scenario.read_messages("settings/schema")[0]["params"] == {"model": "fake:m"}


def test_a_chat_without_settings_does_not_request_the_schema(jumpseat: CommandLine) -> None:
    assert jumpseat("chat", "why")[0] == 0
    assert [message["method"] for message in jumpseat.scenario.read_messages()] == [
        "initialize", "initialized", "chat/start", "shutdown", "exit",
    ]  # fmt: skip


def test_a_schema_thinking_and_tools_are_passed_on(jumpseat: CommandLine) -> None:
    schema, tool, tools = (jumpseat.folder / f"{name}.json" for name in ("schema", "tool", "tools"))
    schema.write_text('{"type": "object"}', "utf-8")
    tool.write_text('{"name": "f", "parameters": {}}', "utf-8")
    tools.write_text('[{"name": "g"}, {"name": "h"}]', "utf-8")
    offered = ("--json", "--tool", str(tool), "--tool", str(tools))
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, answer_steps("{}"), answers=ANSWERS))
    assert jumpseat("chat", "--schema", str(schema), "--thinking", "high", *offered, "x")[0] == 0

    params = jumpseat.asked
    assert (params["outputMode"], params["thinking"]) == ({"schema": {"type": "object"}}, "high")
    assert [each["name"] for each in params["tools"]] == ["f", "g", "h"]


@pytest.mark.parametrize(
    ("arguments", "incomplete", "expected"),
    [
        (["chat", "-o"], "se", ["seed="]),
        (["chat", "-m", "fake:m", "-o"], "verbosity=", ["verbosity=low", "verbosity=high"]),
        (["chat", "-o"], "logprobs=t", ["logprobs=true"]),
        (["chat", "-p"], "r", ["review"]),
        (["prompts", "show"], "e", ["explain"]),
        (["chat", "-f"], "READ", ["READ"]),
    ],
)
def test_keys_values_prompts_and_files_are_completed(
    jumpseat: CommandLine, arguments: list[str], incomplete: str, expected: list[str]
) -> None:
    shell = BashComplete(commands.jumpseat, {}, "jumpseat", "_JUMPSEAT_COMPLETE")

    assert [item.value for item in shell.get_completions(arguments, incomplete)] == expected


PAGE = {"type": "context", "text": "Page.", "uri": "https://example.com/a", "label": "A"}


@pytest.mark.requirement("13:cli")
def test_pages_follow_the_files_and_are_read_by_the_daemon(jumpseat: CommandLine) -> None:
    answers = {**ANSWERS, "context/fetch": {"context": PAGE}}
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, answer_steps("ok"), answers=answers))
    pages = ("-f", "https://example.com/a", "-f", "HTTP://example.com/b")

    assert jumpseat("chat", *pages, "-f", "LICENSE:1", "why")[0] == 0
    assert [block.get("uri", "")[:8] for block in jumpseat.blocks] == ["file:///", "https://", "https://", ""]
    urls = [message["params"]["url"] for message in jumpseat.scenario.read_messages("context/fetch")]
    assert urls == ["https://example.com/a", "HTTP://example.com/b"]


@pytest.mark.requirement("13:cli")
def test_a_page_that_cannot_be_read_is_reported_before_the_question(jumpseat: CommandLine) -> None:
    error = {"code": 1004, "message": "x is not on the public internet.", "data": {"hint": "Set it."}}
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, answers={"context/fetch": {"error": error}}))

    code, out, stderr = jumpseat("chat", "-f", "http://x/", "why")
    assert (code, out) == (1, "")
    assert stderr == "jumpseat: x is not on the public internet.\nhint: Set it.\n"
    assert jumpseat.scenario.read_messages("chat/start") == []


@pytest.mark.requirement("13:cli")
def test_a_page_is_an_input_for_a_prompt_and_can_be_counted(jumpseat: CommandLine) -> None:
    answers = {
        **ANSWERS,
        "context/fetch": {"context": PAGE},
        "chat/countTokens": {"tokens": 7, "method": "estimate"},
    }
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, answer_steps("ok"), answers=answers))

    assert jumpseat("chat", "-p", "review", "-f", "https://example.com/a")[0] == 0
    assert jumpseat("tokens", "-f", "https://example.com/a")[:2] == (0, "7\n")
    (message,) = jumpseat.scenario.read_messages("chat/countTokens")[0]["params"]["messages"]
    assert message["content"] == [PAGE]
