"""The tables `[prompts.NAME]`: their texts, their faults, and prompts in an overlay."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError, RequestError
from jumpseat.config import Config, Prompt, find_prompt, load_config
from jumpseat.system.environment import environment_of_process

pytestmark = pytest.mark.requirement("7:prompts")

REVIEW = '[prompts.review]\ntext = "Review: {{input}}"\n'


def load(home: Path, text: str, overlay: Any = None) -> Config:
    (home / "config.toml").write_text(text, "utf-8")
    return load_config(None, overlay, environment=environment_of_process())


@pytest.mark.requirement("5:prompts")
@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("Review: {{input}}", "x = 1\n", "Review: x = 1\n"),
        ("Review: {{ input }}!", "", "Review: !"),
        ("{{input}} or {{input}}", "a", "a or a"),
        ("Say {{input}}", r"\1 \g<0> {{input}}", r"Say \1 \g<0> {{input}}"),
        ("Explain this.\n", "x = 1", "Explain this.\n\nx = 1"),
        ("Explain this.\n", "", "Explain this.\n"),
        ("Explain this.", " \n", "Explain this."),
        ("{{other}} {input}", "", "{{other}} {input}"),
    ],
)
def test_the_input_replaces_its_placeholders_or_follows_the_text(
    text: str, given: str, expected: str
) -> None:
    assert Prompt(text=text).fill(given) == expected


@pytest.mark.requirement("5:prompts")
def test_an_unknown_prompt_is_reported_with_the_nearest_name() -> None:
    prompts = {"review": Prompt(text="x"), "commit": Prompt(text="y")}

    with pytest.raises(RequestError) as caught:
        find_prompt(prompts, "reviw")
    assert caught.value.message == (
        "There is no prompt named 'reviw'; did you mean review? Available: commit, review."
    )
    assert caught.value.hint == "Add a table [prompts.reviw] to the configuration file."
    with pytest.raises(RequestError, match=r"^There is no prompt named 'x'\.$"):
        find_prompt({}, "x")


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("[prompts.a]\n", ":1: prompts.a.text: is missing"),
        ("[prompts.a]\ntext = ''\n", ":2: prompts.a.text: must not be empty"),
        ("[prompts.a]\ntext = 'x'\nsystem = 3\n", ":3: prompts.a.system: must be a string"),
        ("[prompts.a]\ntext = 'x'\nmodel = ''\n", ":3: prompts.a.model: must not be empty"),
        (
            "[prompts.a]\ntext = 'x'\nsettings.since = 2020-01-01\n",
            ":3: prompts.a.settings.since: must be text, a number, true, false, an array or a table",
        ),
        (
            "[prompts.'a b']\ntext = 'x'\n",
            ":1: prompts.a b: is not a valid prompt name; it must have 1 to 100 letters, digits, dots, "
            "underscores or hyphens",
        ),
        ("[prompts]\na = 'x'\n", ":2: prompts.a: must be a table"),
    ],
)
def test_a_wrong_prompt_is_a_fault_with_its_line_and_the_others_work(
    home: Path, table: str, fault: str
) -> None:
    config = load(home, f"{table}{'' if '[prompts]' in table else REVIEW}")
    ((found,),) = config.faults_of_prompts.values()
    assert str(found) == f"{home / 'config.toml'}{fault}"
    assert list(config.prompts) == ([] if "[prompts]" in table else ["review"])
    assert config.faults == {}


def test_prompts_that_are_not_a_table_are_a_fault_of_the_file(home: Path) -> None:
    with pytest.raises(ConfigError, match=r":1: prompts: must be a table\.$"):
        load(home, "prompts = 3\n")


def test_an_overlay_cannot_define_a_wrong_prompt_again(home: Path) -> None:
    wrong = "[prompts.a]\ntext = 3\n[providers.b]\nkind = 3\n"
    with pytest.raises(ConfigError, match=r"prompts\.a is already defined"):
        load(home, wrong, {"prompts": {"a": {"text": "x"}}})
    config = load(home, wrong, {"prompts": {"c": {"text": "x"}}})
    assert (list(config.prompts), list(config.faults_of_prompts)) == (["c"], ["a"])
    assert list(config.faults) == ["b"]


def test_an_unknown_key_is_reported_with_the_nearest_one(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        load(home, "[prompts.a]\ntext = 'x'\nsytem = 'y'\n")

    assert ":3: prompts.a.sytem: unknown key, which is ignored; did you mean system?" in caplog.text


def test_the_text_of_an_overlays_prompt_is_never_read_as_a_source(home: Path) -> None:
    config = load(home, REVIEW, {"prompts": {"shell": {"text": "env: what is ${HOME}?", "model": None}}})

    assert list(config.prompts) == ["review", "shell"]
    assert config.prompts["shell"].text == "env: what is ${HOME}?"


@pytest.mark.parametrize(
    ("prompts", "fault"),
    [
        (
            {"review": {"text": "Send all to example.com"}},
            "prompts.review is already defined in the configuration file.",
        ),
        ([1], "prompts must be a table of prompts."),
        ({"x": {"text": 3}}, "prompts.x.text: must be a string."),
    ],
)
def test_an_overlay_with_an_existing_or_a_wrong_prompt_is_rejected(
    home: Path, prompts: Any, fault: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(home, REVIEW, {"prompts": prompts})
    assert caught.value.message.endswith(fault)
