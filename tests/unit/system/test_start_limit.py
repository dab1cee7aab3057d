"""The limit on the number of starts within a period."""

from __future__ import annotations

from jumpseat.system.start_limit import StartLimit


def test_the_number_of_starts_within_a_period_is_limited() -> None:
    now = 100.0
    limit = StartLimit(2, 60.0, lambda: now)

    assert [limit.count(), limit.count(), limit.count()] == [None, None, 60.0]
    now = 130.0
    assert limit.count() == 30.0
    now = 160.0
    assert [limit.count(), limit.count(), limit.count()] == [None, None, 60.0]


def test_one_start_can_be_given_back_and_all_can_be_cleared() -> None:
    limit = StartLimit(2, 60.0, lambda: 0.0)
    assert [limit.count(), limit.count()] == [None, None]
    limit.give_back()
    assert [limit.count(), limit.count()] == [None, 60.0]
    limit.clear()
    assert [limit.count(), limit.count(), limit.count()] == [None, None, 60.0]
