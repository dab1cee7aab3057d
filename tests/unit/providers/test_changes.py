"""Every listener receives the real changes of models and providers."""

from __future__ import annotations

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.providers import Change, ModelsChanged, ProvidersChanged, Registry, describe_providers
from tests.unit.scripted import ScriptedAdapter, registry_of

pytestmark = pytest.mark.requirement("3:did-change")


def record_changes(registry: Registry) -> list[Change]:
    changes: list[Change] = []
    registry.subscribe(changes.append)
    return changes


async def test_a_list_that_differs_is_announced_but_the_first_one_is_not() -> None:
    adapter = ScriptedAdapter(name="a", models=["one"])
    registry = registry_of(adapter)
    changes = record_changes(registry)

    await registry.list_models("a")
    await registry.list_models("a", refresh=True)
    assert changes == []

    adapter.models = ["one", "two"]
    await registry.list_models("a")
    assert changes == []
    await registry.list_models("a", refresh=True)
    assert changes == [ModelsChanged("a")]


async def test_a_list_that_is_forgotten_is_fetched_again() -> None:
    adapter = ScriptedAdapter(name="a", models=["one"])
    registry = registry_of(adapter)
    changes = record_changes(registry)
    await registry.list_models("a")

    registry.forget_models("a")

    assert changes == [ModelsChanged("a")]
    assert registry.known_models("a") is None
    await registry.list_models("a")
    assert adapter.listed == 2


async def test_a_probe_that_finds_something_new_is_a_change() -> None:
    registry = registry_of(ScriptedAdapter(name="a", probed=Capabilities(vision=False)))
    changes = record_changes(registry)

    await describe_providers(registry, None, probe=True)
    assert changes == [ProvidersChanged()]
    await describe_providers(registry, None, probe=True)
    assert changes == [ProvidersChanged()]


def test_a_failing_listener_does_not_affect_the_others(caplog: pytest.LogCaptureFixture) -> None:
    registry = registry_of()

    def fails(change: Change) -> None:
        raise RuntimeError("no")

    registry.subscribe(fails)
    changes = record_changes(registry)
    registry.announce(ProvidersChanged())

    assert changes == [ProvidersChanged()]
    assert "a listener for ProvidersChanged failed" in caplog.text


def test_a_listener_that_unsubscribes_is_not_called() -> None:
    registry = registry_of()
    changes: list[Change] = []
    unsubscribe = registry.subscribe(changes.append)
    unsubscribe()
    unsubscribe()
    registry.announce(ProvidersChanged())

    assert changes == []
