"""The command line as a real process, in pipes and on a real terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.escapes import ESCAPES
from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.terminal import Terminal, list_visible_lines
from tests.processes import restore_interrupts

REPOSITORY = Path(__file__).parents[3]
HANGING = [
    {"delta": {"type": "start", "provider": "fake", "model": "m"}},
    {"delta": {"type": "text_delta", "block": 0, "text": "Hel"}},
    {"wait": "cancel"},
    {"error": {"code": -32800, "message": "Cancelled.", "data": {"kind": "cancelled"}}},
]
RATE_LIMIT = {
    "code": 1002,
    "message": "Too many\x1b[2J requests.",
    "data": {"kind": "rate_limit", "retryable": True, "hint": "Wait\x07 a minute."},
}

pytestmark = pytest.mark.timeout(60)


def argv(scenario: Scenario, *arguments: str) -> list[str]:
    """Return the command line of `jumpseat ARGUMENTS` with a scripted daemon."""
    return [sys.executable, "-m", "tests.fakes.cli", json.dumps(scenario.command), *arguments]


def run(scenario: Scenario, *arguments: str, piped: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv(scenario, *arguments),
        input=piped,
        stdin=subprocess.DEVNULL if piped is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        cwd=REPOSITORY,
        check=False,
    )


def read_params(scenario: Scenario) -> dict[str, Any]:
    """Return the params of the first chat."""
    params: dict[str, Any] = scenario.read_messages("chat/start")[0]["params"]
    return params


# These are the sequences that rich writes: colours, cursor visibility, erased lines.
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r")


def test_an_answer_in_a_pipe_is_its_plain_text(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps("# Hel", "lo\n\n- *x*"))
    done = run(scenario, "chat", "Why", "is it?", "-m", "fake:m", "-s", "Be brief.", "--max-tokens", "9")

    assert (done.returncode, done.stdout, done.stderr) == (0, "# Hello\n\n- *x*\n", "")
    assert read_params(scenario) == {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Why is it?"}]}],
        "model": "fake:m",
        "system": "Be brief.",
        "maxTokens": 9,
        "keep": True,
        "workDoneToken": "progress-1",
    }


def test_no_control_sequence_of_the_models_reaches_a_pipe(tmp_path: Path) -> None:
    hostile = "".join(f"{sequence}\n" for sequence, _ in ESCAPES)
    scenario = Scenario.chat(tmp_path, answer_steps(*(hostile[i : i + 3] for i in range(0, len(hostile), 3))))
    assert run(scenario, "chat", "Hi").stdout == "".join(f"{text}\n" for _, text in ESCAPES)


def test_deltas_are_written_as_they_arrive(tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = answer_steps("one ", "two")
    scenario = Scenario.chat(tmp_path, [*steps[:3], {"wait": "file", "path": str(go)}, *steps[3:]])
    with subprocess.Popen(argv(scenario, "chat", "Hi"), stdout=subprocess.PIPE, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 100) == b"one "
        go.touch()
        assert process.stdout.read() == b"two\n"
    assert process.returncode == 0


def test_piped_input_is_sent_as_context(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps("ok"))
    assert run(scenario, "chat", "explain", piped="x = 1\n").returncode == 0
    assert read_params(scenario)["messages"][0]["content"] == [
        {"type": "context", "text": "x = 1\n", "label": "stdin"},
        {"type": "text", "text": "explain"},
    ]


def test_piped_input_alone_is_the_question(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps("ok"))
    assert run(scenario, "chat", piped="Why?").returncode == 0
    assert read_params(scenario)["messages"][0]["content"] == [{"type": "text", "text": "Why?"}]


@pytest.mark.parametrize(
    "arguments",
    [("chat",), ("nonsense",), ("edit", "no-such-file", "x")],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(Scenario(tmp_path), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error" in done.stderr


def test_a_failed_chat_keeps_its_text_and_prints_a_hint(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [HANGING[1], {"error": RATE_LIMIT}])
    done = run(scenario, "chat", "Hi")
    assert (done.returncode, done.stdout) == (1, "Hel\n")
    assert done.stderr == "jumpseat: Too many requests.\nhint: Wait a minute.\n"


def test_json_is_the_result_as_one_document(tmp_path: Path) -> None:
    steps = answer_steps("\x1b[31m\x9b2J\x7f")
    done = run(Scenario.chat(tmp_path, steps), "chat", "--json", "Hi")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == steps[-1]["result"]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout)


def test_json_of_a_failure_is_the_error_as_one_document(tmp_path: Path) -> None:
    done = run(Scenario.chat(tmp_path, [HANGING[1], {"error": RATE_LIMIT}]), "chat", "--json", "Hi")
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {"error": RATE_LIMIT}


def test_warnings_and_a_cut_off_answer_are_reported_on_stderr(tmp_path: Path) -> None:
    warning = {"delta": {"type": "warning", "code": "dropped", "message": "Images\x1b[2J were dropped."}}
    scenario = Scenario.chat(tmp_path, [warning, *answer_steps("Hi", stop_reason="max_tokens")])
    done = run(scenario, "chat", "Hi")
    assert done.stdout == "Hi\n"
    assert "warning: Images were dropped.\n" in done.stderr
    assert "--max-tokens" in done.stderr


def test_a_daemon_that_dies_is_reported_with_its_last_output(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [{"stderr": "\x1b[2Jout of luck\n"}, {"die": 7}])
    done = run(scenario, "chat", "Hi")
    assert done.returncode == 1
    assert "code 7" in done.stderr
    assert "out of luck" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.usefixtures("ignored_interrupts")
def test_an_interrupt_cancels_the_turn_and_keeps_the_text(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, HANGING)
    with subprocess.Popen(
        argv(scenario, "chat", "Hi"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        preexec_fn=restore_interrupts,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert os.read(process.stdout.fileno(), 3) == b"Hel"
        process.send_signal(signal.SIGINT)
        assert (process.stdout.read(), process.stderr.read()) == (b"\n", b"")
    assert process.returncode == 130
    assert [message["method"] for message in scenario.read_messages()][-3:] == [
        "$/cancelRequest",
        "shutdown",
        "exit",
    ]


@pytest.mark.usefixtures("ignored_interrupts")
def test_the_json_of_an_interrupted_chat_is_an_error_with_the_text_so_far(tmp_path: Path) -> None:
    cancelled = {
        "code": -32800,
        "message": "Cancelled.",
        "data": {"kind": "cancelled", "partial": {"text": "Hel"}},
    }
    scenario = Scenario.chat(tmp_path, [*HANGING[:-1], {"error": cancelled}])
    terminal = Terminal(argv(scenario, "chat", "--json", "Hi"))
    terminal.read_until(lambda output: b"Waiting for m" in output)
    os.write(terminal.screen, b"\x03")
    code, output = terminal.finish()
    document = OWN.sub("", output)

    assert code == 130
    assert json.loads(document[document.index("{") :]) == {
        "error": {
            "code": None,
            "message": "Ctrl-C ended the command.",
            "data": {"kind": "cancelled", "partial": {"text": "Hel"}},
        }
    }


@pytest.mark.usefixtures("ignored_interrupts")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_json_of_a_stopped_command_is_an_error(tmp_path: Path, number: int, code: int) -> None:
    scenario = Scenario(tmp_path, initialize="silence")
    os.mkfifo(scenario.log)  # A reader of this pipe can wait until the daemon has received `initialize`.
    with (
        subprocess.Popen(
            argv(scenario, "models", "--json"),
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            preexec_fn=restore_interrupts,
        ) as process,
        scenario.log.open() as log,
    ):
        assert process.stdout is not None
        assert "initialize" in log.readline()
        process.send_signal(number)
        document = json.loads(process.stdout.read())
    assert (process.returncode, document["error"]["data"]) == (code, {"kind": "cancelled"})


def test_a_reader_that_closes_the_pipe_ends_the_turn_quietly(tmp_path: Path) -> None:
    steps = [{"delta": {"type": "text_delta", "block": 0, "text": "x" * 1000}}] * 200
    scenario = Scenario.chat(tmp_path, [*steps, *HANGING])
    with subprocess.Popen(
        argv(scenario, "chat", "Hi"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        os.read(process.stdout.fileno(), 10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert scenario.read_messages("$/cancelRequest")


@pytest.mark.usefixtures("ignored_interrupts")
def test_ctrl_c_on_a_terminal_reaches_the_turn_and_not_the_daemon(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, HANGING)
    terminal = Terminal(argv(scenario, "chat", "Hi"))
    terminal.read_until(lambda output: b"Hel" in output)
    os.write(terminal.screen, b"\x03")
    code, output = terminal.finish()
    assert code == 130
    assert "Hel" in OWN.sub("", output).splitlines()[-1]
    assert "Traceback" not in output
    assert output.count("\x1b[?25l") == output.count("\x1b[?25h")
    assert [message["method"] for message in scenario.read_messages()][-3:] == [
        "$/cancelRequest",
        "shutdown",
        "exit",
    ]


def test_no_control_sequence_of_the_models_reaches_a_terminal(tmp_path: Path) -> None:
    hostile = "".join(f"{sequence}\n\n" for sequence, _ in ESCAPES)
    entities = (
        "&#27;[2J &#x9b;2J &#155;A &#7; &#13; `\x1b[2J` [l\x1b[2J](https://x.example/\x1b[2J \x9b) \n\n"
    )
    fence = "```\x1b[2J\n\x1b]52;c;x\x07code\n```\n\n<b\x1b[2J>x</b>\n\nend of it\n"
    text = hostile + entities + fence
    scenario = Scenario.chat(tmp_path, answer_steps(*(text[i : i + 3] for i in range(0, len(text), 3))))
    code, output = Terminal(argv(scenario, "chat", "Hi")).finish()

    assert code == 0
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", OWN.sub("", output))
    assert "end of it" in output


def test_an_answer_of_any_length_is_rendered_once_on_a_terminal(tmp_path: Path) -> None:
    text = "# Title\n\n" + "".join(f"Paragraph *{i}* is here.\n\n" for i in range(60)) + "- last\n"
    scenario = Scenario.chat(tmp_path, answer_steps(*(text[i : i + 7] for i in range(0, len(text), 7))))
    code, output = Terminal(argv(scenario, "chat", "Hi")).finish()

    assert code == 0
    # The unfinished tail is drawn and erased repeatedly, but the final text appears only once.
    lines = list_visible_lines(output)
    assert [line for line in lines if line.startswith("Paragraph")] == [
        f"Paragraph {i} is here." for i in range(60)
    ]
    assert lines.count(" • last") == 1
    assert "\x1b[3m0\x1b[0m" in output


def test_the_spinner_shows_the_daemons_progress(tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = [
        {"progress": {"kind": "begin", "title": "Loading\x1b[2J the model", "percentage": 40}},
        {"wait": "file", "path": str(go)},
        *answer_steps("Hi"),
    ]
    terminal = Terminal(argv(Scenario.chat(tmp_path, steps), "chat", "Hi"))
    terminal.read_until(lambda output: b"Loading the model (40 %)" in output)
    go.touch()
    assert terminal.finish()[0] == 0


MODELS = {
    "models": [
        {"id": "fake:m\x1b[2J", "name": "[red]M", "maxContextTokens": 128000, "maxOutputTokens": 16384,
         "supportsVision": True, "isDefault": True},
        {"id": "fake:n", "name": "N", "billing": {"multiplier": 0.25}, "policy": "disabled", "preview": True},
    ],
    "errors": [{"provider": "broken", "error": {"message": "No key.", "data": {"hint": "Set one."}}}],
}  # fmt: skip


def test_models_are_lines_with_tabs_in_a_pipe(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, answers={"models/list": MODELS})
    done = run(scenario, "models", "--provider", "fake")
    assert done.returncode == 0
    assert done.stdout == (
        "fake:m\t[red]M\t128k\t16k\timages\t\tdefault\nfake:n\tN\t\t\t\t0.25x\tpreview, terms not accepted\n"
    )
    assert done.stderr == "jumpseat: broken: No key.\nhint: Set one.\n"
    assert scenario.read_messages("models/list")[0]["params"] == {"refresh": False, "provider": "fake"}


def test_models_are_a_table_on_a_terminal(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, answers={"models/list": MODELS, "providers/list": {"providers": []}})
    code, output = Terminal(argv(scenario, "models")).finish()
    assert code == 0
    assert "[red]M" in OWN.sub("", output)
    assert "\t" not in output
    assert "\x1b[2J" not in output


def test_models_as_json_are_the_result_on_the_wire(tmp_path: Path) -> None:
    done = run(Scenario(tmp_path, answers={"models/list": MODELS}), "models", "--json")
    assert json.loads(done.stdout) == MODELS


def test_errors_without_models_are_a_failure(tmp_path: Path) -> None:
    answers = {
        "models/list": {"models": [], "errors": MODELS["errors"]},
        "providers/list": {"providers": []},
    }
    assert run(Scenario(tmp_path, answers=answers), "models").returncode == 1


@pytest.mark.parametrize(
    "command", [(), ("chat",), ("models",), ("status",), ("local",), ("local", "install")]
)
@pytest.mark.parametrize("option", [pytest.param("-h", marks=pytest.mark.slow), "--help"])
def test_the_help_of_a_command_has_examples(tmp_path: Path, command: tuple[str, ...], option: str) -> None:
    done = run(Scenario(tmp_path), *command, option)
    assert done.returncode == 0
    assert "  Examples:\n" in done.stdout
    assert f"jumpseat {' '.join(command)}".strip() in done.stdout


def test_serve_does_not_import_the_libraries_of_the_command_line() -> None:
    script = (
        "import sys; sys.argv = ['jumpseat', 'serve', '--help']\n"
        "from jumpseat_cli.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not {'click', 'rich'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "jumpseat serve" in done.stdout
