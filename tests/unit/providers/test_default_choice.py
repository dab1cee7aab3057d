"""The default provider is chosen once, saved, and not affected by other workspaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import Account, Adapter, AuthState, AuthStatus
from jumpseat.chat import ConfigError, RequestError
from jumpseat.config import SavedSettings
from jumpseat.providers import Registry, ensure_default_provider, resolve_model
from jumpseat.providers.default_choice import save_default_provider
from tests.unit.scripted import ScriptedAdapter, ScriptedRegistry, registry_of

Start = Callable[..., ScriptedRegistry]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Return a function that makes the registry of a new daemon with these providers and saved settings.

    The provider `from_client` is from a client's overlay, and the others are from the configuration file.
    """

    def registry(*names: str, from_client: str | None = None, **more: Any) -> ScriptedRegistry:
        built = registry_of(
            *(ScriptedAdapter(name=name, default_model=f"{name}-own") for name in names),
            saved=SavedSettings(tmp_path / "settings.json"),
            **more,
        )
        if from_client is not None:
            tables = {name: table for name, table in built.config.providers.items() if name != from_client}
            built.config.note_from_client(built.config.model_copy(update={"providers": tables}))
        return built

    return registry


async def save(registry: Registry, **values: Any) -> None:
    schemas = await registry.settings_schemas(*values.get("providers", ()))
    await registry.saved.save(values, schemas)


async def read_saved_default(registry: Registry) -> str | None:
    await registry.saved.refresh()
    return registry.saved.values.get("default_provider")


@pytest.mark.requirement("4:saved-default")
async def test_a_choice_stays_when_providers_are_added(start: Start) -> None:
    assert await ensure_default_provider(start("a")) == "a"

    assert await ensure_default_provider(start("a", "b")) == "a"
    assert await ensure_default_provider(start("a", "b", local="not_required")) == "a"


@pytest.mark.requirement("4:configured-default")
@pytest.mark.parametrize(
    ("names", "local", "chosen"),
    [
        (["a"], "signed_in", "local"),
        (["a"], "not_required", "a"),
        (["a", "b"], "not_required", "local"),
        ([], "not_required", "local"),
        ([], "configured", "local"),
        (["a", "b"], "signed_out", None),
        (["a", "b"], "expired", None),
    ],
)
async def test_a_signed_in_provider_precedes_a_configured_one_as_default(
    start: Start, names: list[str], local: AuthState, chosen: str | None
) -> None:
    registry = start(*names, local=local)

    assert await ensure_default_provider(registry) == chosen
    assert await read_saved_default(start()) == chosen


@pytest.mark.requirement("4:configured-default")
@pytest.mark.parametrize(("names", "chosen"), [([], "copilot"), (["a"], "copilot"), (["a", "b"], "copilot")])
async def test_copilot_is_the_first_choice_with_a_sign_in(
    start: Start, names: list[str], chosen: str
) -> None:
    assert await ensure_default_provider(start(*names, copilot="signed_in", local="not_required")) == chosen


class SignedInElsewhere(Account):
    """An account that another program has signed in. Each check of it is expensive."""

    asked = 0

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        self.asked += 1
        return AuthStatus(provider=self._provider, state="signed_in", source="gh")

    async def is_signed_in_for_this(self) -> bool:
        return False


def make_adapter_signed_in_elsewhere() -> tuple[Adapter, SignedInElsewhere]:
    adapter: Adapter = ScriptedAdapter(name="copilot")
    adapter.account = account = SignedInElsewhere("copilot")
    return adapter, account


@pytest.mark.requirement("4:general-sign-in")
@pytest.mark.parametrize(
    ("names", "local", "chosen", "asked"),
    [
        (["a"], "not_required", "a", 0),
        ([], "not_required", "local", 1),
        ([], "signed_out", "copilot", 1),
        (["a", "b"], "signed_out", "copilot", 1),
    ],
)
async def test_another_programs_sign_in_is_the_last_choice_and_not_always_checked(
    names: list[str], local: AuthState, chosen: str, asked: int
) -> None:
    copilot, account = make_adapter_signed_in_elsewhere()
    registry = registry_of(*(ScriptedAdapter(name=name) for name in names), local=local)
    registry.use("copilot", copilot)

    assert await ensure_default_provider(registry) == chosen
    assert account.asked == asked


