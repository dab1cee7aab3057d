"""The local provider: llama.cpp with a GGUF file on this machine, without an account or a network.

The first chat starts a server, which all sessions use. The adapter sends requests for chat completions to
this server, over HTTP on loopback.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from jumpseat.adapters.base import Account, Adapter, AuthStatus, Capabilities, ChatTraits, read_options
from jumpseat.adapters.http.counts import ask_for_count
from jumpseat.adapters.local.model import identify, installed_file, locate, require_engine
from jumpseat.adapters.local.options import LocalOptions
from jumpseat.adapters.local.process import LocalServer
from jumpseat.adapters.local.shared_server import SharedServer, acquire_server
from jumpseat.chat import (
    ChatRequest,
    ConfigError,
    InfillUnsupportedError,
    ModelInfo,
    ProgressEvent,
    RequestError,
    StreamEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.dialects import Decoder
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder, EndpointFacts, encode
from jumpseat.dialects.parameters import merge_parameters
from jumpseat.http import HttpCall, HttpClient, Refine, stream_events
from jumpseat.system.secrets import register_secret
from jumpseat.system.shared import Reference
from jumpseat.system.threads import run_blocking


class LocalAccount(Account):
    """An account without a credential. Its state shows whether the model and llama.cpp are installed."""

    def __init__(self, provider: str, check_installed: Callable[[], object], file: Path) -> None:
        super().__init__(provider)
        self._check_installed = check_installed
        self._file = file
        self._known: AuthStatus | None = None
        """The status at the last change of the file, or else at the first call of `auth_status`."""

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        """Return `not_required` if the model and llama.cpp are installed, else `signed_out`.

        In the state `signed_out`, the message explains what to do.
        """
        status = await self._read_status()
        self._known = self._known or status
        return status

    async def _read_status(self) -> AuthStatus:
        try:
            await run_blocking(self._check_installed)
        except ConfigError as error:
            return AuthStatus(
                provider=self._provider, state="signed_out", message=f"{error.message} {error.hint}"
            )
        return AuthStatus(provider=self._provider, state="not_required")

    def watched_files(self) -> list[Path]:
        """Return the model's file, which other processes such as `jumpseat local install` may change."""
        return [self._file]

    async def handle_file_change(self) -> None:
        """Report a model that was installed or deleted."""
        before, self._known = self._known, await self._read_status()
        if before is not None and before.state != self._known.state:
            self.report(self._known)

    def _no_sign_in_error(self) -> ConfigError:
        return ConfigError(
            f"{self._provider} does not need a sign-in.",
            provider=self._provider,
            hint="Run `jumpseat doctor` to see what it needs instead.",
        )


