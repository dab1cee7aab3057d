"""Prompts in `jumpseat chat`, and `jumpseat prompts`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.fakes.scenario import Scenario, answer_steps
from tests.unit.cli.commands.test_chat_inputs import ANSWERS, CommandLine, content, jumpseat, make_scenario
from tests.unit.cli.test_program import REPOSITORY, argv, read_params, run

pytestmark = pytest.mark.timeout(60)
__all__ = ["jumpseat"]  # Pytest finds this fixture by its name.


def test_a_prompt_with_an_input_placeholder_requires_an_input(jumpseat: CommandLine) -> None:
    code, out, error = jumpseat("chat", "-p", "review")
    assert (code, out) == (2, "")
    assert error.startswith("jumpseat: The prompt review needs an input.\n")
    assert jumpseat.scenario.read_messages("chat/start") == []

    assert jumpseat("chat", "-p", "explain")[0] == 0
    assert jumpseat("chat", "-p", "review", "-f", "LICENSE")[0] == 0


def test_a_prompt_asks_with_the_words_and_stdin_as_its_input(tmp_path: Path) -> None:
    scenario = make_scenario(tmp_path)
    done = run(scenario, "chat", "-p", "review", "briefly", "-f", "LICENSE", piped="x = 1\n")

    assert done.returncode == 0
    assert scenario.read_messages("prompts/get")[0]["params"] == {
        "name": "review",
        "input": "briefly\n\nx = 1\n",
    }
    params = read_params(scenario)
    assert [block["type"] for block in content(scenario)] == ["context", "text"]
    assert content(scenario)[1]["text"] == "Review: x = 1"
    assert (params["model"], params["system"]) == ("fake:p", "Be careful.")
    assert params["settings"] == {"seed": 1, "temperature": 1}


def test_options_override_a_prompt_which_overrides_a_conversation(
    jumpseat: CommandLine,
) -> None:
    given = ("--conversation", "c1", "-p", "review", "-m", "fake:o", "-o", "temperature=0", "x = 1")
    assert jumpseat("chat", *given)[0] == 0

    params = jumpseat.asked
    assert [message["role"] for message in params["messages"]] == ["user", "user"]
    assert (params["conversationId"], params["model"], params["system"]) == ("c1", "fake:o", "Be careful.")
    assert params["settings"] == {"keep_alive": "1m", "seed": 1, "temperature": 0}


def test_a_prompt_alone_does_not_read_stdin_from_a_terminal(tmp_path: Path) -> None:
    scenario = make_scenario(tmp_path)
    controller, terminal = os.openpty()
    try:
        # Nobody types, so a read would exceed the time limit.
        done = subprocess.run(
            argv(scenario, "chat", "-p", "explain"), stdin=terminal, timeout=30, cwd=REPOSITORY,
            capture_output=True, check=False,
        )  # fmt: skip
    finally:
        os.close(controller)
        os.close(terminal)
    assert done.returncode == 0
    assert scenario.read_messages("prompts/get")[0]["params"]["input"] == ""


@pytest.mark.parametrize(
    ("options", "models"),
    [
        ((), {}),
        (("-m", "fake:o"), {"model": "fake:o"}),
        (("--conversation", "c1"), {"defaultModel": "fake:k"}),
        (("--conversation", "c1", "-m", "fake:o"), {"model": "fake:o", "defaultModel": "fake:k"}),
    ],
)
def test_a_prompt_is_requested_for_the_model_and_its_warnings_are_printed(
    jumpseat: CommandLine, options: tuple[str, ...], models: dict[str, str]
) -> None:
    warning = {"code": "diff_shortened", "message": "These files are left out: b.py"}
    prompt = {"name": "review", "text": "Review: a", "leftOut": ["b.py"], "warnings": [warning]}
    answers = {**ANSWERS, "prompts/get": prompt}
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, answer_steps("ok"), answers=answers))

    assert jumpseat("chat", *options, "-p", "review", "x") == (
        0,
        "ok\n",
        "warning: These files are left out: b.py\n",
    )
    params = jumpseat.scenario.read_messages("prompts/get")[0]["params"]
    assert params == {"name": "review", "input": "x", **models}


def test_prompts_are_listed_and_shown(jumpseat: CommandLine) -> None:
    assert jumpseat("prompts")[1] == "explain\t\t\tbuilt in\nreview\tA diff\tfake:p\t\n"
    assert json.loads(jumpseat("prompts", "list", "--json")[1]) == ANSWERS["prompts/list"]

    _, out, error = jumpseat("prompts", "show", "review", "x", "=", "1")
    assert out == "Review: x = 1"
    assert error == "model: fake:p\nsystem: Be careful.\nseed: 1\ntemperature: 1\n"
    assert jumpseat.scenario.read_messages("prompts/get")[0]["params"] == {"name": "review", "input": "x = 1"}
    assert json.loads(jumpseat("prompts", "show", "--json", "review")[1]) == ANSWERS["prompts/get"]


def test_a_misplaced_option_of_prompts_is_reported(jumpseat: CommandLine) -> None:
    assert jumpseat("prompts", "--json", "list")[0] == 2