@pytest.mark.requirement("4:general-sign-in")
async def test_the_sign_in_is_not_checked_if_a_chat_names_its_provider() -> None:
    copilot, account = make_adapter_signed_in_elsewhere()
    registry = registry_of(ScriptedAdapter(name="a"), ScriptedAdapter(name="b"))
    registry.use("copilot", copilot)

    await resolve_model(registry, "a:m")
    assert account.asked == 0


@pytest.mark.requirement("4:configured-default")
async def test_a_configured_default_takes_precedence_and_does_not_change_the_saved_one(start: Start) -> None:
    await save(start("a", "b"), default_provider="a")

    assert await ensure_default_provider(start("a", "b", default_provider="b")) == "b"
    assert await ensure_default_provider(start("a", "b")) == "a"
    with pytest.raises(ConfigError):
        await ensure_default_provider(start("a", default_provider="unknown"))


@pytest.mark.requirement("4:saved-default-gone")
async def test_the_daemons_choice_of_a_removed_provider_is_made_again_and_logged_once(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure_default_provider(start("a"))
    registry = start("b")

    assert [await ensure_default_provider(registry) for _ in range(2)] == ["b", "b"]
    assert await read_saved_default(start("a", "b")) == "b"
    assert caplog.text.count("saved default provider a does not exist here") == 1


@pytest.mark.requirement("4:saved-default-gone")
async def test_a_persons_choice_of_a_removed_provider_is_skipped_and_never_replaced(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    await ensure_default_provider(start("b"))
    await save(start("a", "b"), default_provider="a")

    assert await ensure_default_provider(start("b")) == "b"
    assert "saved default provider a does not exist here" in caplog.text
    assert await ensure_default_provider(start("a", "b")) == "a"


@pytest.mark.requirement("4:saved-default-gone")
async def test_confirming_the_daemons_choice_makes_it_a_persons(start: Start) -> None:
    await ensure_default_provider(start("a"))
    await save(start("a"), default_provider="a")

    assert await ensure_default_provider(start("b")) == "b"
    assert await read_saved_default(start()) == "a"


@pytest.mark.requirement("4:overlay-default")
@pytest.mark.parametrize(("names", "chosen"), [(["ws"], "ws"), (["a", "ws"], "local")])
async def test_a_choice_among_a_clients_own_providers_is_not_saved(
    start: Start, names: list[str], chosen: str
) -> None:
    assert await ensure_default_provider(start(*names, from_client="ws", local="not_required")) == chosen

    assert await read_saved_default(start()) is None


@pytest.mark.requirement("4:overlay-default")
async def test_a_clients_own_providers_do_not_change_the_saved_default(start: Start) -> None:
    await ensure_default_provider(start("a"))

    assert await ensure_default_provider(start("a", "ws", from_client="ws")) == "a"
    assert await ensure_default_provider(start("ws", from_client="ws")) == "ws"
    assert await read_saved_default(start()) == "a"


@pytest.mark.requirement("4:overlay-default")
async def test_client_settings_of_a_built_in_provider_do_not_affect_the_choice(start: Start) -> None:
    table = {"local": {"kind": "local", "default_model": "m"}}
    registry = start("a", tables=table, from_client="local", local="not_required")

    assert await ensure_default_provider(registry) == "a"
    assert await read_saved_default(start()) == "a"
    await save_default_provider(registry, "local")
    assert await read_saved_default(start()) == "local"


@pytest.mark.requirement("4:saved-default")
async def test_of_two_concurrent_choices_the_first_one_is_saved(start: Start) -> None:
    first, second = start("b"), start("a", "b", local="not_required")
    for each in (first, second):
        await each.saved.load()

    assert await ensure_default_provider(first) == "b"
    assert await ensure_default_provider(second) == "b"
    assert await read_saved_default(start()) == "b"


async def test_a_choice_that_cannot_be_saved_is_used_and_saving_is_tried_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    registry = registry_of(
        ScriptedAdapter(name="a"), saved=SavedSettings(tmp_path / "file" / "settings.json")
    )

    assert [await ensure_default_provider(registry) for _ in range(3)] == ["a", "a", "a"]
    assert caplog.text.count("cannot be saved") == 1


async def test_a_built_in_provider_without_a_known_state_is_not_chosen(start: Start) -> None:
    broken = ScriptedAdapter(name="local", state=ConfigError("Wrong."))

    assert await ensure_default_provider(registry_of(broken, tables={"a": {}})) is None


@pytest.mark.requirement("4:saved-default-model")
@pytest.mark.parametrize(
    ("configured", "saved", "expected"),
    [
        ({}, {"default_model": "b:x"}, "b/x"),
        ({}, {"default_model": "x"}, "a/x"),
        ({"default_model": "b:y"}, {"default_model": "x"}, "b/y"),
        ({"default_provider": "b"}, {"default_model": "x"}, "b/x"),
        ({}, {"default_provider": "b"}, "b/b-own"),
        ({}, {}, "a/a-own"),
    ],
)
async def test_without_a_model_a_chat_uses_the_configured_else_saved_else_default_one(
    start: Start, configured: dict[str, Any], saved: dict[str, Any], expected: str
) -> None:
    await save(start("a", "b"), **{"default_provider": "a", **saved})

    target = await resolve_model(start("a", "b", **configured), None)
    assert f"{target.provider}/{target.model}" == expected


@pytest.mark.requirement("4:saved-default-model")
async def test_a_saved_model_of_a_removed_provider_is_skipped(start: Start) -> None:
    await save(start("a", "b"), default_model="b:x")

    assert (await resolve_model(start("a"), None)).model == "a-own"
    assert (await resolve_model(start("a", "b"), None)).model == "x"


async def test_the_model_of_a_chat_does_not_change_saved_values(start: Start) -> None:
    await save(start("a"), default_provider="a", default_model="m")
    await resolve_model(start("a"), "a:other")

    assert (await resolve_model(start("a"), None)).model == "m"


@pytest.mark.requirement("5:settings-precedence")
async def test_values_of_the_configuration_take_precedence_over_saved_ones(start: Start) -> None:
    rows = {name: {"type": "integer"} for name in ("x", "y", "z")}
    tables = {"a": {"settings": rows}}
    registry = start("a", tables=tables)
    await save(registry, max_tokens=5, providers={"a": {"x": 1, "y": 1}})
    assert (registry.default_settings("a"), registry.default_max_tokens) == ({"x": 1, "y": 1}, 5)

    over = start("a", tables=tables, settings={"max_tokens": 9, "providers": {"a": {"y": 2, "z": 2}}})
    await over.saved.load()
    assert (over.default_settings("a"), over.default_max_tokens) == ({"x": 1, "y": 2, "z": 2}, 9)


@pytest.mark.requirement("4:sign-in-default")
async def test_signing_in_makes_the_default_and_forgets_another_providers_model(start: Start) -> None:
    await save(start("a", "b"), default_provider="a", default_model="a:m")
    await save_default_provider(start("a", "b"), "b")

    target = await resolve_model(start("a", "b"), None)
    assert f"{target.provider}/{target.model}" == "b/b-own"
    assert await ensure_default_provider(start("a")) == "a"
    assert await read_saved_default(start()) == "b"


@pytest.mark.requirement("4:sign-in-default")
async def test_signing_in_keeps_a_model_of_that_provider_and_the_configured_default(start: Start) -> None:
    await save(start("a", "b"), default_provider="a", default_model="b:m")
    await save_default_provider(start("a", "b", default_provider="a"), "b")
    await save_default_provider(start("a", "b", from_client="b"), "b")
    assert await read_saved_default(start()) == "a"

    await save_default_provider(start("a", "b"), "b")
    assert (await resolve_model(start("a", "b"), None)).model == "m"


async def test_a_sign_in_does_not_fail_because_its_default_cannot_be_saved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    saved = SavedSettings(tmp_path / "file" / "settings.json")
    await save_default_provider(registry_of(ScriptedAdapter(name="a"), saved=saved), "a")

    assert "a is not saved as the default provider" in caplog.text


async def test_a_missing_default_is_still_an_error(start: Start) -> None:
    with pytest.raises(RequestError, match="a, b"):
        await resolve_model(start("a", "b"), None)
    assert await read_saved_default(start()) is None
