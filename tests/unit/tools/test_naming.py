"""The names under which a model sees tools."""

from __future__ import annotations

import pytest

from jumpseat.tools.naming import name_tools

pytestmark = pytest.mark.requirement("12:tool-names")


def test_names_consist_of_server_and_tool_and_are_sorted() -> None:
    assert list(name_tools([("shed", "rake"), ("attic", "dust"), ("shed", "dig")]).items()) == [
        ("attic__dust", ("attic", "dust")),
        ("shed__dig", ("shed", "dig")),
        ("shed__rake", ("shed", "rake")),
    ]


def test_characters_that_providers_refuse_become_underscores() -> None:
    assert list(name_tools([("s.h", "dig up/ö")])) == ["s_h__dig_up__"]


def test_long_names_are_cut_and_made_unique() -> None:
    names = name_tools([("s", "x" * 80), ("s", "x" * 90), ("s", "x" * 100)])

    assert [len(name) for name in names] == [64, 64, 64]
    assert names["s__" + "x" * 61] == ("s", "x" * 80)
    assert names["s__" + "x" * 59 + "_2"] == ("s", "x" * 90)
    assert names["s__" + "x" * 59 + "_3"] == ("s", "x" * 100)


def test_names_that_become_equal_get_a_suffix() -> None:
    assert name_tools([("a", "b.c"), ("a", "b c")]) == {"a__b_c": ("a", "b c"), "a__b_c_2": ("a", "b.c")}
