"""What a plug-in does wrong while it runs is told as its own, and hurts nobody else."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from jumpseat.adapters.base import Adapter
from jumpseat.chat import ChatError, ProtocolError, RateLimitError
from jumpseat.config import Config
from jumpseat.engine import run_turn
from jumpseat.providers import Registry
from jumpseat.providers.plugin_guard import FITS
from tests.unit.providers.plugged import GOOD, REQUEST, Install, registry
from tests.unit.scripted import RecordingSink, ask

pytestmark = pytest.mark.requirement("7:plugins")


async def turn_of(there: Registry) -> ChatError:
    sink = RecordingSink()
    with pytest.raises(ChatError) as caught:
        async with asyncio.timeout(10):
            await run_turn(there, ask(model="mine:m"), sink)
    assert sink.types[-1] == "done"
    return caught.value


@pytest.mark.parametrize(
    "body",
    [
        "    def stream(self, request):\n        1 / 0",
        "    async def stream(self, request):\n        yield 1 / 0",
        "    async def stream(self, request):\n        raise SystemExit(3)\n        yield",
        "    async def stream(self, request):\n        yield 'text'",
        "    async def stream(self, request):\n        yield TextDeltaEvent(0, 7)",
        "    async def stream(self, request):\n        return 1",
        "    def stream(self, request):\n        return [1]",
        "    pass",
    ],
)
async def test_a_defect_in_a_chat_names_the_plug_in_and_not_the_daemon(
    install: Install, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(f"class Acme(Adapter):\n{body}")
    error = await turn_of(registry())

    assert type(error) is ProtocolError
    assert error.message.startswith("The plug-in acme (jumpseat-acme 1.0) failed in a way of its own (")
    assert error.provider == "mine"
    assert not error.retryable
    assert "Traceback" in caplog.text


async def test_what_an_adapter_may_raise_goes_through_as_it_is(install: Install) -> None:
    install(
        "class Acme(Adapter):\n    async def stream(self, request):\n        yield self.raise_it()\n"
        "    def raise_it(self):\n        raise RateLimitError('Slow down.', retry_after=900)"
    )
    error = await turn_of(registry())

    assert isinstance(error, RateLimitError)
    assert (error.message, error.retry_after) == ("Slow down.", 900)


async def test_events_that_do_not_close_well_leave_the_end_of_the_turn_alone(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(
        "class Acme(Adapter):\n    async def stream(self, request):\n        try:\n"
        "            yield DoneEvent('end_turn')\n        finally:\n            1 / 0"
    )
    response = await run_turn(registry(), ask(model="mine:m"), RecordingSink())
    assert response.stop_reason == "end_turn"
    assert "was not closed" in caplog.text


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("list_models", ()),
        ("auth_status", ()),
        ("count_tokens", (REQUEST,)),
        ("probe", ()),
        ("find_default_model", ()),
        ("accept_terms", ("m",)),
        ("sign_in", (print,)),
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        "async def {}(self, *_, **__): 1 / 0",
        "async def {}(self, *_, **__): raise SystemExit(3)",
        "async def {}(self, *_, **__): return [1]",
        "def {}(self, *_, **__): pass",
    ],
    ids=["raises", "ends the process", "answers nonsense", "is not async"],
)
async def test_a_defect_of_what_is_asked_over_the_network_names_the_plug_in(
    install: Install, method: str, arguments: tuple[Any, ...], body: str
) -> None:
    install(f"{GOOD}    {body.format(method)}")
    adapter = registry().adapter("mine")
    with pytest.raises(ProtocolError, match=r"plug-in acme \(jumpseat-acme 1.0\)"):
        await getattr(adapter, method)(*arguments)


@pytest.mark.parametrize(
    ("method", "arguments", "inherited"),
    [
        ("inline_output", ("a",), None),
        ("max_context_tokens", ("m",), None),
        ("heard_models", (), ()),
        ("watched_files", (), []),
        ("check", (), ()),
    ],
)
@pytest.mark.parametrize(
    "body",
    ["def {}(self, *_): 1 / 0", "def {}(self, *_): return 1.5", "async def {}(self, *_): pass"],
    ids=["raises", "answers nonsense", "is async"],
)
async def test_a_defect_of_what_is_asked_in_passing_is_as_if_nothing_were_there(
    install: Install,
    method: str,
    arguments: tuple[Any, ...],
    inherited: object,
    body: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    install(f"{GOOD}    {body.format(method)}")

    assert getattr(registry().adapter("mine"), method)(*arguments) == inherited
    assert f"{method} of the plug-in acme (jumpseat-acme 1.0) failed" in caplog.text


async def test_so_is_a_property_that_fails_and_one_that_cannot_be_set(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    unset = "    client_info = property(lambda self: None)\n"
    install(f"{GOOD}    default_model = property(lambda self: 1 / 0)\n{unset}")
    adapter = registry().adapter("mine")

    assert adapter.default_model is None
    assert adapter.provider_name == "mine"
    assert "default_model of the plug-in acme" in caplog.text
    assert "does not let itself be told client_info" in caplog.text


def test_each_answer_of_the_interface_is_looked_at() -> None:
    # Streams are looked at event by event; the rest of these answer nothing that anybody reads.
    told = {"client_info", "on_auth_change", "on_capabilities_change"}
    others = {"stream", "bind", "aclose", "files_changed", "options", *told}
    public = {name for name in vars(Adapter) if not name.startswith("_")}

    assert public - others == set(FITS)


async def test_what_a_plug_in_does_not_have_it_does_not_have(install: Install) -> None:
    install(GOOD)
    adapter = registry().adapter("mine")

    assert await adapter.count_tokens(REQUEST) == -1
    assert adapter.inline_output("a") is None
    assert (await adapter.auth_status()).provider == "mine"
    assert not hasattr(adapter, "no_such_thing")
    with pytest.raises(NotImplementedError):
        await adapter.list_models()


async def test_one_that_fails_to_close_keeps_no_other_from_it(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install(
        GOOD + "    closed = []\n    async def aclose(self):\n        self.closed.append(self)\n        1 / 0"
    )
    there = Registry(Config.model_validate({"providers": {"a": {"kind": "acme"}, "b": {"kind": "acme"}}}))
    adapters: list[Any] = [there.adapter("a"), there.adapter("b")]
    with caplog.at_level(logging.ERROR):
        await there.aclose()

    assert len(adapters[0].closed) == 2
    assert caplog.text.count("a provider failed to close") == 2
