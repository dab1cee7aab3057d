"""Invalid values in a provider's JSON."""

from datetime import UTC, datetime

import pytest

from jumpseat.dialects.loose_values import (
    count_in,
    limit_in,
    mapping_in,
    mappings_in,
    moment_in,
    number_in,
    text_in,
    texts_in,
)


def test_values_of_the_right_type_are_returned():
    assert text_in("a") == "a"
    assert texts_in(["a", 1, None, "b"]) == ["a", "b"]
    assert mapping_in({"a": 1}) == {"a": 1}
    assert mappings_in([{"a": 1}, "x", None, {}]) == [{"a": 1}, {}]
    assert number_in(-1.5) == -1.5
    assert (count_in(3), count_in(3.9), count_in(-1)) == (3, 3, 0)
    assert limit_in(1) == 1


@pytest.mark.parametrize("value", [None, 1, 1.5, True, {}, []])
def test_a_value_that_is_not_text_is_absent(value):
    assert text_in(value) == ""
    assert texts_in(value) == []


@pytest.mark.parametrize("value", [None, 1, "x", True, []])
def test_a_value_that_is_not_an_object_is_absent(value):
    assert mapping_in(value) == {}
    assert mappings_in(value) == []


@pytest.mark.parametrize("value", [None, "1", True, [], {}, float("inf"), float("-inf"), float("nan"), 2**53])
def test_an_invalid_number_is_absent(value):
    assert number_in(value) is None
    assert count_in(value) is None


@pytest.mark.parametrize("value", [None, "1", True, 0, -1, 1.0])
def test_a_limit_is_a_whole_number_of_at_least_one(value):
    assert limit_in(value) is None


def test_times_are_in_utc():
    moment = datetime(2026, 12, 1, tzinfo=UTC)
    for value in ("2026-12-01", "2026-12-01T00:00:00", "2026-12-01T01:00:00+01:00", moment.timestamp()):
        assert moment_in(value) == moment
        assert moment_in(value).tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [None, "", "soon", True, 0, -1, 1e18, float("nan"), float("inf"), [], "9999-12-31T23:59:59-01:00"],
)
def test_an_invalid_time_is_absent(value):
    assert moment_in(value) is None
