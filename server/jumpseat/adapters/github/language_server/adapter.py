"""GitHub Copilot through GitHub's own language server, for users whose company allows nothing else.

A chat uses one of two APIs of the server: conversations or completions. The adapter chooses the API, and
declares the capabilities of that API.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from jumpseat.adapters.base import (
    Adapter,
    AuthStatus,
    Capabilities,
    ChatTraits,
    ClientInfo,
    read_options,
)
from jumpseat.adapters.base.capabilities import capabilities_of
from jumpseat.adapters.github.default_model import default_model
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.language_server import requests
from jumpseat.adapters.github.language_server.command import check_command, find_ignored_keys
from jumpseat.adapters.github.language_server.completion import Completions
from jumpseat.adapters.github.language_server.conversation import Conversations, NoConversations
from jumpseat.adapters.github.language_server.errors import UPDATE_COMMAND
from jumpseat.adapters.github.language_server.identity import AccountState, LanguageServerIdentity
from jumpseat.adapters.github.language_server.models import LanguageServerModels
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.adapters.github.language_server.own_sign_in import LanguageServerSignIn
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

ChatApi: TypeAlias = Literal["conversation", "completion"]

CAPABILITIES: Mapping[ChatApi, Capabilities] = {
    # Models can call only the tools that the server brings and runs itself. There is no JSON mode.
    "conversation": Capabilities(tool_calls=False, json_mode=False),
    "completion": Capabilities(
        streaming=False, tool_calls=False, json_mode=False, vision=False, thinking=False
    ),
}

SILENCE_SECONDS = 300.0
"""The longest silence of the server during a chat, if the table does not set `timeout`.

