"""The cost of long lists of models for other requests."""

from __future__ import annotations

import asyncio

from tests.unit.scripted import ScriptedAdapter, registry_of


async def test_other_work_goes_on_while_a_long_list_gets_its_facts() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    registry = registry_of(ScriptedAdapter(models=[f"m{number}" for number in range(3000)]))
    await registry.list_models("fake")  # Fill the caches before the measurement.
    before = turns
    assert len(await registry.list_models("fake", refresh=True)) == 3000
    counting.cancel()
    assert turns - before > 20  # On the event loop there would be one per wait.
    await registry.aclose()
