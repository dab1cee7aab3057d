"""What the lists of models cost those who ask for something else."""

from __future__ import annotations

import asyncio

from tests.unit.scripted import ScriptedAdapter, registry_of


async def test_other_work_goes_on_while_facts_are_laid_on_a_long_list() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    registry = registry_of(ScriptedAdapter(models=[f"m{number}" for number in range(3000)]))
    await registry.list_models("fake")  # What is read once only is read now.
    before = turns
    assert len(await registry.list_models("fake", refresh=True)) == 3000
    counting.cancel()
    assert turns - before > 20  # On the loop, there would be one for each wait.
    await registry.aclose()
