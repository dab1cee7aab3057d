"""Kinds of providers from plug-ins: loaded on demand, or rejected with a reason."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from jumpseat.chat import (
    ChatError,
    ConfigError,
    DoneEvent,
    Message,
)
from jumpseat.config import Config
from jumpseat.providers import KINDS, Registry, describe_providers, list_all_models
from tests.unit.providers.plugged import GOOD, REQUEST, Install, make_registry

pytestmark = pytest.mark.requirement("7:plugins")


def refusal(kind: str = "acme", **more: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        make_registry(kind, **more).adapter("mine")
    return caught.value


async def test_a_provider_of_a_plug_ins_kind_gets_the_plug_ins_adapter(install: Install) -> None:
    install(GOOD)
    adapter = make_registry().adapter("mine")

    assert adapter.provider_name == "mine"
    assert [event async for event in adapter.stream(REQUEST)] == [DoneEvent("end_turn")]
    assert (await adapter.bind("m").chat([Message.user("Hi")])).stop_reason == "end_turn"


def test_an_adapter_may_be_made_by_a_function(install: Install) -> None:
    install(
        GOOD + "def make(provider, config, http):\n    return Acme(f'{provider} of {config.kind}')\n",
        loads="make",
    )

    assert make_registry().adapter("mine").provider_name == "mine of acme"


def test_plug_ins_are_not_searched_for_built_in_kinds(install: Install) -> None:
    install("raise RuntimeError('imported')")
    registry = make_registry("openai")
    opened: list[str] = []
    watching = True

    # An audit hook cannot be removed, so `watching` switches it off.
    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and "entry_points" in str(arguments[0]):
            opened.append(str(arguments[0]))

    sys.addaudithook(note)
    registry.adapter("mine")
    registry.settings_rows("mine")
    assert opened == []

    refusal()
    watching = False
    assert opened != []


def test_an_unknown_kind_is_reported_with_all_known_kinds(install: Install) -> None:
    install(GOOD, "acme", "zeta", "openai")
    error = refusal("amce")

    assert error.message.startswith(
        "providers.mine.kind: there is no kind 'amce'; did you mean acme? Known kinds are "
    )
    assert all(kind in error.message for kind in KINDS)
    assert "plug-ins add acme, zeta." in error.message
    assert "The openai of jumpseat-acme 1.0 is ignored, because that kind is built in." in error.message
    assert error.provider == "mine"


def test_a_plug_in_cannot_replace_a_built_in_kind(install: Install) -> None:
    install("raise RuntimeError('imported')", "openai")

    assert type(make_registry("openai").adapter("mine")).__name__ == "OpenAIAdapter"


def test_two_distributions_with_one_name_are_both_refused(install: Install) -> None:
    install(GOOD)
    install(GOOD, distribution="jumpseat-other")
    error = refusal()

    assert "jumpseat-acme 1.0 and jumpseat-other 1.0" in error.message
    assert "Uninstall" in (error.hint or "")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_module", "cannot be imported (ModuleNotFoundError)"),
        ("raise SystemExit(3)", "cannot be imported (SystemExit)"),
        ("1 / 0", "cannot be imported (ZeroDivisionError)"),
        ("Other = 1", "cannot be imported (AttributeError)"),
        ("Acme = 7", "is not callable"),
        ("Acme = lambda provider, config, http: object()", "made object, which is not a subclass of"),
        ("Acme = lambda: 1", "failed to start (TypeError)"),
        ("Acme = lambda *_: exit(3)", "failed to start (SystemExit)"),
        (GOOD + "    settings_rows = {'a': 1}", "has settings_rows of a type that"),
        (GOOD + "    capabilities = None", "has capabilities of a type that"),
    ],
)
async def test_a_plug_in_that_cannot_be_used_is_named_with_its_distribution(
    install: Install, code: str, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(code)
    registry = make_registry()
    await registry.prepare("mine")
    with pytest.raises(ConfigError) as caught:
        registry.adapter("mine")

    error = caught.value
    assert sentence in error.message
    assert "acme" in error.message
    assert "jumpseat-acme 1.0" in error.message
    assert "providers.mine" in error.message
    assert error.hint is not None
    if "log" in error.hint:
        assert "Traceback" in caplog.text


BROKEN_ACCOUNT = f"{GOOD}    account = type('Broken', (Account,), {{'auth_status': 1}})('mine')"


@pytest.mark.parametrize("code", ["import no_such_module", "Acme = 7", BROKEN_ACCOUNT])
async def test_a_broken_plug_in_is_listed_with_its_message_beside_the_others(
    install: Install, code: str
) -> None:
    install(code)
    other = {"kind": "openai", "base_url": "http://127.0.0.1:1/v1"}
    tables = {"mine": {"kind": "acme"}, "other": other}
    registry = Registry(Config.model_validate({"providers": tables}))
    rows = {row.id: row for row in await describe_providers(registry, None, probe=True)}

    assert set(rows) >= {"mine", "other", "local"}
    assert "acme" in (rows["mine"].auth.message or "")
    assert not rows["mine"].configured
    assert rows["other"].configured
    _, failures = await list_all_models(registry, ["mine"])
    assert [(each.provider, isinstance(each.error, ChatError)) for each in failures] == [("mine", True)]
    await registry.aclose()


# -- keys and settings that a plug-in declares

OPTIONS = (
    GOOD
    + """
    class options(BaseModel):
        region: str
        depth: int = 1
    def __init__(self, provider, config, http):
        super().__init__(provider, config, http)
        self.read = read_options(self.options, provider, config)
    settings_rows = {"tone": SettingRow(type="enum", choices=["plain", "florid"], order=2)}
"""
)


def test_a_plug_in_reads_its_own_keys(install: Install) -> None:
    install(OPTIONS)
    adapter: Any = make_registry(region="eu", depth=3).adapter("mine")
    read = adapter.read

    assert (read.region, read.depth) == ("eu", 3)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({}, "providers.mine.region: Field required."),
        ({"region": "eu", "depth": "canary"}, "providers.mine.depth: Input should be a valid integer"),
    ],
)
def test_a_wrong_key_is_named_and_its_value_is_not_repeated(
    install: Install, keys: dict[str, Any], sentence: str
) -> None:
    install(OPTIONS)
    error = refusal(**keys)

    assert error.message.startswith(sentence)
    assert "canary" not in error.message


@pytest.mark.parametrize("code", [OPTIONS, GOOD])
def test_only_keys_that_the_plug_in_does_not_declare_are_warned_about(
    install: Install, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(code)
    make_registry(region="eu", basse_url="x").adapter("mine")

    assert "unknown key providers.mine.basse_url is ignored by the plug-in acme" in caplog.text
    assert ("providers.mine.region" in caplog.text) == (code == GOOD)


def test_the_users_settings_rows_override_those_of_a_plug_in(install: Install) -> None:
    install(OPTIONS)
    mine = {"tone": {"type": "string", "order": 9}, "mood": {"type": "string", "order": 1}}
    rows = make_registry(region="eu", settings=mine).settings_rows("mine")

    assert [(key, row.type) for key, row in rows.items()] == [("mood", "string"), ("tone", "string")]
    assert make_registry(region="eu").settings_rows("mine")["tone"].choices == ["plain", "florid"]
