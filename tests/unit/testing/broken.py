"""Contracts, correct adapters, and adapters that each break one rule of the contract."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.adapters.base import Account, AuthStatus, ChatModel
from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.chat import (
    ChatError,
    DoneEvent,
    Message,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextDoneEvent,
    TextStartEvent,
    ToolUseBlock,
    UsageEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing import AdapterContract, AnthropicMessagesScript, ChatCompletionsScript

SECRET = "sk-broken-0123456789abcdef"
RECORDINGS = Path(__file__).parents[2] / "contract" / "recordings"


def contract_for(adapter, **hooks):
    """Return a contract for this class of adapters, as the author of a plug-in writes it."""

    class Contract(AdapterContract):
        recordings = RECORDINGS / "openai"
        script = ChatCompletionsScript()
        secret = SECRET

        def make_adapter(self, base_url, http):
            return adapter("acme", ProviderConfig(kind="openai", base_url=base_url, api_key=SECRET), http)

        def make_adapter_without_credential(self, base_url, http):
            table = ProviderConfig(kind="openai", base_url=base_url, api_key="env:JUMPSEAT_NO_SUCH_KEY")
            return adapter("acme", table, http)

    for name, value in hooks.items():
        setattr(Contract, name, value)
    return Contract()


def messages_contract_for(adapter):
    """Return a contract for a class of adapters with Anthropic's dialect."""
    return contract_for(adapter, recordings=RECORDINGS / "anthropic", script=AnthropicMessagesScript())


class Good(OpenAIAdapter):
    """Breaks nothing."""


class GoodMessages(AnthropicAdapter):
    """Breaks nothing."""


def yields(change: Callable[[list[StreamEvent]], list[StreamEvent]], base=OpenAIAdapter):
    """Return a class of adapters that yields `change(events)`. If `change` raises, the chat fails."""

    class Changed(base):
        async def stream(self, request):
            events = [event async for event in super().stream(request)]
            for event in change(events):
                yield event

    return Changed


def sends(change: Callable[..., object], base=OpenAIAdapter):
    """Return a class of adapters that sends `change(self, request)` instead of the request."""

    class Changed(base):
        async def stream(self, request):
            async for event in super().stream(change(self, request)):
                yield event

    return Changed


def raises(change: Callable[[ChatError], Exception | None]):
    """Return a class of adapters that raises `change(error)`. If that is None, the error is suppressed."""

    class Changed(OpenAIAdapter):
        async def stream(self, request):
            try:
                async for event in super().stream(request):
                    yield event
            except ChatError as error:
                changed = change(error)
                if changed is not None:
                    raise changed from None
                yield DoneEvent("end_turn")

    return Changed


def change_each(kind, **changes):
    """Return a function for `yields` that sets these attributes of all events of this class."""

    def change(events):
        for event in events:
            if isinstance(event, kind):
                for name, value in changes.items():
                    setattr(event, name, value(event) if callable(value) else value)
        return events

    return change


def change_contents(kind, **changes):
    """Return a function for `yields` that changes the finished blocks of all events of this class."""
    return change_each(kind, content=lambda event: replace(event.content, **changes))


class SaysString(OpenAIAdapter):
    """Returns the content of a chat as a string, as many libraries do."""

    def bind(self, model, *, max_tokens=8192):
        class Model(ChatModel):
            async def chat(self, messages, **options):
                response = await super().chat(messages, **options)
                return replace(response, content=response.text)

        return Model(self, model, max_tokens=max_tokens)


class SharesState(OpenAIAdapter):
    """Stores the request in the adapter, so that concurrent chats mix."""

    async def stream(self, request):
        self.request = request
        await asyncio.sleep(0)
        async for event in super().stream(self.request):
            yield event


class SharesAnswers(OpenAIAdapter):
    """Stores the text of the answer in the adapter, so that concurrent answers mix."""

    async def stream(self, request):
        self.text = ""
        async for event in super().stream(request):
            if isinstance(event, TextDeltaEvent):
                self.text += event.text
            if isinstance(event, TextDoneEvent):
                event.content = replace(event.content, text=self.text)
            yield event


