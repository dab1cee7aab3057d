"""Defects of a running plug-in are reported with its name, and do not affect other providers."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from jumpseat.adapters.base import (
    Account,
    Adapter,
    CachesModels,
    ChecksSetup,
    EditsInline,
)
from jumpseat.adapters.base.optional import ChecksHosts, SharesModels
from jumpseat.chat import ChatError, ConfigError, ProtocolError, RateLimitError
from jumpseat.config import Config
from jumpseat.engine import run_turn
from jumpseat.providers import Registry
from tests.unit.providers.plugged import GOOD, REQUEST, Install, make_registry
from tests.unit.scripted import RecordingSink, ask

pytestmark = pytest.mark.requirement("7:plugins")


async def fail_turn(registry: Registry) -> ChatError:
    """Run a turn that fails, and return its error."""
    sink = RecordingSink()
    with pytest.raises(ChatError) as caught:
        async with asyncio.timeout(10):
            await run_turn(registry, ask(model="mine:m"), sink)
    assert sink.types[-1] == "done"
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        "    def stream(self, request):\n        1 / 0",
        "    async def stream(self, request):\n        yield 1 / 0",
        "    async def stream(self, request):\n        raise SystemExit(3)\n        yield",
        "    async def stream(self, request):\n        yield 'text'",
        "    async def stream(self, request):\n        return 1",
        "    def stream(self, request):\n        return [1]",
        "    pass",
    ],
)
async def test_a_defect_in_a_chat_names_the_plug_in_and_not_the_daemon(
    install: Install, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(f"class Acme(Adapter):\n{body}")
    error = await fail_turn(make_registry())

    assert type(error) is ProtocolError
    assert error.message.startswith("The plug-in acme (jumpseat-acme 1.0) has a defect and failed (")
    assert error.provider == "mine"
    assert not error.retryable
    assert "Traceback" in caplog.text


async def test_errors_of_jumpseats_own_classes_pass_unchanged(install: Install) -> None:
    install(
        "class Acme(Adapter):\n    async def stream(self, request):\n        yield self.raise_it()\n"
        "    def raise_it(self):\n        raise RateLimitError('Slow down.', retry_after=900)"
    )
    error = await fail_turn(make_registry())

    assert isinstance(error, RateLimitError)
    assert (error.message, error.retry_after) == ("Slow down.", 900)


async def test_a_defect_in_closing_the_events_does_not_change_the_end_of_the_turn(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(
        "class Acme(Adapter):\n    async def stream(self, request):\n        try:\n"
        "            yield DoneEvent('end_turn')\n        finally:\n            1 / 0"
    )
    response = await run_turn(make_registry(), ask(model="mine:m"), RecordingSink())
    assert response.stop_reason == "end_turn"
    assert "closing the stream of the plug-in acme" in caplog.text


NETWORK_DEFECTS = [
    "async def {}(self, *_, **__): 1 / 0",
    "async def {}(self, *_, **__): raise SystemExit(3)",
    "def {}(self, *_, **__): pass",
]
NETWORK_DEFECT_IDS = ["raises", "ends the process", "is not async"]
KNOWS_MODELS = """
    def cached_models(self):
        return ()
    async def find_default_model(self):
        return None
"""
OWN_ACCOUNT = """
class Acme(Adapter):
    class account(Account):
        pass
    def __init__(self, *table):
        super().__init__(*table)
        self.account = type(self).account(table[0])
    async def stream(self, request):
        yield DoneEvent("end_turn")
