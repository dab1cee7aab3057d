"""Lists of models: their age, failures and slow providers, and the cost of long ones."""

from __future__ import annotations

import asyncio

import pytest

from jumpseat.chat import ChatError, ModelInfo
from jumpseat.providers import Change, ModelsChanged, Registry, list_all_models, listing, lists
from tests.unit.scripted import ScriptedAdapter, registry_of

WAIT_SECONDS = 10


class GatedAdapter(ScriptedAdapter):
    """Lists its models only while its gate is open."""

    def __init__(self, name: str, models: list[str]) -> None:
        super().__init__(name=name, models=models)
        self.gate = asyncio.Event()

    async def list_models(self) -> list[ModelInfo]:
        await self.gate.wait()
        return await super().list_models()


def subscribe(registry: Registry) -> asyncio.Queue[Change]:
    changes = asyncio.Queue[Change]()
    registry.subscribe(changes.put_nowait)
    return changes


async def next_change(changes: asyncio.Queue[Change]) -> Change:
    return await asyncio.wait_for(changes.get(), WAIT_SECONDS)


async def names(registry: Registry, *, refresh: bool = False) -> list[str]:
    return [row.model for row in await registry.list_models("a", refresh=refresh)]


async def test_other_work_continues_while_facts_are_added_to_a_long_list() -> None:
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
    # If facts were added on the event loop, there would be only one turn per wait.
    assert turns - before > 20
    await registry.aclose()


@pytest.mark.requirement("3:old-list")
async def test_an_old_list_is_returned_and_fetched_again_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adapter = ScriptedAdapter(name="a", models=["one"])
    registry = registry_of(adapter)
    changes = subscribe(registry)
    assert await names(registry) == ["one"]
    adapter.models = ["one", "two"]
    assert await names(registry) == ["one"], "a list of today is not fetched again"
    assert adapter.listed == 1

    with monkeypatch.context() as patch:
        patch.setattr(lists, "CURRENT_SECONDS", -1.0)
        assert await names(registry) == ["one"]
    assert await next_change(changes) == ModelsChanged("a")
    assert await names(registry) == ["one", "two"]
    assert adapter.listed == 2


@pytest.mark.requirement("3:old-list")
async def test_an_old_list_stays_while_its_provider_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = ScriptedAdapter(name="a", models=["one"])
    registry = registry_of(adapter)
    await names(registry)
    monkeypatch.setattr(lists, "CURRENT_SECONDS", -1.0)
    adapter.models = ChatError("No.")
    with pytest.raises(ChatError):
        await names(registry, refresh=True)
    assert await names(registry) == await names(registry) == ["one"]
    await asyncio.sleep(0)  # A background request would start now.
    assert adapter.listed == 2, "a failure of the last seconds is not repeated"


@pytest.mark.requirement("3:failed-list")
async def test_a_failed_list_is_fetched_again_by_the_next_request_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adapter = ScriptedAdapter(name="a", models=ChatError("No."))
    registry = registry_of(adapter)
    changes = subscribe(registry)
    for _ in range(2):
        with pytest.raises(ChatError, match="No"):
            await names(registry)
    assert adapter.listed == 1

    adapter.models = ["one"]
    monkeypatch.setattr(lists, "FAILURE_SECONDS", 0.0)
    assert await names(registry) == ["one"]
    assert await next_change(changes) == ModelsChanged("a"), "clients that received the failure are notified"


@pytest.mark.requirement("3:failed-list")
async def test_a_refresh_or_another_account_does_not_wait_after_a_failure() -> None:
    adapter = ScriptedAdapter(name="a", models=ChatError("No."))
    registry = registry_of(adapter)
    for again in (lambda: names(registry, refresh=True), lambda: names(registry)):
        adapter.models = ChatError("No.")
        with pytest.raises(ChatError):
            await names(registry, refresh=True)
        adapter.models = ["one"]
        if adapter.listed > 1:  # In the second iteration, the account changes.
            registry.forget_models("a")
        assert await again() == ["one"]


@pytest.mark.requirement("3:slow-list")
async def test_a_slow_provider_is_an_error_at_first_and_its_models_are_announced_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "PATIENCE_SECONDS", 0.0)
    slow, fast = GatedAdapter("a", ["one"]), ScriptedAdapter(name="b", models=["two"])
    registry = registry_of(slow, fast)
    await registry.list_models("b")
    changes = subscribe(registry)

    models, (failure,) = await list_all_models(registry, ["a", "b"])
    assert [model.id for model in models] == ["b:two"]
    assert (failure.provider, failure.error.kind, failure.error.retryable) == ("a", "connection", True)
    await list_all_models(registry, ["a", "b"])

    slow.gate.set()
    assert await next_change(changes) == ModelsChanged("a")
    models, failures = await list_all_models(registry, ["a", "b"])
    assert [model.id for model in models] == ["a:one", "b:two"]
    assert failures == []
    assert (slow.listed, changes.qsize()) == (1, 0), "all callers share one request and one notification"


@pytest.mark.requirement("3:slow-list")
async def test_a_slow_refresh_leaves_the_known_models_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = GatedAdapter("a", ["one"])
    adapter.gate.set()
    registry = registry_of(adapter)
    await names(registry)
    adapter.gate.clear()
    monkeypatch.setattr(listing, "PATIENCE_SECONDS", 0.0)
    models, failures = await list_all_models(registry, ["a"], refresh=True)
    assert ([model.model for model in models], len(failures)) == (["one"], 1)
    await registry.aclose()


async def test_a_refresh_does_not_take_the_answer_of_an_earlier_request() -> None:
    adapter = GatedAdapter("a", ["one"])
    registry = registry_of(adapter)
    first = asyncio.create_task(names(registry))
    await asyncio.sleep(0)
    second = asyncio.create_task(names(registry, refresh=True))
    await asyncio.sleep(0)
    adapter.gate.set()
    async with asyncio.timeout(WAIT_SECONDS):
        assert await first == await second == ["one"]
    assert adapter.listed == 2
