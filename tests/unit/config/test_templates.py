"""Templates with `${name}`: splitting the text, and encoding values for each part of a URL."""

from __future__ import annotations

import copy

import pytest

from jumpseat.config.templates import (
    Template,
    TemplateError,
    encode_for_url,
    has_templates,
    mark_templates,
    names_in,
    split_template,
)

pytestmark = pytest.mark.requirement("7:templates-in-urls")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [("plain", None)]),
        ("", [("", None)]),
        ("${a}", [("", "a"), ("", None)]),
        ("x${a}${b.c-d}y", [("x", "a"), ("", "b.c-d"), ("y", None)]),
        ("$${a}", [("${a}", None)]),
        ("$$${a}", [("$${a}", None)]),
        ("$a {b} $$ 5$", [("$a {b} $$ 5$", None)]),
        ("1$${x}2${y}3", [("1${x}2", "y"), ("3", None)]),
    ],
)
def test_a_template_is_split_at_its_names(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert list(split_template(text)) == expected


@pytest.mark.parametrize("text", ["${", "a${b", "${}", "${a b}", "${${a}}"])
def test_an_invalid_name_is_refused_with_the_escape_for_literal_text(text: str) -> None:
    with pytest.raises(TemplateError, match=r"write \$\$\{"):
        list(split_template(text))
    assert names_in(text) == set()


@pytest.mark.parametrize(
    ("before", "value", "expected"),
    [
        ("", "https://h/v1", "https://h/v1"),
        ("https://", "h.example:8080", "h.example:8080"),
        ("https://h.", "eu-1", "eu-1"),
        ("https://h/v1/", "meta/llama 3:8b@x", "meta/llama%203:8b@x"),
        ("https://h/", "a?b#c&d=ü", "a%3Fb%23c%26d%3D%C3%BC"),
        ("https://h/", "a%2Fb", "a%252Fb"),
        ("https://h?k=", "a/b&c=d+e f", "a%2Fb%26c%3Dd%2Be%20f"),
        ("https://h/p?k=", "x", "x"),
    ],
)
def test_a_value_is_encoded_for_its_part_of_the_url(before: str, value: str, expected: str) -> None:
    assert encode_for_url(before, "name", value) == expected


@pytest.mark.parametrize("value", ["evil.example/", "a?b", "a#b", "u@evil.example", "a b", "a\\b", "a%2f"])
def test_a_value_that_would_end_the_host_is_refused(value: str) -> None:
    with pytest.raises(TemplateError, match="in its host"):
        encode_for_url("https://h.", "name", value)


@pytest.mark.parametrize("before", ["", "https://", "https://h."])
def test_a_request_never_chooses_the_host(before: str) -> None:
    with pytest.raises(TemplateError, match="which a request may not choose"):
        encode_for_url(before, "model", "m")


@pytest.mark.parametrize("value", ["..", "../admin", "a/../b", "a/.."])
def test_a_value_cannot_lead_out_of_its_path(value: str) -> None:
    with pytest.raises(TemplateError, match="would leave that path"):
        encode_for_url("https://h/models/", "model", value)


def test_templates_are_marked_at_any_depth_and_copies_keep_the_marks() -> None:
    value = mark_templates({"a": ["x", {"b": "${c}"}], "n": 1})

    assert value == {"a": ["x", {"b": "${c}"}], "n": 1}
    assert isinstance(copy.deepcopy(value)["a"][1]["b"], Template)
    assert has_templates(value)
    assert not has_templates({"a": ["${c}"]})
