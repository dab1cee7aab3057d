"""The interface of a provider.

An adapter answers one question, `stream`: the events of one attempt at a turn. The turn engine above
it owns retries, replanning, degradation, the `start` event and the end of a failed turn; dialects and
HTTP below it are tools. One adapter object serves many turns at once, so it holds no mutable state but
caches, each behind its own lock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from jumpseat.adapters.base.account import AuthStatus, OnAuthChange, OnPrompt
from jumpseat.adapters.base.capabilities import Capabilities
from jumpseat.adapters.base.chat_model import ChatModel
from jumpseat.chat import (
    DEFAULT_MAX_TOKENS,
    ChatRequest,
    ConfigError,
    ModelInfo,
    RequestError,
    StreamEvent,
)
from jumpseat.config import ProviderConfig, SettingRow
from jumpseat.http import HttpClient


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The program that the daemon serves, as it named itself."""

    name: str
    version: str | None = None


class Adapter:
    """A provider. Subclasses override what they can; the defaults promise nothing.

    Set-up must be cheap and offline: credentials are read and connections opened by `stream` and
    `list_models`, never by the constructor.
    """

    capabilities: Capabilities = Capabilities()

    settings_rows: Mapping[str, SettingRow] = {}
    """The settings that a chat may set, by name; what the user's configuration adds goes before them."""

    options: ClassVar[type[BaseModel] | None] = None
    """A model of the keys that this kind of provider has beside the common ones; read by `read_options`."""

    _provider: str = ""

    def __init__(
        self,
        provider: str = "",
        config: ProviderConfig | None = None,
        http: HttpClient | None = None,
    ) -> None:
        """What every adapter is made with; a subclass keeps of it what it needs.

        Args:
            provider: the configured provider's id.
            config: its table.
            http: the shared client.
        """
        self._provider = provider

    @property
    def provider_name(self) -> str:
        """The configured provider's id; the class name where an adapter does not say."""
        return self._provider or type(self).__name__

    @property
    def default_max_tokens(self) -> int:
        """Output tokens of an answer where neither the client nor the user's settings say."""
        return DEFAULT_MAX_TOKENS

    @property
    def default_model(self) -> str | None:
        """The model for chats that name none; None where the provider has no such model."""
        return None

    async def find_default_model(self) -> str | None:
        """The same where it takes a question to the provider; asked only if `default_model` is None.

        Raises:
            ChatError: the provider could not be asked.
        """
        return self.default_model

    def bind(self, model: str, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> ChatModel:
        """The one model of this provider, for use without the daemon."""
        return ChatModel(self, model, max_tokens=max_tokens)

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt at a turn and yield its events, ending with a `DoneEvent`.

        Closing the iterator closes the upstream connection at once.

        Raises:
            ChatError: the attempt failed; events already yielded stay valid.
            Replan: a changed request would cure the failure.
        """
        raise NotImplementedError

    models_expire_seconds: float = float("inf")
    """How long a list of models is good for; without end where models come and go by the user's own hand."""

    async def list_models(self) -> list[ModelInfo]:
        """The models that this credential can use.

        Raises:
            ChatError: the list could not be had.
        """
        raise NotImplementedError

    def heard_models(self) -> Sequence[ModelInfo]:
        """The list as the adapter last heard it for purposes of its own; empty where it has none."""
        return ()

    async def count_tokens(self, request: ChatRequest) -> int:
        """The prompt's tokens by the provider's own count; -1 where it offers none."""
        return -1

    def max_context_tokens(self, model: str) -> int | None:
        """The model's context length, where it is known without asking anybody."""
        return None

    def context_asked_for(self, request: ChatRequest) -> int | None:
        """The context that this request has its server make room for; None where it has no say in that."""
        return None

    @property
    def user_begins(self) -> bool:
        """Whether a conversation has to begin with the user, as chat templates of several models want it.

        Where the assistant may come first, what it said first is sent as it is.
        """
        return True

    def inline_output(self, text: str) -> str | None:
        """The replacement for a piece of text, out of an answer that was asked to rewrite it in place.

        None leaves it to the daemon, which strips fences and chatter. An empty replacement is one.
        """
        return None

    def check(self) -> Sequence[str]:
        """What a first use would find on this machine, for who only wants to know whether all is set up.

        Nobody is asked and no credential is read; what is looked at is there or is not. Gives a sentence for
        each thing in the table that is passed over. It and an error's message begin with the key that they
        are about, where there is one: `providers.NAME.KEY: …`.

        Raises:
            ConfigError: something is missing, without which there is no chat: a program, a file.
        """
        return ()

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Whether the provider can be used; asks over the network only with `refresh`."""
        return AuthStatus(provider=self.provider_name, state="not_required")

    async def is_signed_in_for_this(self) -> bool:
        """Whether a person has signed in to this very provider: one that is built in is the default then.

        What another program's sign-in would allow does not count, and no other program is asked.
        """
        return (await self.auth_status()).state == "signed_in"

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, because a person wants it; gives the model's new row.

        Raises:
            RequestError: the provider has no terms to accept.
            ChatError: it could not be asked, or the model is still not enabled.
        """
        raise RequestError(
            f"{self.provider_name} has no terms of models to accept.", provider=self.provider_name
        )

    client_info: ClientInfo | None = None
    """Set by whoever made the adapter, to who is attached to the daemon."""

    def watched_files(self) -> list[Path]:
        """Files whose change, by another process, should be told by `files_changed`."""
        return []

    async def files_changed(self) -> None:
        """One of `watched_files` may have changed since it was read."""

    on_auth_change: OnAuthChange | None = None
    """Set by whoever wants to hear that the state of the credential changed, whoever changed it."""

    on_capabilities_change: Callable[[], None] | None = None
    """Set by whoever wants to hear that `capabilities` are no longer what they were."""

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Wait until a person has signed in; cancelling the wait gives it up.

        Args:
            on_prompt: told what the person has to do, as soon as that is known.

        Raises:
            ChatError: they did not, or the provider did not let them.
            ConfigError: nobody signs in to this provider.
        """
        status = await self.auth_status()
        if status.state == "not_required":
            return status
        raise self._no_sign_in()

    async def sign_out(self) -> AuthStatus:
        """Forget the credential that `sign_in` brought.

        Raises:
            ConfigError: nobody signs in to this provider.
        """
        status = await self.auth_status()
        if status.state == "not_required":
            return status
        raise self._no_sign_in()

    def _no_sign_in(self) -> ConfigError:
        """Why nobody signs in to this provider, and what to do instead."""
        name = self.provider_name
        return ConfigError(
            f"Nobody signs in to {name}: its key is set in the configuration.",
            provider=name,
            hint=f'Set providers.{name}.api_key, to "env:NAME" for one, in {self._configured_in}.',
        )

    @property
    def _configured_in(self) -> str:
        """The file with the provider's table, for hints."""
        return "the configuration file"

    async def probe(self) -> Capabilities | Mapping[str, bool] | None:
        """What the provider says of itself when asked now, with the credential if it takes one.

        `Capabilities`, or only those of its fields that it says something about, by their names; None where
        there is nothing to ask. Bounded by whoever asks.

        Raises:
            ChatError: it did not answer, or refused.
        """
        return None

    async def aclose(self) -> None:
        """Give back what the adapter holds: servers it started, models it loaded."""
