"""The models of one account: the age of a list, shared requests, `auto` sessions, and terms."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from jumpseat.adapters.github.copilot import catalogue as copilot_catalogue
from jumpseat.adapters.github.copilot.catalogue import FRESH_SECONDS, CopilotCatalogue
from jumpseat.adapters.http.shared_answers import SharedAnswers
from jumpseat.chat import AuthorizationError, ConnectionError, ProtocolError, RequestError
from jumpseat.system.shared import Shared

LIST = ("GET", "/models")
SESSION = ("POST", "/models/session")


def row(name: str, state: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": name,
        "name": name.title(),
        "version": name,
        "model_picker_enabled": True,
        "capabilities": {"type": "chat", "family": name, "supports": {"streaming": True}},
    }
    return found if state is None else {**found, "policy": {"state": state, "terms": "Be kind."}}


class Service:
    """A fake data plane that answers from its attributes and records the requests."""

    def __init__(self) -> None:
        self.login = "octocat"
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        self.rows = [row("gpt-4.1")]
        self.session: Any = {"selected_model": "gpt-4.1", "session_token": "canary-session"}
        self.down = False
        self.accepts = True
        """Whether the acceptance of terms changes the model's row."""

        self.unreadable = False
        """Whether the response to an acceptance is not JSON."""

        self.gate: asyncio.Event | None = None
        self.arrived = asyncio.Event()

    async def key(self) -> str:
        return self.login

    async def ask(self, method: str, path: str, body: Any) -> Any:
        self.requests.append((method, path))
        self.arrived.set()
        self.bodies.append(body)
        if self.gate is not None:
            await self.gate.wait()
        if self.down:
            raise ConnectionError("The service is away.")
        if (method, path) == SESSION:
            return self.session
        if path.endswith("/policy") and self.accepts:
            name = path.split("/")[2]
            self.rows = [row(name, "enabled") if each["id"] == name else each for each in self.rows]
            if self.unreadable:
                raise ProtocolError("That is not JSON.")
        return {"object": "list", "data": self.rows} if path == "/models" else {}


@pytest.fixture
def service() -> Service:
    return Service()


def catalogue_of(service: Service, **options: Any) -> CopilotCatalogue:
    answers = SharedAnswers(Shared(), lambda: None)
    return CopilotCatalogue("copilot", service.ask, answers, service.key, **options)


@pytest.fixture
def catalogue(service: Service) -> CopilotCatalogue:
    return catalogue_of(service)


class Clock:
    """The catalogue's clock, which a test can advance."""

    passed = 0.0
    slept = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.passed

    def time(self) -> float:
        return time.time() + self.passed + self.slept

    def pass_time(self, seconds: float) -> None:
        self.passed += seconds

    def sleep(self, seconds: float) -> None:
        """Advance only the wall clock, as when the machine sleeps."""
        self.slept += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(copilot_catalogue, "time", found)
    monkeypatch.setattr("jumpseat.system.clock.time", found)
    return found


@pytest.fixture
def later(clock: Clock) -> Callable[[float], None]:
    """Return a function that advances the catalogue's clock."""
    return clock.pass_time


@pytest.mark.requirement("copilot:fresh-list")
async def test_chats_share_one_list_until_it_is_stale(
    service: Service, catalogue: CopilotCatalogue, later: Callable[[float], None]
) -> None:
    for _ in range(3):
        assert [each.model for each in await catalogue.get_for_chat()] == ["gpt-4.1"]
    later(FRESH_SECONDS - 1)
    await catalogue.get_for_chat()
    assert service.requests == [LIST]

    later(2)
    service.rows.append(row("gpt-5"))
    assert [each.model for each in await catalogue.get_for_chat()] == ["gpt-4.1", "gpt-5"]
    assert service.requests == [LIST] * 2


@pytest.mark.requirement("copilot:fresh-list")
async def test_fifty_simultaneous_chats_request_one_list(
    service: Service, catalogue: CopilotCatalogue
) -> None:
    service.gate = asyncio.Event()
    chats = [asyncio.create_task(catalogue.get_for_chat()) for _ in range(50)]
    async with asyncio.timeout(20):
        await service.arrived.wait()
    # A cancelled chat must not cancel the shared request.
    chats.pop().cancel()
    service.gate.set()

    assert {tuple(each.model for each in rows) for rows in await asyncio.gather(*chats)} == {("gpt-4.1",)}
    assert service.requests == [LIST]


@pytest.mark.requirement("copilot:fresh-list")
async def test_a_chat_uses_the_last_list_if_the_service_fails(
    service: Service, catalogue: CopilotCatalogue, later: Callable[[float], None]
) -> None:
    service.down = True
    assert list(await catalogue.get_for_chat()) == []
    with pytest.raises(ConnectionError):
        await catalogue.fetch()
    service.down = False
    await catalogue.get_for_chat()
    service.down = True
    later(FRESH_SECONDS + 1)

    assert [each.model for each in await catalogue.get_for_chat()] == ["gpt-4.1"]
    assert catalogue.row("gpt-4.1") is not None
    assert catalogue.row("gpt-9") is None