class IgnoresCancel(OpenAIAdapter):
    """Reads from its provider in a separate task, which is never cancelled."""

    def stream(self, request) -> AsyncIterator[StreamEvent]:
        queue: asyncio.Queue = asyncio.Queue()
        inner = super().stream

        async def read():
            async for event in inner(request):
                queue.put_nowait(event)
            queue.put_nowait(None)

        self.reading = asyncio.create_task(read())

        async def events():
            while (event := await queue.get()) is not None:
                yield event

        return events()


class HoldsBack(OpenAIAdapter):
    """Yields nothing before the end of the answer."""

    async def stream(self, request):
        for event in [event async for event in super().stream(request)]:
            yield event


class SwallowsCancel(OpenAIAdapter):
    """Ends quietly when it is cancelled."""

    async def stream(self, request):
        try:
            async for event in super().stream(request):
                yield event
        except asyncio.CancelledError:
            yield DoneEvent("end_turn")


class Retries(OpenAIAdapter):
    """Retries by itself."""

    async def stream(self, request):
        for attempt in range(2):
            try:
                async for event in super().stream(request):
                    yield event
            except ChatError:
                if attempt:
                    raise
            else:
                return


class LeavesATask(OpenAIAdapter):
    """Starts a task and never awaits it."""

    async def stream(self, request):
        self.ticking = asyncio.create_task(asyncio.Event().wait())
        async for event in super().stream(request):
            yield event


class KeepsItsConnection(OpenAIAdapter):
    """Creates its own HTTP client, and never closes it."""

    def __init__(self, provider, config, http):
        super().__init__(provider, config, HttpClient())


class ReadsAFile(OpenAIAdapter):
    """Reads a token file in its constructor."""

    def __init__(self, *args):
        super().__init__(*args)
        Path(__file__).with_suffix(".token").exists()
        with Path(os.devnull).open() as file:
            file.read()


class ReadsItsKey(OpenAIAdapter):
    """Requires its credential in its constructor."""

    def __init__(self, *args):
        super().__init__(*args)
        self._values.resolve_now("api_key", self._config.api_key)


class AskingAccount(Account):
    """Makes a request to know its state."""

    def __init__(self, adapter):
        super().__init__(adapter.provider_name)
        self._adapter = adapter

    async def auth_status(self, *, refresh=False):
        await self._adapter.list_models()
        return AuthStatus(provider=self._provider, state="signed_in")


class AsksForItsState(OpenAIAdapter):
    """Makes a request to report the state of the credential."""

    def __init__(self, *args):
        super().__init__(*args)
        self.account = AskingAccount(self)


class ListsForAnother(OpenAIAdapter):
    """Lists models under another provider's name."""

    async def list_models(self):
        return [replace(model, provider="other") for model in await super().list_models()]


class ProbesAnother(OpenAIAdapter):
    """Reports an unknown capability."""

    async def probe(self):
        return {"vision": True, "telepathy": True}


class Remembers(OpenAIAdapter):
    """Sends the messages of earlier chats again."""

    async def stream(self, request):
        past = getattr(self, "past", ())
        self.past = (*past, *request.messages)
        async for event in super().stream(replace(request, messages=self.past)):
            yield event


def send_system_as_message(_, request):
    if request.system is None:
        return request
    return replace(request, system=None, messages=(Message.user(request.system), *request.messages))


def tidy_arguments(_, request):
    """Replace the raw arguments of tool calls, as code that parses and serializes them again would."""

    def tidy(block):
        if isinstance(block, ToolUseBlock):
            return replace(block, arguments={}, raw='{"tidy":true}')
        return block

    messages = tuple(replace(each, content=tuple(map(tidy, each.content))) for each in request.messages)
    return replace(request, messages=messages)


def add_late_delta(events):
    """Add a delta after the event that ends its block."""
    number = next(n for n, event in enumerate(events) if isinstance(event, TextDoneEvent))
    return [*events[: number + 1], TextDeltaEvent(0, "late"), *events[number + 1 :]]


def renumber(events):
    for event in events:
        if hasattr(event, "block"):
            event.block += 1
    return events


def exclude_cached_tokens(events):
    for event in events:
        if isinstance(event, UsageEvent | DoneEvent) and event.usage is not None:
            event.usage = replace(event.usage, input_tokens=1, cache_read_tokens=64)
    return events


def add_start(events):
    return [StartEvent("acme", "m"), *events]


def drop_done(events):
    return [event for event in events if not isinstance(event, DoneEvent)]


def drop_starts(events):
    return [event for event in events if not isinstance(event, TextStartEvent)]
