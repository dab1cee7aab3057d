"""GitHub Copilot through GitHub's own language server, for users whose company allows nothing else.

Chooses between the server's two APIs for a chat, conversations and completions, and declares what each can
do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from jumpseat.adapters.base import (
    Account,
    Adapter,
    AuthStatus,
    Capabilities,
    ChatTraits,
    ClientInfo,
    OnPrompt,
    read_options,
)
from jumpseat.adapters.base.capabilities import capabilities_of
from jumpseat.adapters.github.default_model import default_model
from jumpseat.adapters.github.editor_sign_ins import copilot_directory
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.language_server import requests
from jumpseat.adapters.github.language_server.command import check_command, passed_over
from jumpseat.adapters.github.language_server.completion import Completions
from jumpseat.adapters.github.language_server.conversation import Conversations, NotOffered
from jumpseat.adapters.github.language_server.errors import UPDATE_COMMAND
from jumpseat.adapters.github.language_server.identity import AccountState, LanguageServerIdentity
from jumpseat.adapters.github.language_server.models import LanguageServerModels
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.adapters.github.language_server.server import LanguageServer, ServerConnection
from jumpseat.chat import (
    DEFAULT_MAX_TOKENS,
    AuthenticationError,
    ChatRequest,
    ConfigError,
    ModelInfo,
    RequestError,
    StreamEvent,
    WarningEvent,
)
from jumpseat.config import ProviderConfig, Values
from jumpseat.http import HttpClient
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

Way: TypeAlias = Literal["conversation", "completion"]

CAPABILITIES: Mapping[Way, Capabilities] = {
    # The server offers its models tools of its own alone, runs them itself, and has no JSON mode.
    "conversation": Capabilities(tool_calls=False, json_mode=False),
    "completion": Capabilities(
        streaming=False, tool_calls=False, json_mode=False, vision=False, thinking=False
    ),
}

SILENCE_SECONDS = 300.0
"""How long a chat may go without a word, where the table does not say: as long as over HTTP."""

MODELS_EXPIRE_SECONDS = 600.0
"""As long as the server itself remembers them."""

SIGN_INS = ("auth.db", "auth.db-wal")
"""The server's database, and what is written to it first."""

ASKING_SECONDS = 10.0
"""For what the server knows by itself."""


