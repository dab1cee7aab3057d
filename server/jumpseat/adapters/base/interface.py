"""The interface of a provider.

An adapter makes one attempt at a turn (`stream`). The turn engine owns retries, replanning, degradation, the
`start` event and the end of a failed turn. One adapter serves many turns concurrently, so its only mutable
state is caches, each with a lock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import ClassVar

from pydantic import BaseModel

from jumpseat.adapters.base.account import Account
from jumpseat.adapters.base.capabilities import Capabilities
from jumpseat.adapters.base.chat_model import ChatModel
from jumpseat.adapters.base.traits import ChatTraits
from jumpseat.chat import DEFAULT_MAX_TOKENS, ChatRequest, ModelInfo, StreamEvent
from jumpseat.config import ProviderConfig, SettingRow
from jumpseat.http import HttpClient


class Adapter:
    """A provider. Subclasses override what they support.

    The constructor must be cheap and offline. Only methods that send requests may read credentials and
    open connections. Parts that few providers have are in `optional`.
    """

    capabilities: Capabilities = Capabilities()

    traits: ChatTraits = ChatTraits()

    account: Account | None = None
    """The user's credential; None if the provider does not need one."""

    settings_rows: Mapping[str, SettingRow] = {}
    """The settings that a chat may set, by name; rows of the user's configuration take precedence."""

    options: ClassVar[type[BaseModel] | None] = None
    """The pydantic model of the keys that only this kind has, for `read_options`."""

    # Plug-ins whose constructor does not call this class's constructor need this default.
    _provider: str = ""

    def __init__(
        self,
        provider: str = "",
        config: ProviderConfig | None = None,
        http: HttpClient | None = None,
    ) -> None:
        """Accept the arguments that every adapter is constructed with.

        Args:
            provider: the configured provider's id.
            config: the provider's table.
            http: the shared client.
        """
        self._provider = provider

    @property
    def provider_name(self) -> str:
        """The configured provider's id; the class name if `Adapter.__init__` did not receive the id."""
        return self._provider or type(self).__name__

    def bind(self, model: str, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> ChatModel:
        """Return one model of this provider, for use without the daemon."""
        return ChatModel(self, model, max_tokens=max_tokens)

    def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt at a turn and yield its events, ending with a `DoneEvent`.

        Closing the iterator closes the upstream connection immediately.

        Raises:
            ChatError: the attempt failed; events already yielded stay valid.
            Replan: a changed request would fix the failure.
        """
        raise NotImplementedError

    async def list_models(self) -> list[ModelInfo]:
        """Return the models that this credential can use.

        Raises:
            ChatError: the list could not be read.
        """
        raise NotImplementedError

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return the provider's own count of the prompt's tokens; -1 if the provider cannot count."""
        return -1

    def max_context_tokens(self, model: str) -> int | None:
        """Return the model's context length, if it is known without a request."""
        return None

    async def probe(self) -> Capabilities | Mapping[str, bool] | None:
        """Request the provider's capabilities, with the credential if the provider needs one.

        Returns `Capabilities`, or a mapping of the fields that the provider reports; None if the provider
        reports nothing. The caller sets the timeout.

        Raises:
            ChatError: the provider did not answer, or refused.
        """
        return None

    async def aclose(self) -> None:
        """Release resources: stop servers, unload models."""
