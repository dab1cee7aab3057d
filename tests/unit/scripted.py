"""A scripted provider, which runs in the process of the test and does not use the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from jumpseat.adapters.base import Account, Adapter, AuthState, AuthStatus, Capabilities
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    DoneEvent,
    Message,
    ModelInfo,
    StreamEvent,
    TextBlock,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    Usage,
)
from jumpseat.config import Config, SavedSettings
from jumpseat.engine import Sink, TurnRequest
from jumpseat.providers import Registry

Step: TypeAlias = StreamEvent | Exception | asyncio.Event
"""An event is yielded, an exception is raised, and an `asyncio.Event` is awaited."""

DONE = DoneEvent("end_turn", Usage(3, 2), "stop")


def script_text(*pieces: str, block: int = 0) -> list[Step]:
    """Return the events of one text block."""
    return [
        TextStartEvent(block),
        *(TextDeltaEvent(block, piece) for piece in pieces),
        TextDoneEvent(block, TextBlock("".join(pieces))),
    ]


class ScriptedAccount(Account):
    """An account that is always in the same state."""

    def __init__(self, provider: str, state: AuthState | ChatError) -> None:
        super().__init__(provider)
        self.state = state

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        if isinstance(self.state, ChatError):
            raise self.state
        return AuthStatus(provider=self._provider, state=self.state)


class ScriptedAdapter(Adapter):
    """An adapter that plays one script for each attempt of a turn, and records the requests."""

    def __init__(
        self,
        *attempts: Sequence[Step],
        name: str = "fake",
        models: Sequence[str] | Exception | None = None,
        capabilities: Capabilities | None = None,
        probed: Capabilities | Mapping[str, bool] | ChatError | None = None,
        state: AuthState | ChatError = "not_required",
        default_model: str | None = None,
    ) -> None:
        self.attempts = list(attempts)
        self.name = name
        self.models = models
        self.capabilities = capabilities or Capabilities()
        self.probed = probed
        self.traits = replace(type(self).traits, default_model=default_model)
        self.account = ScriptedAccount(name, state)
        self.requests: list[ChatRequest] = []
        self.played = 0
        self.closed = 0
        self.listed = 0

    @property
    def provider_name(self) -> str:
        return self.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        try:
            for step in self.attempts.pop(0):
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                    continue
                self.played += 1
                yield step
        finally:
            self.closed += 1

    async def list_models(self) -> list[ModelInfo]:
        self.listed += 1
        if self.models is None:
            raise NotImplementedError
        if isinstance(self.models, Exception):
            raise self.models
        return [model_info(self.name, model) for model in self.models]

    async def probe(self) -> Capabilities | Mapping[str, bool] | None:
        if isinstance(self.probed, ChatError):
            raise self.probed
        return self.probed


class ScriptedRegistry(Registry):
    """A registry with the adapters of a test."""

    def __init__(
        self, config: Config, adapters: Mapping[str, Adapter], saved: SavedSettings | None = None
    ) -> None:
        super().__init__(config, saved)
        self._scripted = dict(adapters)

    def use(self, provider: str, adapter: Adapter) -> None:
        """Replace the adapter of a provider."""
        self._scripted[provider] = adapter

    def adapter(self, provider: str) -> Adapter:
        return self._scripted.get(provider) or super().adapter(provider)


def registry_of(
    *adapters: ScriptedAdapter,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    local: AuthState = "signed_out",
    copilot: AuthState = "signed_out",
    saved: SavedSettings | None = None,
    **top_level: Any,
) -> ScriptedRegistry:
    """Return a registry of these providers and the built-in ones `local` and `copilot`.

    Args:
        tables: The configuration of providers, including providers without an adapter.
        local: The state of the built-in provider `local`.
        copilot: The state of the built-in provider `copilot`.
        top_level: Other keys of the configuration.
    """
    named = dict.fromkeys([*(each.name for each in adapters), *(tables or {})])
    providers = {name: {"kind": "openai", **(tables or {}).get(name, {})} for name in named}
    config = Config.model_validate({"providers": providers, **top_level})
    built_in = {
        name: ScriptedAdapter(name=name, state=state, models=[])
        for name, state in (("copilot", copilot), ("local", local))
    }
    return ScriptedRegistry(config, {**built_in, **{each.name: each for each in adapters}}, saved)


def model_info(provider: str, model: str, **facts: Any) -> ModelInfo:
    """Return a row of a model list."""
    return ModelInfo(provider=provider, model=model, name=model, family=model, version="1", **facts)


def ask(*messages: Message, **more: Any) -> TurnRequest:
    """Return a turn request for the model `m` of the provider `fake`, by default with one question."""
    return TurnRequest(messages=messages or (Message.user("Why?"),), **{"model": "fake:m", **more})


class RecordingSink(Sink):
    """Records the events that a turn sends. While `gate` is not set, the turn has to wait."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.watchers: list[tuple[Callable[[StreamEvent], bool], asyncio.Event]] = []

    def send(self, event: StreamEvent) -> None:
        self.events.append(event)
        for wanted, seen in self.watchers:
            if wanted(event):
                seen.set()

    async def wait_until_ready(self) -> None:
        await self.gate.wait()

    async def wait_for(self, kind: type[StreamEvent]) -> None:
        """Wait until an event of this class has been sent."""
        seen = asyncio.Event()
        self.watchers.append((lambda event: isinstance(event, kind), seen))
        if not any(isinstance(event, kind) for event in self.events):
            async with asyncio.timeout(10):
                await seen.wait()

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [event.type for event in self.events]