"""


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("list_models", ()),
        ("count_tokens", (REQUEST,)),
        ("probe", ()),
        ("find_default_model", ()),
    ],
)
@pytest.mark.parametrize("body", NETWORK_DEFECTS, ids=NETWORK_DEFECT_IDS)
async def test_a_defect_in_a_network_call_names_the_plug_in(
    install: Install, method: str, arguments: tuple[Any, ...], body: str
) -> None:
    install(f"{GOOD}{KNOWS_MODELS}    {body.format(method)}")
    adapter = make_registry().adapter("mine")
    with pytest.raises(ProtocolError, match=r"plug-in acme \(jumpseat-acme 1.0\)"):
        await getattr(adapter, method)(*arguments)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("auth_status", ()),
        ("is_signed_in_for_this", ()),
        ("accept_terms", ("m",)),
        ("sign_in", (print,)),
        ("sign_out", ()),
    ],
)
@pytest.mark.parametrize("body", NETWORK_DEFECTS, ids=NETWORK_DEFECT_IDS)
async def test_a_defect_of_a_plug_ins_account_names_the_plug_in(
    install: Install, method: str, arguments: tuple[Any, ...], body: str
) -> None:
    install(OWN_ACCOUNT.replace("pass", body.format(method)))
    account = make_registry().account("mine")
    with pytest.raises(ProtocolError, match=r"plug-in acme \(jumpseat-acme 1.0\)"):
        await getattr(account, method)(*arguments)


async def test_no_files_are_watched_if_watched_files_fails(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(OWN_ACCOUNT.replace("pass", "def watched_files(self): 1 / 0"))

    assert make_registry().account("mine").watched_files() == ()
    assert "watched_files of the plug-in acme (jumpseat-acme 1.0) failed" in caplog.text


@pytest.mark.parametrize(
    ("method", "arguments", "inherited"),
    [
        ("inline_output", ("a",), None),
        ("max_context_tokens", ("m",), None),
        ("cached_models", (), ()),
        ("check", (), ()),
    ],
)
@pytest.mark.parametrize("body", ["1 / 0", "raise SystemExit(3)"], ids=["raises", "ends the process"])
async def test_a_query_with_a_defect_returns_its_default_value(
    install: Install,
    method: str,
    arguments: tuple[Any, ...],
    inherited: object,
    body: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    install(f"{GOOD}{KNOWS_MODELS}    def {method}(self, *_): {body}")

    assert getattr(make_registry().adapter("mine"), method)(*arguments) == inherited
    assert f"{method} of the plug-in acme (jumpseat-acme 1.0) failed" in caplog.text


@pytest.mark.parametrize(
    "declared",
    [
        "traits = property(lambda self: 1 / 0)",
        "traits = ChatTraits(default_max_tokens=0)",
        "account = 'me'",
        "provider_name = property(lambda self: 1 / 0)",
        "provider_name = 7",
        "capabilities = True",
        "settings_rows = {'a': 1}",
    ],
)
async def test_an_adapter_that_declares_nonsense_is_refused_when_it_is_made(
    install: Install, declared: str
) -> None:
    install(f"{GOOD}    {declared}")
    with pytest.raises(ConfigError, match=r"plug-in acme \(jumpseat-acme 1.0\)"):
        make_registry().adapter("mine")


@pytest.mark.parametrize(
    "declared", ["auth_method = 'fingerprint'", "auth_method = property(lambda self: 1 / 0)"]
)
async def test_an_account_that_declares_nonsense_is_refused_when_it_is_made(
    install: Install, declared: str
) -> None:
    install(OWN_ACCOUNT.replace("pass", declared))
    with pytest.raises(ConfigError, match=r"plug-in acme \(jumpseat-acme 1.0\)"):
        make_registry().adapter("mine")


def methods_of(*parts: type) -> set[str]:
    return {
        name
        for part in parts
        for name, value in vars(part).items()
        if callable(value) and not name.startswith("_")
    }


def test_each_method_of_the_interface_is_guarded(install: Install) -> None:
    optional = methods_of(CachesModels, SharesModels, EditsInline, ChecksSetup, ChecksHosts)
    defined = "".join(f"    def {name}(self, *_): pass\n" for name in sorted(optional))
    install(OWN_ACCOUNT + defined)
    adapter = make_registry().adapter("mine")
    account = adapter.account

    # `bind` only makes a `ChatModel`, and `report` is called by the account itself.
    assert (methods_of(Adapter) | optional) - vars(adapter).keys() == {"bind"}
    assert methods_of(Account) - vars(account).keys() == {"report"}


async def test_members_that_a_plug_in_does_not_define_have_their_defaults(install: Install) -> None:
    install(GOOD)
    adapter = make_registry().adapter("mine")

    assert await adapter.count_tokens(REQUEST) == -1
    assert adapter.account is None
    assert (await make_registry().auth_status("mine")).state == "not_required"
    with pytest.raises(NotImplementedError):
        await adapter.list_models()


async def test_an_adapter_that_fails_to_close_does_not_prevent_the_close_of_others(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(
        GOOD + "    closed = []\n    async def aclose(self):\n        self.closed.append(self)\n        1 / 0"
    )
    registry = Registry(Config.model_validate({"providers": {"a": {"kind": "acme"}, "b": {"kind": "acme"}}}))
    adapters: list[Any] = [registry.adapter("a"), registry.adapter("b")]
    with caplog.at_level(logging.ERROR):
        await registry.aclose()

    assert len(adapters[0].closed) == 2  # Both adapters append to the list of their class.
    assert caplog.text.count("a provider failed to close") == 2
