"""Shared values: one value per key, which lives as long as it has a holder."""

from __future__ import annotations

import asyncio
import logging

import pytest

from jumpseat.system.shared import Shared


class _Value:
    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def close(self) -> None:
        self.closed.set()


async def test_holders_of_equal_keys_share_one_value() -> None:
    shared = Shared()
    one = shared.acquire(("pool", "a"), _Value, _Value.close)
    same = shared.acquire(("pool", "a"), _Value, _Value.close)
    other = shared.acquire(("pool", "b"), _Value, _Value.close)
    assert one.value is same.value
    assert one.value is not other.value


async def test_the_value_is_closed_with_its_last_holder_and_made_again_for_the_next() -> None:
    shared = Shared()
    one, two = (shared.acquire("key", _Value, _Value.close) for _ in range(2))
    await one.release()
    await one.release()  # A second release must not count.
    assert not one.value.closed.is_set()
    await two.release()
    assert one.value.closed.is_set()
    assert shared.acquire("key", _Value, _Value.close).value is not one.value


async def test_a_value_that_lingers_is_used_again_and_then_closed() -> None:
    shared = Shared(lingering=True)
    one = shared.acquire("key", _Value, _Value.close, linger=60)
    await one.release()
    again = shared.acquire("key", _Value, _Value.close, linger=0.01)
    assert again.value is one.value
    await again.release()
    async with asyncio.timeout(20):
        await one.value.closed.wait()


async def test_only_the_latest_values_of_a_kind_linger() -> None:
    shared = Shared(lingering=True)
    held = [shared.acquire(("list", number), _Value, _Value.close, linger=60, most=3) for number in range(5)]
    other = shared.acquire(("pool", 0), _Value, _Value.close, linger=60, most=1)
    for each in (*held, other):
        await each.release()
    assert [each.value.closed.is_set() for each in (*held, other)] == [True, True, False, False, False, False]

    new = shared.acquire(("list", 5), _Value, _Value.close, linger=60, most=3)
    async with asyncio.timeout(20):
        await held[2].value.closed.wait()
    await new.release()
    assert not held[3].value.closed.is_set()
    await shared.aclose()


async def test_closing_ends_lingering_values_and_keeps_held_ones() -> None:
    shared = Shared(lingering=True)
    lingering = shared.acquire("lingering", _Value, _Value.close, linger=60)
    held = shared.acquire("held", _Value, _Value.close, linger=60)
    await lingering.release()
    await shared.aclose()
    assert lingering.value.closed.is_set()
    assert not held.value.closed.is_set()
    await held.release()
    assert held.value.closed.is_set()


async def test_in_the_process_of_a_single_client_values_do_not_linger() -> None:
    held = Shared().acquire("key", _Value, _Value.close, linger=60)
    await held.release()
    assert held.value.closed.is_set()


async def test_closing_waits_for_a_value_whose_last_holder_was_cancelled() -> None:
    closing, may_close, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def close(value: object) -> None:
        closing.set()
        await may_close.wait()
        closed.set()

    shared = Shared()
    release = asyncio.create_task(shared.acquire("key", object, close).release())
    async with asyncio.timeout(20):
        await closing.wait()
        release.cancel()
        with pytest.raises(asyncio.CancelledError):
            await release
        may_close.set()
        await shared.aclose()
    assert closed.is_set()


async def test_the_repr_shows_neither_keys_nor_values() -> None:
    shared = Shared()
    held = shared.acquire(("pool", "key-of-the-pool"), lambda: "a value", _nothing)
    assert "key-of-the-pool" not in f"{shared!r} {held!r}"


async def _nothing(value: object) -> None:
    pass


async def test_a_value_that_fails_to_close_is_reported_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(value: object) -> None:
        raise OSError("busy")

    held = Shared().acquire("key", object, fail)
    with caplog.at_level(logging.ERROR):
        await held.release()
    assert "a shared value failed to close" in caplog.text
