"""The hooks around a request: their order, and one tear-down for each set-up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from jumpseat.adapters.base import Adapter, Replan
from jumpseat.adapters.http import hooks as endpoint_hooks
from jumpseat.adapters.http.hooks import HttpAdapter, Outcome
from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.chat import (
    AuthorizationError,
    ChatError,
    ChatRequest,
    ConfigError,
    ConnectionError,
    DoneEvent,
    Message,
    ProtocolError,
    Response,
    ServerError,
    StreamEvent,
    TextDeltaEvent,
    WarningEvent,
)
from jumpseat.config import Config, ProviderConfig
from jumpseat.dialects import Decoder, ProviderFault
from jumpseat.engine import run_turn
from jumpseat.http import HttpClient
from jumpseat.testing.answers.chat_completions import chunk, completion_body, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.unit.scripted import RecordingSink, ScriptedRegistry, ask

WAIT_SECONDS = 10
BEFORE = ["set-up", "credential", "headers", "warnings", "parameters", "messages", "decoder"]
REQUEST = ChatRequest(messages=(Message.user("Hi"),), model="m", system="Be brief.")


class RecordingDecoder:
    """A decoder that records when it is used."""

    def __init__(self, inner: Decoder, steps: list[str]) -> None:
        self._inner = inner
        self._steps = steps

    @property
    def complete(self) -> bool:
        return self._inner.complete

    def feed_event(self, name: str, data: str) -> list[StreamEvent]:
        self._record()
        return self._inner.feed_event(name, data)

    def feed_body(self, body: bytes) -> list[StreamEvent]:
        self._record()
        return self._inner.feed_body(body)

    def finish(self) -> list[StreamEvent]:
        return self._inner.finish()

    def _record(self) -> None:
        if self._steps[-1] != "decode":
            self._steps.append("decode")


class Hooked(HttpAdapter):
    """An adapter that records each hook and calls the base class."""

    refusal: Exception | None = None
    replans = 0
    hold: Gate | None = None
    tear_down_fails = False

    def __init__(self, base_url: str, http: HttpClient, **table: Any) -> None:
        self.steps: list[str] = []
        self.outcomes: list[Outcome] = []
        self.torn_down: list[ChatRequest] = []
        self.tear_down_began = asyncio.Event()
        super().__init__("acme", ProviderConfig(base_url=base_url, api_key="k", **table), http)

    async def set_up(self, request: ChatRequest) -> ChatRequest | None:
        self.steps.append("set-up")
        if self.refusal is not None:
            raise self.refusal
        return replace(request, state={"lease": len(self.steps)})

    def credential(self, key: str) -> Mapping[str, str]:
        self.steps.append("credential")
        return super().credential(key)

    def form_headers(self, request: ChatRequest) -> Mapping[str, str]:
        self.steps.append("headers")
        # The credential of the provider replaces this Authorization.
        return {"X-Lease": str(request.state["lease"]), "Authorization": "of no use"}

    def warnings(self, request: ChatRequest) -> Iterable[WarningEvent]:
        self.steps.append("warnings")
        return [WarningEvent("odd", "Odd.")]

    def form_parameters(self, request: ChatRequest) -> Mapping[str, Any]:
        self.steps.append("parameters")
        return super().form_parameters(request)

    def form_messages(self, request: ChatRequest) -> Sequence[Any]:
        self.steps.append("messages")
        return super().form_messages(request)

    def decode(self, request: ChatRequest) -> Decoder:
        self.steps.append("decoder")
        return RecordingDecoder(super().decode(request), self.steps)

    def refine(self, request: ChatRequest, fault: ProviderFault, error: ChatError) -> Exception:
        if self.replans:
            self.replans -= 1
            return Replan("odd", error)
        return super().refine(request, fault, error)

    async def tear_down(self, request: ChatRequest, outcome: Outcome) -> None:
        self.steps.append("tear-down")
        self.tear_down_began.set()
        if self.hold is not None:
            await self.hold.wait()
        self.torn_down.append(request)
        self.outcomes.append(outcome)
        if self.tear_down_fails:
            raise RuntimeError("the lease is lost")


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.aclose()


@pytest.fixture
def adapter(upstream: FakeUpstream, http: HttpClient) -> Hooked:
    return Hooked(upstream.base_url, http)


def record_and_reply(adapter: Hooked, reply: Reply) -> Any:
    """Return a function that records the arrival of a request and returns the reply."""

    def record_request(_: object) -> Reply:
        adapter.steps.append("request")
        return reply

    return record_request


async def collect(adapter: Adapter, request: ChatRequest = REQUEST) -> list[StreamEvent]:
    async with asyncio.timeout(WAIT_SECONDS):
        return [event async for event in adapter.stream(request)]


@pytest.mark.requirement("7:plugin-hooks")
@pytest.mark.parametrize("streamed", [True, False])
async def test_each_hook_is_called_once_in_order(
    upstream: FakeUpstream, adapter: Hooked, streamed: bool
) -> None:
    reply = (
        Reply.events(completion_stream(["Hel", "lo"])) if streamed else Reply.json(completion_body("Hello"))
    )
    upstream.script(record_and_reply(adapter, reply))
    events = await collect(adapter, replace(REQUEST, stream=streamed))

    assert adapter.steps == [*BEFORE, "request", "decode", "tear-down"]
    assert "".join(event.text for event in events if isinstance(event, TextDeltaEvent)) == "Hello"
    assert events[0] == WarningEvent("odd", "Odd.")
    (outcome,) = adapter.outcomes
    assert (outcome.stop_reason, outcome.error) == ("end_turn", None)
    assert outcome.usage is not None
    assert outcome.usage.output_tokens > 0


async def test_the_state_of_the_set_up_reaches_the_later_hooks_and_is_not_sent(
    upstream: FakeUpstream, adapter: Hooked
) -> None:
    upstream.script(Reply.events(completion_stream(["Hi"])))
    await collect(adapter)

    (sent,) = upstream.requests
    assert sent.headers["x-lease"] == "1"
    assert adapter.torn_down[0].state == {"lease": 1}
    assert b"lease" not in sent.body
    assert sent.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("parameters", [{}, {"temperature": 1, "seed": 7}])
async def test_without_an_override_the_chat_completions_dialect_encodes_the_request(
    upstream: FakeUpstream, http: HttpClient, parameters: dict[str, Any]
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    request = replace(REQUEST, settings={"temperature": 0.5}, max_tokens=9)
    table = ProviderConfig(base_url=upstream.base_url, parameters=parameters)
    await collect(HttpAdapter("acme", table, http), request)
    await collect(OpenAIAdapter("acme", table, http), request)

    first, second = upstream.requests
    assert first.json == second.json
    assert (first.path, first.method) == (second.path, second.method)


async def test_without_an_override_a_refused_parameter_is_dropped_in_the_next_request(
    upstream: FakeUpstream, http: HttpClient
) -> None:
    fault = {"message": "Unsupported parameter: 'seed'", "param": "seed", "code": "unsupported_parameter"}
    upstream.script(Reply.json({"error": fault}, 400), Reply.events(completion_stream(["Hi"])))
    table = ProviderConfig(base_url=upstream.base_url, parameters={"seed": 7})
    adapter = HttpAdapter("acme", table, http)
    with pytest.raises(Replan, match="refused_parameter:seed"):
        await collect(adapter)
    events = await collect(adapter)

    assert "seed" in upstream.requests[0].json
    assert "seed" not in upstream.requests[1].json
    assert [event.code for event in events if isinstance(event, WarningEvent)] == ["parameter_dropped"]


@pytest.mark.requirement("7:plugin-hooks")
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply.json({"error": {"message": "Down."}}, 503), ServerError),
        (Reply.events(completion_stream(["Hel", "lo"])).reset_after(200), ConnectionError),
        (Reply.events(completion_stream(["Hel", "lo"])[:2]), ProtocolError),
        (Reply.events([chunk({"content": "Hi"}), {"error": {"message": "No.", "code": 500}}]), ChatError),
    ],
    ids=["status", "reset", "early end", "error in the stream"],
)
async def test_an_attempt_that_fails_is_torn_down_once_with_its_error(
    upstream: FakeUpstream, adapter: Hooked, reply: Reply, error: type[ChatError]
) -> None:
    upstream.script(reply)
    with pytest.raises(error) as caught:
        await collect(adapter)

    assert adapter.steps.count("tear-down") == 1
    assert adapter.steps[-1] == "tear-down"
    assert (adapter.outcomes[0].stop_reason, adapter.outcomes[0].error) == ("error", caught.value)


async def test_a_set_up_that_refuses_ends_the_attempt_before_any_credential_is_read(
    upstream: FakeUpstream, adapter: Hooked
) -> None:
    adapter.refusal = AuthorizationError("Not on Sundays.")
    with pytest.raises(AuthorizationError):
        await collect(adapter)

    assert adapter.steps == ["set-up"]
    assert upstream.requests == []


async def test_an_attempt_whose_hook_fails_after_the_set_up_is_torn_down_too(
    adapter: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hooked, "form_messages", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await collect(adapter)

    assert isinstance(adapter.outcomes[0].error, ZeroDivisionError)


@pytest.mark.requirement("7:plugin-hooks")
@pytest.mark.parametrize("pieces", [0, 1], ids=["before the first byte", "in mid-stream"])
async def test_a_cancelled_attempt_closes_its_connection_and_is_torn_down_once(
    upstream: FakeUpstream, adapter: Hooked, pieces: int
) -> None:
    gate = Gate()
    upstream.script(Reply.events([*[chunk({"content": "Hi"})] * pieces, gate]))
    sink = RecordingSink()
    registry = ScriptedRegistry(Config.model_validate({"providers": {"acme": {}}}), {"acme": adapter})
    turn = asyncio.ensure_future(run_turn(registry, ask(model="acme:m"), sink))
    await upstream.wait_for_request()
    if pieces:
        await sink.wait_for(TextDeltaEvent)
    turn.cancel()
    with pytest.raises(ChatError):
        await turn

    await upstream.wait_for_disconnect()
    assert adapter.steps.count("tear-down") == 1
    assert adapter.outcomes[0].stop_reason == "cancelled"


async def test_closing_the_stream_after_its_end_is_not_a_cancel(
    upstream: FakeUpstream, adapter: Hooked
) -> None:
    upstream.script(Reply.events(completion_stream(["Hi"])))
    async with contextlib.aclosing(adapter.stream(REQUEST)) as events:
        async for event in events:
            if isinstance(event, DoneEvent):
                break

    assert adapter.outcomes[0].stop_reason == "end_turn"


@pytest.mark.requirement("7:plugin-hooks")
@pytest.mark.parametrize("replan", [True, False], ids=["replanned", "retried"])
async def test_each_attempt_of_a_turn_has_its_own_set_up_and_tear_down(
    upstream: FakeUpstream, adapter: Hooked, replan: bool
) -> None:
    adapter.replans = int(replan)
    refusal = Reply.json({"error": {"message": "Odd."}}, 400 if replan else 503, retry_after="0")
    hello = Reply.events(completion_stream(["Hi"]))
    upstream.script(record_and_reply(adapter, refusal), record_and_reply(adapter, hello))
    registry = ScriptedRegistry(Config.model_validate({"providers": {"acme": {}}}), {"acme": adapter})
    async with asyncio.timeout(WAIT_SECONDS):
        response = await run_turn(registry, ask(model="acme:m"), RecordingSink())

    assert isinstance(response, Response)
    assert response.text == "Hi"
    assert adapter.steps == [*BEFORE, "request", "tear-down", *BEFORE, "request", "decode", "tear-down"]
    assert [each.stop_reason for each in adapter.outcomes] == ["error", "end_turn"]
    assert isinstance(adapter.outcomes[0].error, Replan if replan else ServerError)


async def test_a_failing_tear_down_is_logged_and_the_answer_is_kept(
    upstream: FakeUpstream, adapter: Hooked, caplog: pytest.LogCaptureFixture
) -> None:
    adapter.tear_down_fails = True
    upstream.script(Reply.events(completion_stream(["Hi"])))

    assert isinstance((await collect(adapter))[-1], DoneEvent)
    assert "the tear-down of acme failed" in caplog.text
    assert "the lease is lost" in caplog.text


async def test_a_turn_does_not_wait_for_a_tear_down_that_hangs(
    upstream: FakeUpstream, adapter: Hooked, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(endpoint_hooks, "TURN_WAITS_SECONDS", 0.01)
    monkeypatch.setattr(endpoint_hooks, "TEAR_DOWN_SECONDS", 0.02)
    adapter.hold = Gate()
    upstream.script(Reply.events(completion_stream(["Hi"])))

    assert isinstance((await collect(adapter))[-1], DoneEvent)
    await asyncio.wait(adapter._tearing_down, timeout=WAIT_SECONDS)
    assert "did not end in 0.02 s" in caplog.text
    assert adapter._tearing_down == set()


async def test_a_second_cancel_does_not_interrupt_a_tear_down(
    upstream: FakeUpstream, adapter: Hooked
) -> None:
    adapter.hold = Gate()
    upstream.script(Reply.events([Gate()]))
    attempt = asyncio.ensure_future(collect(adapter))
    await upstream.wait_for_request()
    attempt.cancel()
    async with asyncio.timeout(WAIT_SECONDS):
        await adapter.tear_down_began.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert adapter.outcomes == []

    adapter.hold.open()
    await adapter.aclose()
    assert [each.stop_reason for each in adapter.outcomes] == ["cancelled"]


async def test_closing_abandons_a_tear_down_that_hangs(
    upstream: FakeUpstream, adapter: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_hooks, "TURN_WAITS_SECONDS", 0.01)
    monkeypatch.setattr(endpoint_hooks, "CLOSING_WAITS_SECONDS", 0.01)
    adapter.hold = Gate()
    upstream.script(Reply.events(completion_stream(["Hi"])))
    await collect(adapter)
    (hanging,) = adapter._tearing_down

    async with asyncio.timeout(WAIT_SECONDS):
        await adapter.aclose()
        await asyncio.wait({hanging})
    assert hanging.cancelled()


def test_without_a_base_url_the_missing_key_is_named(http: HttpClient) -> None:
    with pytest.raises(ConfigError, match=r"providers\.acme\.base_url"):
        HttpAdapter("acme", ProviderConfig(kind="acme"), http)