class LanguageServerSignIn(Account):
    """The server's sign-in for the daemon: each change of it makes the list of models another."""

    def __init__(
        self,
        provider: str,
        server: LanguageServer,
        identity: LanguageServerIdentity,
        models: LanguageServerModels,
        accept_terms: Callable[[str], Awaitable[ModelInfo]],
    ) -> None:
        super().__init__(provider)
        self._server = server
        self._identity = identity
        self._models = models
        self._accept_terms = accept_terms

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Who is signed in to the server, which is started for that; with `refresh` plan and quotas too."""
        return await self._identity.status(refresh=refresh)

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        """Have the server sign a person in with a code.

        Raises:
            ChatError: the person did not, or the server could not.
        """
        status = await self._identity.sign_in(on_prompt)
        self._models.forget()
        return status

    async def sign_out(self) -> AuthStatus:
        """Have the server forget its sign-in.

        Raises:
            ChatError: the request failed.
        """
        self._models.forget()
        return await self._identity.sign_out()

    async def accept_terms(self, model: str) -> ModelInfo:
        """Accept a model's terms for the account, and check that it took effect.

        Raises:
            ChatError: as `LanguageServerModels.accept_terms` raises it.
        """
        return await self._accept_terms(model)

    def watched_files(self) -> list[Path]:
        """Where the server keeps sign-ins, which another process may bring; none while it does not run."""
        directory = copilot_directory(self._server.environment)
        if directory is None or self._server.running is None:
            return []
        return [directory / name for name in SIGN_INS]

    async def files_changed(self) -> None:
        """Another process may have signed in or out."""
        self._identity.look()


class LanguageServerAdapter(Adapter):
    """One `[providers.*]` table of the kind `copilot-language-server`: one program, one account."""

    traits = ChatTraits(models_expire_seconds=MODELS_EXPIRE_SECONDS)
    account: LanguageServerSignIn
    client_info: ClientInfo | None = None
    on_capabilities_change: Callable[[], None] | None = None

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: its table.
            http: the shared client, for which there is no use: the program makes its own requests.

        Raises:
            ConfigError: the table names a host that does not allow sign-ins.
        """
        super().__init__(provider, config, http)
        self._config = config
        self._options = options = read_options(LanguageServerOptions, provider, config)
        hosts = github_hosts(options.host, provider=provider, github_url=options.github_url)
        self._server = LanguageServer(
            provider,
            config,
            Values(provider, config),
            who=lambda: self.client_info,
            on_notification=self._notified,
            on_request=requests.answer,
        )
        silence = SILENCE_SECONDS if config.timeout is None else config.timeout
        self._identity = LanguageServerIdentity(hosts, self._server, on_change=self._auth_changed)
        self._models = LanguageServerModels(provider)
        self.account = LanguageServerSignIn(
            provider, self._server, self._identity, self._models, self._accept_terms
        )
        self._conversations = Conversations(provider, self._server, silence_seconds=silence)
        self._completions = Completions(provider, self._server, silence_seconds=silence)
        self._way: Way = "conversation"
        self._way_of: ServerConnection | None = None
        """The run of the server of which the way is known; another one may be of another version."""

        self._decide("completion" if options.chat_api == "completion" else "conversation", None)
        self._listed_for: AccountState | None = None

    async def find_default_model(self) -> str | None:
        """The server's default model; reads the list if it was never read.

        Raises:
            ChatError: signed out, or the list cannot be fetched.
        """
        if self._default_model is None:
            await self._listed()
        return self._default_model

    @property
    def _default_model(self) -> str | None:
        return self._config.default_model or default_model(self._models.known)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt, by the way that the table or the server decides.

        Raises:
            AuthenticationError: the server is signed out.
            ConfigError: the server is not installed, or has not what the table asks for.
            RequestError: the chat has tools, or images for a way without them.
            ChatError: the server cannot be started, failed, or says that the service did.
        """
        connection = await self._server.connection()
        await self._identity.require(connection)
        # A server that was not asked yet shows by the chat itself whether it has conversations.
        if self._way == "conversation" or await self._decided(connection) == "conversation":
            self._refuse_the_impossible(request)
            for warning in self._unsaid(request):
                yield warning
            try:
                async with aclosing(self._conversations.stream(request)) as events:
                    async for event in events:
                        yield event
                return
            except NotOffered as missing:
                self._note_missing(connection, missing)
            except AuthenticationError as error:
                raise self._identity.explained(error) from error
            except RequestError as error:
                raise await self._models.explained(connection, request.model, error) from error
        self._refuse_the_impossible(request)
        for warning in self._unsaid(request):
            yield warning
        try:
            async with aclosing(self._completions.stream(request)) as events:
                async for event in events:
                    yield event
        except AuthenticationError as error:
            raise self._identity.explained(error) from error

    async def list_models(self) -> list[ModelInfo]:
        """The account's models, asked for now.

        Raises:
            ChatError: signed out, or the list could not be fetched.
        """
        models = list(await self._listed())
        wanted = self._config.default_model
        if wanted is not None:
            models = [replace(model, is_default=model.model == wanted) for model in models]
        return models

    def heard_models(self) -> Sequence[ModelInfo]:
        """The list that was fetched to find the default model."""
        return self._models.known

    def max_context_tokens(self, model: str) -> int | None:
        """The model's context length, by the list that was fetched last."""
        row = self._models.row(model)
        return row.max_context_tokens if row is not None else None

    async def probe(self) -> Mapping[str, bool] | None:
        """What the way that chats take can do, with the models that there are.

        Raises:
            ChatError: the server cannot be asked.
        """
        models = await self._listed()
        can = CAPABILITIES[self._way]
        return {
            "streaming": can.streaming,
            "vision": can.vision,
            "thinking": can.thinking,
            **capabilities_of(models),
        }

    def check(self) -> Sequence[str]:
        """Check that the program exists; name the keys that this kind ignores.

        Raises:
            ConfigError: there is no such program, or it may not be run.
        """
        check_command(self._provider, self._config)
        return passed_over(self._provider, self._config)

    async def aclose(self) -> None:
        """End questions under way, then the server."""
        await self._identity.aclose()
        await self._conversations.aclose()
        await self._server.aclose()

    def _notified(self, method: str, params: Any) -> None:
        self._identity.notified(method, params)
        self._conversations.notified(method, params)

    def _auth_changed(self, status: AuthStatus) -> None:
        if self._identity.account != self._listed_for:
            self._models.forget()
        self.account.report(status)

    async def _accept_terms(self, model: str) -> ModelInfo:
        connection = await self._server.connection()
        await self._identity.require(connection)
        completes = await self._decided(connection) == "completion"
        return await self._models.accept_terms(connection, model, completion=completes)

    async def _listed(self) -> Sequence[ModelInfo]:
        connection = await self._server.connection()
        await self._identity.require(connection)
        way = await self._decided(connection)
        models = await self._models.listed(connection, completion=way == "completion")
        self._listed_for = self._identity.account
        return models

    def _is_decided(self, connection: ServerConnection) -> bool:
        return self._options.chat_api != "auto" or self._way_of is connection

    async def _decided(self, connection: ServerConnection) -> Way:
        """The way of this run of the server, asked for if no chat has shown it.

        Raises:
            ChatError: the server cannot be asked.
        """
        if self._is_decided(connection):
            return self._way
        try:
            # An old method, which costs nothing and changes nothing: it knows no such conversation.
            await connection.request(
                "conversation/destroy", {"conversationId": "none"}, seconds=ASKING_SECONDS
            )
        except RpcError as error:
            has_it = error.code != METHOD_NOT_FOUND
        else:
            has_it = True
        return self._decide("conversation" if has_it else "completion", connection)

    def _decide(self, way: Way, connection: ServerConnection | None) -> Way:
        self._way, self._way_of = way, connection
        before, self.capabilities = self.capabilities, CAPABILITIES[way]
        if self.capabilities != before and self.on_capabilities_change is not None:
            self.on_capabilities_change()
        return way

    def _note_missing(self, connection: ServerConnection, missing: NotOffered) -> None:
        """The server has no conversations: chats are completed from here on, if they may be.

        Raises:
            ConfigError: the table asks for conversations.
        """
        if self._options.chat_api == "conversation":
            raise ConfigError(
                f"providers.{self._provider}.chat_api: this language server has no conversations.",
                provider=self._provider,
                hint=f'Run `{UPDATE_COMMAND}`, or say chat_api = "completion".',
            ) from missing
        self._decide("completion", connection)
        self._models.forget()

    def _refuse_the_impossible(self, request: ChatRequest) -> None:
        """Refuse what would change the chat's meaning if it were left out.

        Raises:
            RequestError: the chat has tools, or images for a way without them.
        """
        if request.tools and request.tool_choice != "none":
            raise RequestError(
                f"{self._provider} does not take tools: the language server runs its own.",
                provider=self._provider,
                hint="Send the chat without tools, or choose another provider.",
            )
        has_images = any(block.type == "image" for message in request.messages for block in message.content)
        if has_images and not self.capabilities.vision:
            raise RequestError(
                f"{self._provider} does not take images: it completes text.",
                provider=self._provider,
                hint="Remove the images from the conversation, or choose a model that sees.",
            )

    def _unsaid(self, request: ChatRequest) -> Iterator[WarningEvent]:
        """What neither way has a word for: it is left out, which is said."""
        completes = self._way == "completion"
        row = self._models.row(request.model)
        limit = row.max_output_tokens if row is not None else None
        left_out = [
            ("stop_sequences", bool(request.stop_sequences)),
            # The client did not ask for the default, nor for a model's limit below it.
            ("max_tokens", request.max_tokens < min(DEFAULT_MAX_TOKENS, limit or DEFAULT_MAX_TOKENS)),
            *((name, True) for name in request.settings),
        ]
        for name, is_wanted in left_out:
            if is_wanted:
                message = f"The Copilot language server takes no {name}; it was left out."
                yield WarningEvent("parameter_dropped", message)
        if request.output_mode != "text":
            message = "The Copilot language server has no JSON mode; it was left out."
            yield WarningEvent("json_mode_dropped", message)
        if completes and request.thinking not in (None, "off"):
            message = "The Copilot language server has no thinking levels where it completes text."
            yield WarningEvent("thinking_dropped", message)
        if completes and (row is None or row.supports_streaming):
            message = (
                f"The Copilot language server completes with a model of its own, not with {request.model}."
            )
            yield WarningEvent("parameter_dropped", message)