class LocalAdapter(Adapter):
    """One GGUF file, served by one llama.cpp server."""

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table; `model_path` names a file to use instead of the installed one.
            http: the shared client.
        """
        self._provider = provider
        self._config = config
        self._http = http
        self._options = read_options(LocalOptions, provider, config)
        self._model = identify(self._options.model_path)
        self.traits = ChatTraits(
            default_model=self._model.name, default_max_tokens=self._model.max_tokens, infills=True
        )
        environment, path = config.origin.environment, self._options.model_path
        file = installed_file(environment.places) if path is None else environment.absolute_path(path)
        self.account = LocalAccount(provider, self._check_installed, file)
        self.capabilities = Capabilities(tool_calls=self._model.takes_tools, vision=False, thinking=False)
        self._facts = EndpointFacts(
            provider=provider,
            parameters=merge_parameters(self._model.parameters, config.parameters),
            dropped=("reasoning_effort",),
        )
        self._held: Reference[SharedServer] | None = None
        """The shared server, once a chat has needed it."""

    @property
    def provider_name(self) -> str:
        """The configured provider's id."""
        return self._provider

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Load the model if no earlier chat did, then send the request.

        Raises:
            RequestError: another model is requested, or the model cannot fill in.
            ConfigError: the model or llama.cpp is not installed, or cannot be loaded.
            ChatError: see `stream_events`.
        """
        self._check_name(request.model)
        if request.infill is not None and self._model.infills is False:
            raise InfillUnsupportedError.of(self._provider, request.model)
        shared = await self._acquire_server()
        if shared.usable is None:
            yield ProgressEvent(f"Loading {self._model.title}…")
        server = await shared.start(self._provider)
        refine: Refine | None = None
        decoder: Decoder = ChatCompletionsDecoder(self._provider, request.model)
        if request.infill is not None:
            # Imported here because few sessions send infill requests.
            from jumpseat.adapters.http.routes.infill import refine_infill
            from jumpseat.dialects.infill import InfillDecoder, encode_llama, read_llama_piece

            call = self._build_call(server, "/infill", encode_llama(request))
            decoder = InfillDecoder(self._provider, request.model, read_llama_piece)
            refine = refine_infill(self._provider, request.model)
        else:
            call = self._build_call(server, "/v1/chat/completions", encode(request, self._facts))
        # If the chat is cancelled, closing the connection stops the generation, after at most one more token
        # (measured).
        answer = stream_events(self._http, call, decoder, provider=self._provider, refine=refine)
        async with aclosing(answer) as events:
            async for event in events:
                yield event

    async def count_tokens(self, request: ChatRequest) -> int:
        """Return llama.cpp's own count, with the model's template applied; -1 if the model is not loaded.

        Counting never waits for a model to load.

        Raises:
            RequestError: another model is requested.
            ChatError: the server failed.
        """
        self._check_name(request.model)
        try:
            server = (await self._acquire_server()).usable
        except ConfigError:
            server = None
        if server is None:
            return -1
        call = self._build_call(server, "/v1/chat/completions/input_tokens", encode(request, self._facts))
        return await ask_for_count(self._http, call, provider=self._provider)

    async def list_models(self) -> list[ModelInfo]:
        """Return the only model, without loading it.

        Raises:
            ConfigError: the model or llama.cpp is not installed.
        """
        await run_blocking(self._check_installed)
        model = self._model
        return [
            ModelInfo(
                provider=self._provider,
                model=model.name,
                name=model.title,
                family=model.family,
                version=model.name,
                max_context_tokens=self.max_context_tokens(model.name),
                supports_tool_use=model.takes_tools,
                supports_json=True,
                supports_infill=model.infills,
                is_default=True,
            )
        ]

    def max_context_tokens(self, model: str) -> int | None:
        """Return the context length of one chat; llama.cpp's own value once the model is loaded."""
        if model != self._model.name:
            return None
        server = None if self._held is None else self._held.value.usable
        return self._model.context_tokens if server is None else server.context_tokens

    def check(self) -> Sequence[str]:
        """Check that the model's file and llama.cpp are installed.

        Raises:
            ConfigError: the file or llama.cpp is missing, or the file is not a model.
        """
        self._check_installed()
        return ()

    async def aclose(self) -> None:
        """Stop using the server, which may linger after its last user."""
        held, self._held = self._held, None
        if held is not None:
            await held.release()

    def _build_call(self, server: LocalServer, path: str, body: Mapping[str, Any]) -> HttpCall:
        return HttpCall(
            "POST",
            f"{server.address}{path}",
            # llama.cpp closes the connection after a streamed answer although its headers promise to keep it
            # open; the next chat that reused it from the pool would fail. A new loopback connection is cheap.
            headers={
                "authorization": f"Bearer {register_secret(server.api_key).reveal()}",
                "connection": "close",
            },
            body=body,
            timeout=self._config.timeout,
        )

    def _check_name(self, name: str) -> None:
        if name != self._model.name:
            raise RequestError(
                f"The provider {self._provider} has no model {name!r}. Its only model is {self._model.name}.",
                provider=self._provider,
                hint=f"Use {self._provider}:{self._model.name}, or set model_path to another file.",
            )

    def _check_installed(self) -> Path:
        """Check that the model and llama.cpp are installed, and return the model's file.

        This blocks; on a network drive, it may never return.
        """
        file = locate(self._provider, self._options.model_path, self._config.origin.environment)
        require_engine(self._provider)
        return file

    async def _acquire_server(self) -> SharedServer:
        """Return the server in use if its model is loaded; else the server for the model's current file.

        Raises:
            ConfigError: the model or llama.cpp is not installed.
        """
        if self._held is not None and self._held.value.usable is not None:
            return self._held.value
        path = await run_blocking(self._check_installed)
        held = self._held  # Read it after the `await`: another chat may have changed it.
        new = self._held = acquire_server(self._config.origin.environment, path, self._model.name)
        if held is not None:
            await held.release()
        return new.value