The default for providers over HTTP is the same.
"""

LOCAL_SECONDS = 10.0
"""The time limit of a request that the server answers without a request to GitHub."""


class LanguageServerAdapter(Adapter):
    """One `[providers.*]` table of the kind `copilot-language-server`: one program, one account."""

    traits = ChatTraits(infills=True)
    account: LanguageServerSignIn
    client_info: ClientInfo | None = None
    on_capabilities_change: Callable[[], None] | None = None

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table.
            http: unused, because the program makes its own requests.

        Raises:
            ConfigError: the table names a host or URL that must not receive a credential.
        """
        super().__init__(provider, config, http)
        self._config = config
        self._options = options = read_options(LanguageServerOptions, provider, config)
        hosts = github_hosts(options.host, provider=provider, github_url=options.github_url)
        self._server = LanguageServer(
            provider,
            config,
            Values(provider, config),
            client=lambda: self.client_info,
            on_notification=self._handle_notification,
            on_request=requests.answer,
        )
        silence = SILENCE_SECONDS if config.timeout is None else config.timeout
        self._identity = LanguageServerIdentity(hosts, self._server, on_change=self._handle_auth_change)
        self._models = LanguageServerModels(provider)
        self.account = LanguageServerSignIn(
            provider, self._server, self._identity, self._models, self._accept_terms
        )
        self._conversations = Conversations(provider, self._server, silence_seconds=silence)
        self._completions = Completions(provider, self._server, silence_seconds=silence)
        self._chat_api: ChatApi = "conversation"
        self._chat_api_of: ServerConnection | None = None
        """The run of the server that determined `_chat_api`; None if no run did.

        Another run may be a different version of the server.
        """

        self._set_api("completion" if options.chat_api == "completion" else "conversation", None)
        self._listed_for: AccountState | None = None
        """The account whose models were fetched last."""

    async def find_default_model(self) -> str | None:
        """Return the account's default model, fetching the list of models if the default is not known yet.

        Raises:
            ChatError: no account is signed in, or the list cannot be fetched.
        """
        if self._default_model is None:
            await self._fetch_models()
        return self._default_model

    @property
    def _default_model(self) -> str | None:
        return self._config.default_model or default_model(self._models.known)

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt, through the API that the table or the server determines.

        Raises:
            AuthenticationError: the server is signed out.
            ConfigError: the server is not installed, or does not have the configured API.
            RequestError: the chat has tools, or has images but uses completions.
            ChatError: the server cannot be started, or the server or its service failed.
            Replan: the server's short-lived token had expired; the server has replaced it.
        """
        connection = await self._server.connect()
        await self._identity.require_sign_in(connection)
        is_chat = request.infill is None
        # Conversations need no test: a server without them refuses the chat, which then uses completions. But
        # if an earlier run of the server had only completions, test whether this run has conversations.
        if is_chat and (
            self._chat_api == "conversation" or await self._find_api(connection) == "conversation"
        ):
            self._refuse_unsupported(request)
            for warning in self._warn_of_omissions(request):
                yield warning
            row = self._models.row(request.model)
            efforts = None if row is None else row.thinking_levels
            try:
                async with aclosing(self._conversations.stream(request, efforts)) as events:
                    async for event in events:
                        yield event
                return
            except NoConversations as missing:
                self._use_completions(connection, missing)
            except AuthenticationError as error:
                raise self._identity.explain(error) from error
            except RequestError as error:
                raise await self._models.explain(connection, request.model, error) from error
        if is_chat:
            self._refuse_unsupported(request)
            for warning in self._warn_of_omissions(request):
                yield warning
        try:
            async with aclosing(self._completions.stream(request)) as events:
                async for event in events:
                    yield event
        except AuthenticationError as error:
            raise self._identity.explain(error) from error

    async def list_models(self) -> list[ModelInfo]:
        """Fetch the account's models.

        Raises:
            ChatError: no account is signed in, or the list could not be fetched.
        """
        models = list(await self._fetch_models())
        default = self._config.default_model
        if default is not None:
            models = [replace(model, is_default=model.model == default) for model in models]
        return models

    def cached_models(self) -> Sequence[ModelInfo]:
        """Return the models of the list that was fetched last."""
        return self._models.known

    def max_context_tokens(self, model: str) -> int | None:
        """Return the model's context length, according to the list that was fetched last."""
        row = self._models.row(model)
        return row.max_context_tokens if row is not None else None

    async def probe(self) -> Mapping[str, bool] | None:
        """Return the capabilities of the API in use, combined with those of the listed models.

        Raises:
            ChatError: no account is signed in, or the list could not be fetched.
        """
        models = await self._fetch_models()
        supported = CAPABILITIES[self._chat_api]
        return {
            "streaming": supported.streaming,
            "vision": supported.vision,
            "thinking": supported.thinking,
            **capabilities_of(models),
        }

    def check(self) -> Sequence[str]:
        """Check that the program exists, and return a sentence for each key that this kind ignores.

        Raises:
            ConfigError: the program does not exist, or is not an executable file.
        """
        check_command(self._provider, self._config)
        return find_ignored_keys(self._provider, self._config)

    async def aclose(self) -> None:
        """Cancel requests about the account and deletions of conversations, then end the server."""
        await self._identity.aclose()
        await self._conversations.aclose()
        await self._server.aclose()

    def _handle_notification(self, method: str, params: Any) -> None:
        self._identity.handle_notification(method, params)
        self._conversations.handle_notification(method, params)

    def _handle_auth_change(self, status: AuthStatus) -> None:
        if self._identity.account != self._listed_for:
            self._models.forget()
        self.account.report(status)

    async def _accept_terms(self, model: str) -> ModelInfo:
        connection = await self._server.connect()
        await self._identity.require_sign_in(connection)
        uses_completions = await self._find_api(connection) == "completion"
        return await self._models.accept_terms(connection, model, completion=uses_completions)

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        connection = await self._server.connect()
        await self._identity.require_sign_in(connection)
        uses_completions = await self._find_api(connection) == "completion"
        models = await self._models.fetch(connection, completion=uses_completions)
        self._listed_for = self._identity.account
        return models

    async def _find_api(self, connection: ServerConnection) -> ChatApi:
        """Return the API to use.

        If neither the table nor this run of the server has determined it, a request tests for conversations.

        Raises:
            ChatError: the server does not answer.
        """
        if self._options.chat_api != "auto" or self._chat_api_of is connection:
            return self._chat_api
        try:
            # Every version with conversations has this method, and an unknown id changes nothing.
            await connection.request(
                "conversation/destroy", {"conversationId": "none"}, seconds=LOCAL_SECONDS
            )
        except RpcError as error:
            has_it = error.code != METHOD_NOT_FOUND
        else:
            has_it = True
        return self._set_api("conversation" if has_it else "completion", connection)

    def _set_api(self, chat_api: ChatApi, connection: ServerConnection | None) -> ChatApi:
        self._chat_api, self._chat_api_of = chat_api, connection
        before, self.capabilities = self.capabilities, CAPABILITIES[chat_api]
        if self.capabilities != before and self.on_capabilities_change is not None:
            self.on_capabilities_change()
        return chat_api

    def _use_completions(self, connection: ServerConnection, missing: NoConversations) -> None:
        """Use completions from now on, because the server has no conversations.

        Raises:
            ConfigError: the table requires conversations.
        """
        if self._options.chat_api == "conversation":
            raise ConfigError(
                f"providers.{self._provider}.chat_api: this language server does not support conversations.",
                provider=self._provider,
                hint=f'Run `{UPDATE_COMMAND}`, or set chat_api = "completion".',
            ) from missing
        self._set_api("completion", connection)
        self._models.forget()

    def _refuse_unsupported(self, request: ChatRequest) -> None:
        """Refuse unsupported parts whose omission would change the chat's meaning.

        Raises:
            RequestError: the chat has tools, or has images but uses completions.
        """
        if request.tools and request.tool_choice != "none":
            raise RequestError(
                f"{self._provider} does not accept tools, because the language server runs its own.",
                provider=self._provider,
                hint="Send the chat without tools, or choose another provider.",
            )
        has_images = any(block.type == "image" for message in request.messages for block in message.content)
        if has_images and not self.capabilities.vision:
            raise RequestError(
                f"{self._provider} does not accept images, because it only completes text.",
                provider=self._provider,
                hint="Remove the images from the conversation, or choose another provider.",
            )

    def _warn_of_omissions(self, request: ChatRequest) -> Iterator[WarningEvent]:
        """Yield a warning for each part of the request that is left out."""
        uses_completions = self._chat_api == "completion"
        row = self._models.row(request.model)
        limit = row.max_output_tokens if row is not None else None
        names = list(request.settings)
        # The engine sets the default limit, or the model's limit if that is lower. A limit below both was set
        # by the client.
        if request.max_tokens < min(DEFAULT_MAX_TOKENS, limit or DEFAULT_MAX_TOKENS):
            names.insert(0, "max_tokens")
        if request.stop_sequences:
            names.insert(0, "stop_sequences")
        for name in names:
            message = f"The Copilot language server does not support {name}, so it was left out."
            yield WarningEvent("parameter_dropped", message)
        if request.output_mode != "text":
            message = "The Copilot language server does not have a JSON mode, so it was left out."
            yield WarningEvent("json_mode_dropped", message)
        if uses_completions and request.thinking not in (None, "off"):
            message = "Completions of the Copilot language server do not have thinking levels."
            yield WarningEvent("thinking_dropped", message)
        # Of the listed models, only those of completions cannot stream.
        if uses_completions and (row is None or row.supports_streaming):
            message = (
                f"The completions of the Copilot language server use its own model, not {request.model}."
            )
            yield WarningEvent("parameter_dropped", message)
