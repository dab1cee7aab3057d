"""Front matter: a subset of YAML, with plain sentences as error messages."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import InvalidRequestError, Message
from jumpseat.chat.transcript import parse, render
from tests.unit.chat import conversations

pytestmark = pytest.mark.slow

SLOWEST = 30.0
"""The limit in CPU seconds for the largest front matter, which takes about one second."""


def settings_of(front: str) -> Any:
    return parse(f"---\n{front}\n---\n\n## Me\n\nHi.\n").front.settings


@pytest.mark.requirement("5:transcript-front-matter")
@pytest.mark.parametrize(
    ("plain", "value"),
    [
        ("yes", "yes"), ("No", "No"), ("on", "on"), ("OFF", "OFF"), ("y", "y"), ("true", True),
        ("False", False),
        ("010", "010"), ("0", 0), ("-1", -1), ("+3", 3), ("0x1F", "0x1F"), ("0o7", "0o7"), ("1_000", "1_000"),
        ("12:30", "12:30"), ("12:30:45", "12:30:45"), ("2026-11-21", "2026-11-21"), ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1.", "1."), (".5", ".5"), (".inf", ".inf"), (".nan", ".nan"), ("-0.0", -0.0), ("=", "="),
        ('"1"', "1"), ("'yes'", "yes"), ("[a, 1]", ["a", 1]), ("{a: {}}", {"a": {}}), ("a # b", "a"),
        ("<<", "<<"), ("12345678901234567890", 12345678901234567890),
    ],
)  # fmt: skip
def test_a_plain_value_is_a_json_value_or_a_string(plain: str, value: Any) -> None:
    found = settings_of(f"x: {plain}")

    assert found == {"x": value}
    assert type(found["x"]) is type(value)


@pytest.mark.requirement("5:transcript-tools")
@pytest.mark.parametrize(
    ("plain", "selectors"),
    [
        ("files", ["files/*"]),
        ("files, github/search_*", ["files/*", "github/search_*"]),
        ("[files/read, shed]", ["files/read", "shed/*"]),
        ("[]", []),
        ("", []),
    ],
)
def test_tools_are_a_list_of_selectors_or_text_with_commas(plain: str, selectors: list[str]) -> None:
    assert parse(f"---\ntools: {plain}\n---\n").front.tools == selectors


@pytest.mark.parametrize("nothing", ["", "null", "~", "Null"])
def test_a_key_without_a_value_is_absent(nothing: str) -> None:
    assert settings_of(f"x: {nothing}") == {}
    assert parse(f"---\nmodel: {nothing}\nsystem: {nothing}\nsettings: {nothing}\n---\n").front.model is None


@pytest.mark.requirement("5:transcript-front-matter")
@pytest.mark.parametrize(
    ("front", "line", "words"),
    [
        ("model: [", 3, "expected"),
        ("model: m\nmodel: n", 3, "the key model occurs twice"),
        ("model: m\n\ttemperature: 1", 3, "cannot start any token"),
        ("model: 1", 2, "model must be text"),
        ("tools: 1", 2, "tools must be a list of selectors"),
        ("tools: [1]", 2, "tools must be a list of selectors"),
        ("x: 1\nsystem: {a: b}", 3, "system must be text"),
        ("settings: 3", 2, "settings must be keys with values"),
        ("temperature: 1\nsettings:\n  temperature: 2", 4, "temperature occurs twice"),
        ("settings:\n  a: 1\n  a: 2", 4, "the key a occurs twice"),
        ("just words", 2, "keys with values"),
        ("- a\n- b", 2, "keys with values"),
        ("a: &x 1\nb: *x", 2, "anchors and aliases are not supported"),
        ("a: !!binary aGk=", 2, "the tag binary is not supported"),
        ("a: !!python/object:os.system {}", 2, "the tag python/object:os.system is not supported"),
        ("a: !!int x", 2, "the tag int is not supported"),
        ("a: 1e999", 2, "1e999 is too large"),
        ("a: " + "9" * 5000, 2, "number is too long"),
        ("? [a]\n: b", 2, "a key must be a plain word"),
        ("a: " + "[" * 3000, 2, "nested too deep"),
        ("a: \x07", 2, "control character"),
        ("a: 'b", 2, "while scanning a quoted scalar|found unexpected end of stream"),
        ("a: b\n--- {}\nc: d", 3, "but found another document"),
    ],
)
def test_an_error_names_its_line(front: str, line: int, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words) as caught:
        parse(f"---\n{front}\n---\n\n## Me\n\nHi.\n")

    (problem,) = caught.value.problems
    assert problem.path == "text"
    reported = int(problem.message.removeprefix("line ").partition(":")[0])
    # An unterminated value is reported at the end of the text, one or two lines further down.
    assert line <= reported <= line + 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nmodel: m\n\n## Me\n\nHi.\n\n---\n", "not closed by a line of --- before line 4"),
        ("---\nmodel: m\n", "not closed by a line of ---"),
        ("---", "not closed"),
    ],
)
def test_front_matter_without_an_end_is_reported_and_not_read_as_text(text: str, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        parse(text)


def test_a_bom_and_trailing_white_space_do_not_hide_the_front_matter() -> None:
    read = parse("\ufeff--- \nmodel: m\n---\t\n## Me\nHi.")

    assert (read.front.model, read.messages) == ("m", (Message.user("Hi."),))


def test_empty_front_matter_is_ignored() -> None:
    read = parse("---\n\n---\nHi.")

    assert (read.front.model, read.front.system, read.front.settings) == (None, None, {})
    assert read.messages == (Message.user("Hi."),)


@pytest.mark.requirement("5:transcript-front-matter")
@given(conversations.settings, conversations.texts)
def test_other_readers_of_yaml_can_read_the_front_matter(values: dict[str, Any], system: str) -> None:
    text = render([], system=system, settings=values)
    front = yaml.compose(text.partition("---\n")[2].rpartition("---\n")[0], Loader=yaml.BaseLoader)

    assert front is not None


def test_a_system_prompt_is_written_readably() -> None:
    text = render([], system="You are.\n\nBe brief: yes.\n", model="fake:m")

    assert text == "---\nmodel: fake:m\nsystem: |\n  You are.\n\n  Be brief: yes.\n---\n"


def test_the_largest_front_matter_is_read_in_time_and_a_larger_one_refused() -> None:
    begun = time.process_time()
    for system in ("x" * 1_000_000, "a line\n" * 20_000, "\t" * 100_000):
        assert parse(render([], system=system)).front.system == system
    assert time.process_time() - begun < SLOWEST

    with pytest.raises(InvalidRequestError, match="too long for a transcript") as caught:
        render([], system="x" * 1_100_000)
    assert caught.value.problems[0].path == "system"
    with pytest.raises(InvalidRequestError, match="more than"):
        parse(f"---\nsystem: {'x' * 1_100_000}\n---\n")


def test_a_value_that_is_too_deep_to_be_read_back_is_not_written() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    with pytest.raises(InvalidRequestError, match="nested too deep") as caught:
        render([], settings={"a": deep})
    assert caught.value.problems[0].path == "settings"


@given(st.text(max_size=60))
def test_any_front_matter_is_read_or_refused_with_a_sentence(front: str) -> None:
    read = None
    with suppress(InvalidRequestError):
        read = parse(f"---\n{front}\n---\n").front.settings
    assert json.loads(json.dumps(read, allow_nan=False)) == read


def test_yaml_is_imported_only_to_read_front_matter() -> None:
    code = (
        "import sys; from jumpseat.chat.transcript import parse, render; "
        "parse(render(parse('## Me').messages)); assert 'yaml' not in sys.modules; "
        "parse('---\\nmodel: m\\n---'); assert 'yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
