"""The output of `jumpseat chat`: usage, warnings, images, JSON, and answers that break a schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.terminal import Terminal
from tests.unit.cli.commands.test_chat_inputs import CommandLine, jumpseat
from tests.unit.cli.test_program import HANGING, argv

pytestmark = pytest.mark.timeout(60)
__all__ = ["jumpseat"]  # Pytest finds this fixture by its name.


@pytest.mark.parametrize("as_json", [False, True])
def test_the_usage_is_one_line_on_stderr(jumpseat: CommandLine, as_json: bool) -> None:
    _, out, error = jumpseat("chat", "--usage", *(["--json"] if as_json else []), "x")
    tokens, output, time, model = error.strip().split(" · ")

    assert (tokens, output, model) == ("3 tokens in", "1 out", "fake:m")
    assert time.endswith(" s")
    assert (json.loads(out)["text"] if as_json else out) == ("ok" if as_json else "ok\n")


def test_the_usage_of_a_failed_chat_is_printed_too(jumpseat: CommandLine) -> None:
    usage = {"inputTokens": 9, "outputTokens": 1}
    partial = {"provider": "fake", "model": "m", "text": "Hel", "usage": usage}
    failed = {"code": 1007, "message": "Broken.", "data": {"kind": "server", "partial": partial}}
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, [HANGING[1], {"error": failed}]))
    code, out, error = jumpseat("chat", "--usage", "x")

    assert (code, out) == (1, "Hel\n")
    line, failure = error.splitlines()
    assert (line.startswith("9 tokens in · 1 out · "), failure) == (True, "jumpseat: Broken.")


def test_an_answer_that_is_not_streamed_is_printed_whole_with_its_warnings(jumpseat: CommandLine) -> None:
    result = {
        **answer_steps("Hello")[-1]["result"],
        "stopReason": "max_tokens",
        "warnings": [{"code": "dropped", "message": "Images\x1b[2J were dropped."}],
    }
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, [{"result": result}]))
    code, out, error = jumpseat("chat", "--no-stream", "x")

    assert (code, out) == (0, "Hello\n")
    dropped, limit = error.splitlines()
    assert dropped == "warning: Images were dropped."
    assert limit.startswith("warning: the answer reached the output limit")
    assert jumpseat.asked["stream"] is False


@pytest.mark.parametrize("options", [(), ("--no-stream",)], ids=["streamed", "whole"])
def test_a_generated_image_is_mentioned(jumpseat: CommandLine, options: tuple[str, ...]) -> None:
    image = {"type": "image", "source": "iVBORw0K", "mediaType": "image/png"}
    result = {**answer_steps("Here.")[-1]["result"], "content": [image]}
    streamed = [{"delta": {"type": "block_done", "block": 1, "content": image}}, *answer_steps("Here.")]
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, [{"result": result}] if options else streamed))
    code, out, error = jumpseat("chat", *options, "x")

    assert (code, out) == (0, "Here.\n")
    assert error == "note: the answer contains an image, which --json prints.\n"


@pytest.mark.parametrize("option", ["--raw", "--json-mode"])
def test_raw_text_and_json_are_not_rendered_on_a_terminal(tmp_path: Path, option: str) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps('"# *H*"\n'))
    code, output = Terminal(argv(scenario, "chat", option, "x")).finish()
    assert (code, "# *H*" in output) == (0, True)


@pytest.mark.parametrize("form", [(), ("--no-stream",)])
@pytest.mark.parametrize("text", ["Here you are: {}", '{"name": "Ad', '{"name": 1}'])
def test_an_answer_that_violates_the_schema_is_printed_and_fails(
    jumpseat: CommandLine, form: tuple[str, ...], text: str
) -> None:
    schema = jumpseat.folder / "schema.json"
    schema.write_text('{"properties": {"name": {"type": "string"}}}', "utf-8")
    steps = answer_steps(text)
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, steps[-1:] if form else steps))
    code, out, error = jumpseat("chat", "--schema", str(schema), *form, "x")

    assert (code, out) == (1, f"{text}\n")
    assert error.startswith("jumpseat: The answer ")


def test_the_json_of_an_answer_that_is_not_json_has_the_error(jumpseat: CommandLine) -> None:
    code, out, _ = jumpseat("chat", "--json-mode", "--json", "x")
    document = json.loads(out)

    assert (code, document["text"], document["error"]["data"]["kind"]) == (1, "ok", "client")
    assert document["error"]["message"].startswith("The answer is not JSON: ")


@pytest.mark.requirement("13:rules")
@pytest.mark.parametrize(
    ("rules", "line"),
    [
        (["AGENTS.md", "CLAUDE\x1b[2J.md"], "note: sent the rules in AGENTS.md, CLAUDE.md."),
        ([], "note: this directory has no rules."),
    ],
)
def test_the_files_with_the_rules_of_the_workspace_are_named(
    jumpseat: CommandLine, rules: list[str], line: str
) -> None:
    first, *others = answer_steps("ok")
    steps = [{"delta": {**first["delta"], "rules": rules}}, *others]
    jumpseat.use_scenario(Scenario.chat(jumpseat.folder, steps))

    assert jumpseat("chat", "--rules", "x") == (0, "ok\n", f"{line}\n")
    assert jumpseat.asked["workspaceRules"] is True


def test_rules_are_not_requested_without_the_option(jumpseat: CommandLine) -> None:
    assert jumpseat("chat", "x") == (0, "ok\n", "")
    assert "workspaceRules" not in jumpseat.asked
