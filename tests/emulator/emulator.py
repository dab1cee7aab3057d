"""The emulator for tests, with controls for every state and with the recorded requests.

Each host of the service has its own listener on loopback, so that a request to the wrong host is noticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from jumpseat.testing.upstream import WAIT_SECONDS, FakeUpstream, Gate, Piece, RecordedRequest, Reply
from tests.emulator import completions_proxy, data, oauth, rest
from tests.emulator.accounts import PLANS, Account
from tests.emulator.catalogue import Catalogue
from tests.emulator.clock import Clock
from tests.emulator.credentials import PLUGIN_APP, Credential, Credentials, Kind
from tests.emulator.device_flow import DeviceFlow
from tests.emulator.faults import Behaviour, Call
from tests.emulator.state import API, COPILOT, GITHUB, PLANES, PROXY, TELEMETRY, Charge, State, body_object


@dataclass(slots=True)
class Seen:
    """A request with its plane, its credential and the status of its answer."""

    plane: str
    request: RecordedRequest
    credential: Credential | None
    status: int = 0


class Pause(Gate):
    """A gate that opens after a while, so that a person sees an answer arrive piece by piece."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def wait(self) -> None:
        await asyncio.sleep(self._seconds)


class CopilotEmulator:
    """A GitHub with Copilot on loopback: `async with CopilotEmulator() as emulator`.

    Args:
        first_port: the first of consecutive ports, one for each host; 0 for free ports.
        pace: the seconds between the events of an answer.
        watch: called with every request once its answer is known.
    """

    def __init__(
        self, first_port: int = 0, *, pace: float = 0.0, watch: Callable[[Seen], None] | None = None
    ) -> None:
        self.state = State()
        self.seen: list[Seen] = []
        self._servers = {
            plane: FakeUpstream(first_port + number if first_port else 0)
            for number, plane in enumerate(PLANES)
        }
        self._scripts: dict[str | None, deque[Behaviour]] = defaultdict(deque)
        self._arrived = asyncio.Condition()
        self._pace = pace
        self._watch = watch
        self._defects: list[Exception] = []
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            for plane, server in self._servers.items():
                await stack.enter_async_context(server)
                server.default(self._handler(plane))
                self.state.origins[plane] = server.origin
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        if self._defects:
            raise ExceptionGroup("the emulator itself failed", self._defects)

    # Addresses

    @property
    def github_url(self) -> str:
        """The URL that replaces https://github.com."""
        return self.state.origins[GITHUB]

    @property
    def api_url(self) -> str:
        """The URL that replaces https://api.github.com."""
        return self.state.origins[API]

    @property
    def copilot_url(self) -> str:
        """The URL that replaces https://api.githubcopilot.com, which serves every plan."""
        return self.state.origins[COPILOT]

    def plan_url(self, plan: str) -> str:
        """Return the URL of the data host for a plan."""
        return self.state.origins[f"copilot-{PLANS[plan].host}"]

    def provider(self, **more: Any) -> dict[str, Any]:
        """Return a provider table for this emulator. The account's plan determines the data host."""
        return {"kind": "copilot", "github_url": self.github_url, "api_url": self.api_url, **more}

    # State

    @property
    def clock(self) -> Clock:
        return self.state.clock

    @property
    def devices(self) -> DeviceFlow:
        """The device flow: its interval, lifetime and refused apps, and all codes."""
        return self.state.devices

    @property
    def models(self) -> Catalogue:
        """The models, which tests may add to and change."""
        return self.state.models

    @property
    def credentials(self) -> Credentials:
        return self.state.credentials

    def add_account(self, login: str = "octocat", plan: str = "individual", **state: Any) -> Account:
        """Add an account. `state` sets attributes of `Account`."""
        return self.state.accounts.add(login, plan, **state)

    def account(self, login: str = "octocat") -> Account:
        return self.state.accounts.find(login)

    def issue_token(
        self,
        account: Account | str = "octocat",
        *,
        client_id: str = PLUGIN_APP,
        kind: Kind | None = None,
        copilot_requests: bool = True,
    ) -> str:
        """Issue a GitHub token, as if another program had stored it."""
        found = self.state.accounts.find(account)
        issued = self.credentials.issue(
            found, client_id=client_id, kind=kind, copilot_requests=copilot_requests
        )
        return issued.value

    def approve(self, user_code: str, account: Account | str = "octocat") -> None:
        """Approve a device code as the user of an account."""
        self.devices.approve(user_code, self.state.accounts.find(account))

    def deny(self, user_code: str) -> None:
        self.devices.deny(user_code)

    def expire(self, user_code: str) -> None:
        self.devices.expire(user_code)

    def revoke(self, token: str) -> None:
        """Revoke a token. Copilot tokens that it was exchanged for stay valid until they expire."""
        found = self.credentials.find(token)
        assert found is not None, "this token was never issued"
        found.revoked = True

    def expire_copilot_tokens(self) -> None:
        """Expire all Copilot tokens now, even during a chat."""
        self.credentials.expire_copilot_tokens()

    def suspend(self, account: Account | str = "octocat") -> None:
        """Remove Copilot from an account."""
        self.state.accounts.find(account).blocked = "access_revoked"

    def set_plan(self, plan: str, account: Account | str = "octocat") -> None:
        """Change an account's plan and reset its quotas. Old Copilot tokens remain bound to the old host."""
        found = self.state.accounts.find(account)
        found.plan = PLANS[plan]
        found.give_month()

    def set_policy(self, model: str, state: str, account: Account | str = "octocat") -> None:
        """Set the state of a model's policy for an account."""
        self.state.accounts.find(account).policies[model] = state

    def script(self, target: str | None, *behaviours: Behaviour) -> None:
        """Queue behaviours for the next requests to a target: a model, a path, or None for any data host."""
        self._scripts[target].extend(behaviours)

    # Recorded requests

    @property
    def exchanges(self) -> int:
        """The number of Copilot tokens issued so far."""
        return len(self.state.exchanges)

    @property
    def charges(self) -> list[Charge]:
        return self.state.charges

    def requests(self, plane: str | None = None, path: str | None = None) -> list[RecordedRequest]:
        """Return the requests; if a plane or a path is given, only those to it."""
        return [
            each.request
            for each in self.seen
            if plane in (None, each.plane) and path in (None, each.request.path)
        ]

    def token_kinds_seen_by(self, plane: str) -> set[str]:
        """Return the kinds of all tokens that occur anywhere in the requests to a plane."""
        found = set()
        for request in self.requests(plane):
            head = [request.path, request.query, *request.headers.values()]
            text = "\n".join(head).encode("latin-1") + request.body
            found |= {each.kind for each in self.credentials.all() if each.value.encode() in text}
        return found

    async def wait_for(self, path: str, number: int = 1) -> RecordedRequest:
        """Wait for request `number` to a path, counted from 1."""
        async with asyncio.timeout(WAIT_SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests(path=path)) >= number)
        return self.requests(path=path)[number - 1]

    # Requests

    def _handler(self, plane: str) -> Callable[[RecordedRequest], Reply]:
        return lambda request: self._answer(plane, request)

    def _answer(self, plane: str, request: RecordedRequest) -> Reply:
        seen = Seen(plane, request, self.state.credential(request))
        self.seen.append(seen)
        try:
            reply = self._take_scripted_reply(plane, request) or self._honest(plane, request)
        except Exception as error:
            self._defects.append(error)
            reply = Reply.raw(b"the emulator failed\n", 500)
        seen.status = reply.status
        self._notify_waiters()
        if self._watch is not None:
            self._watch(seen)
        request_id = ":".join(secrets.token_hex(2).upper() for _ in range(4))
        reply = dataclasses.replace(reply, headers={"X-GitHub-Request-Id": request_id, **reply.headers})
        return _pause_between(reply, self._pace) if self._pace else reply

    def _take_scripted_reply(self, plane: str, request: RecordedRequest) -> Reply | None:
        if not any(self._scripts.values()):
            return None
        model = (body_object(request) or {}).get("model")
        keys: list[str | None] = [model] if isinstance(model, str) else []
        keys += [request.path, *([None] if plane.startswith(COPILOT) else [])]
        for key in keys:
            if self._scripts[key]:
                behaviour = self._scripts[key].popleft()
                if isinstance(behaviour, Reply):
                    return behaviour
                return behaviour(Call(plane, request, lambda: self._honest(plane, request)))
        return None

    def _honest(self, plane: str, request: RecordedRequest) -> Reply:
        """Return the answer of the emulated service, without scripted faults."""
        if plane == GITHUB and request.path.startswith("/api/"):
            # An Enterprise Server serves everything from one host.
            path = request.path.removeprefix("/api/v3")
            return rest.answer(self.state, dataclasses.replace(request, path=path))
        if plane == GITHUB:
            return oauth.answer(self.state, request)
        if plane == API:
            return rest.answer(self.state, request)
        if plane == PROXY:
            return completions_proxy.answer(self.state, plane, request)
        if plane == TELEMETRY:
            return completions_proxy.telemetry(request)
        return data.answer(self.state, plane, request)

    def _notify_waiters(self) -> None:
        async def notify() -> None:
            async with self._arrived:
                self._arrived.notify_all()

        self._notifying = asyncio.ensure_future(notify())


def _pause_between(reply: Reply, seconds: float) -> Reply:
    # Do not pause after the last piece: a client with the whole answer may already send its next request.
    pieces: list[Piece] = []
    for piece in reply.pieces:
        pieces += [Pause(seconds), piece] if pieces else [piece]
    return dataclasses.replace(reply, pieces=tuple(pieces))