@pytest.mark.requirement("copilot:fresh-list")
async def test_only_the_first_chat_waits_briefly_for_a_slow_list(
    service: Service,
) -> None:
    catalogue = catalogue_of(service, list_seconds=0.01)
    service.gate = asyncio.Event()

    async with asyncio.timeout(20):
        assert list(await catalogue.get_for_chat()) == []
    with pytest.raises(StopIteration):  # The coroutine returns without suspending.
        catalogue.get_for_chat().send(None)

    service.gate.set()
    assert [each.model for each in await catalogue.fetch()] == ["gpt-4.1"]
    assert [each.model for each in await catalogue.get_for_chat()] == ["gpt-4.1"]
    assert service.requests == [LIST], "a second request was sent instead of waiting for the first"


@pytest.mark.requirement("copilot:fresh-list")
async def test_after_a_sleep_of_the_machine_the_list_is_requested_again(
    service: Service, catalogue: CopilotCatalogue, clock: Clock
) -> None:
    service.session["expires_at"] = time.time() + 1800
    await catalogue.get_for_chat()
    await catalogue.get_auto_session()

    clock.sleep(3600)

    await catalogue.get_for_chat()
    await catalogue.get_auto_session()
    assert service.requests == [LIST, SESSION] * 2


async def test_another_account_has_its_own_list_and_session(
    service: Service, catalogue: CopilotCatalogue
) -> None:
    await catalogue.get_for_chat()
    await catalogue.get_auto_session()
    service.login = "hubot"
    catalogue.forget()
    assert list(catalogue.known) == []

    await catalogue.get_for_chat()
    await catalogue.get_auto_session()
    assert service.requests == [LIST, SESSION] * 2


@pytest.mark.requirement("copilot:auto")
@pytest.mark.parametrize(
    ("expires_in", "good_for"),
    [(3600, FRESH_SECONDS), (700, 400), (100, 0), (None, 300), ("soon", 300)],
    ids=["long", "short", "within-the-margin", "missing", "invalid"],
)
async def test_an_auto_session_is_replaced_before_it_expires(
    service: Service,
    catalogue: CopilotCatalogue,
    later: Callable[[float], None],
    expires_in: Any,
    good_for: float,
) -> None:
    expires_at = time.time() + expires_in if isinstance(expires_in, int) else expires_in
    service.session = {**service.session, "expires_at": expires_at}
    first = await catalogue.get_auto_session()
    assert (first.model, first.token.reveal()) == ("gpt-4.1", "canary-session")
    assert "canary" not in repr(first)

    if good_for:
        later(good_for - 5)
        await catalogue.get_auto_session()
        assert len(service.requests) == 1
        later(10)
    await catalogue.get_auto_session()
    assert service.requests == [SESSION] * 2
    assert service.bodies[0] == {"auto_mode": {"model_hints": ["auto"]}}


@pytest.mark.requirement("copilot:auto")
async def test_chats_that_start_together_share_one_auto_session(
    service: Service, catalogue: CopilotCatalogue
) -> None:
    sessions = await asyncio.gather(*(catalogue.get_auto_session() for _ in range(20)))

    assert len(set(map(id, sessions))) == len(service.requests) == 1


@pytest.mark.requirement("copilot:auto")
@pytest.mark.parametrize(
    ("answer", "model"),
    [
        ({"available_models": ["a", "b"], "session_token": "t"}, "a"),
        ({"available_models": ["a"], "selected_model": "b", "session_token": "t"}, "b"),
        ({"available_models": [], "session_token": "t"}, None),
        ({"selected_model": "b"}, None),
        ({"selected_model": 3, "session_token": "t"}, None),
        ([], None),
        (None, None),
    ],
)
async def test_an_auto_session_is_refused_unless_it_names_a_model(
    service: Service, catalogue: CopilotCatalogue, answer: Any, model: str | None
) -> None:
    service.session = answer
    if model is None:
        with pytest.raises(ProtocolError, match="without naming a model"):
            await catalogue.get_auto_session()
    else:
        assert (await catalogue.get_auto_session()).model == model


@pytest.mark.requirement("3:set-policy")
@pytest.mark.parametrize("unreadable", [False, True])
async def test_terms_are_accepted_and_checked_in_the_list(
    service: Service, catalogue: CopilotCatalogue, *, unreadable: bool
) -> None:
    """The list decides, not the response, which need not be JSON."""
    service.unreadable = unreadable
    service.rows = [row("gpt-4.1"), row("opus/4", "unconfigured"), row("new", "disabled")]
    accepted = await catalogue.accept_terms("new")

    assert (accepted.model, accepted.policy) == ("new", "enabled")
    assert service.requests == [LIST, ("POST", "/models/new/policy"), LIST]
    assert service.bodies[1] == {"state": "enabled"}
    await catalogue.get_for_chat()
    assert len(service.requests) == 3


@pytest.mark.requirement("3:set-policy")
async def test_an_acceptance_without_effect_is_an_error_with_the_reason(
    service: Service, catalogue: CopilotCatalogue
) -> None:
    service.rows, service.accepts = [row("opus/4", "disabled")], False
    with pytest.raises(AuthorizationError, match="still not enabled") as caught:
        await catalogue.accept_terms("opus/4")

    assert "administrator" in (caught.value.hint or "")
    # The name is escaped to one segment of the path.
    assert service.requests[1] == ("POST", "/models/opus%2F4/policy")


@pytest.mark.requirement("3:set-policy")
async def test_terms_of_an_unknown_model_are_not_accepted(
    service: Service, catalogue: CopilotCatalogue
) -> None:
    with pytest.raises(RequestError, match="'gpt-9'"):
        await catalogue.accept_terms("gpt-9")

    assert service.requests == [LIST]
