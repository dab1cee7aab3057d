"""The Copilot language server of one provider: its start, handshake, and restarts within a budget.

Sources of the handshake: the README of github/copilot-language-server-release, and LSP 3.17.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import jumpseat
from jumpseat.adapters.base import ClientInfo, read_options
from jumpseat.adapters.base.starts import StartBudget
from jumpseat.adapters.github.hosts import DOTCOM, github_hosts
from jumpseat.adapters.github.language_server.command import build_environment, directory_of, find_command
from jumpseat.adapters.github.language_server.connection import (
    ServerConnection,
    last_words,
    log_to,
    take_progress,
)
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.adapters.github.language_server.words import clean_text, mask_secrets
from jumpseat.chat import ConnectionError, ProtocolError
from jumpseat.config import ProviderConfig, Values
from jumpseat.http.network import read_options as read_network_options
from jumpseat.http.proxies import Proxy
from jumpseat.system.single_flight import SingleFlight, WorkCancelled
from jumpseat.system.threads import run_blocking
from jumpseat.wire import RpcError
from jumpseat.wire.child import FramedChild, start_child

__all__ = ["LanguageServer", "ServerConnection"]

logger = logging.getLogger(__name__)

INITIALIZE_SECONDS = 60.0
"""The time limit for the handshake.

A cold start takes a second, but the program has 150 MB and takes longer on a busy machine.
"""


class LanguageServer:
    """A provider's server. It belongs to the event loop on which it is used."""

    def __init__(
        self,
        provider: str,
        config: ProviderConfig,
        values: Values,
        *,
        client: Callable[[], ClientInfo | None],
        on_notification: Callable[[str, Any], None],
        on_request: Callable[[str, Any], Awaitable[Any]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            config: the provider's table.
            values: the provider's value sources.
            client: returns the attached client; called when the server is started.
            on_notification: called with method and params, in the order of arrival, even before the server is
                ready; not for `$/progress`.
            on_request: called with method and params, for each request in a separate task; returns the result
                or raises `RpcError`.
            clock: returns seconds, for the budget of starts.
        """
        self._provider = provider
        self._config = config
        self._options = read_options(LanguageServerOptions, provider, config)
        self.environment = config.origin.environment
        """The client's environment."""

        self._values = values
        self._client = client
        self._on_notification = on_notification
        self._on_request = on_request
        self._connection: ServerConnection | None = None
        """The connection to the last run of the server, which may have ended."""

        self._flight: SingleFlight[ServerConnection] = SingleFlight()
        self._starts = StartBudget(clock)
        self._failure: str | None = None
        """The reason why the last start failed; None if it succeeded."""

        self._command_line = ""
        self._closed = False

    @property
    def running_connection(self) -> ServerConnection | None:
        """The connection to the server; None if the server does not run."""
        connection = self._connection
        return connection if connection is not None and connection.running else None

    async def connect(self) -> ServerConnection:
        """Return the connection to the running server, or start one; concurrent callers share one start.

        Raises:
            ConfigError: the program does not exist, or a value of the table cannot be resolved.
            ConnectionError: the server cannot be started, does not become ready, or was started too often.
        """
        self._check_open()
        running = self.running_connection
        if running is not None:
            return running
        try:
            return await self._flight.run(self._start)
        except WorkCancelled:
            self._check_open()
            raise

    async def aclose(self) -> None:
        """End the server, or its start, within half a second. It will not start again."""
        self._closed = True
        await self._flight.aclose()
        if self._connection is not None:
            await self._connection.aclose()

    # -- the start

    async def _start(self) -> ServerConnection:
        argv = await run_blocking(find_command, self._provider, self._config)
        self._command_line = mask_secrets(shlex.join(argv))
        env = await build_environment(self._provider, self._config, self._values)
        settings = await self._build_settings()
        self._count_start()
        if self._connection is not None:
            # Wait for the end of the old process: two processes would write the same stored sign-in.
            await self._connection.aclose()
        progress: dict[str | int, asyncio.Queue[Mapping[str, Any]]] = {}

        def on_notification(method: str, params: Any) -> None:
            if method == "$/progress":
                take_progress(progress, params)
            else:
                self._on_notification(method, params)

        try:
            child = await start_child(
                argv,
                env=env,
                directory=directory_of(self._config),
                umask=self._config.origin.environment.umask,
                on_notification=on_notification,
                on_request=self._on_request,
                on_log=log_to(logger, self._provider),
            )
        except OSError as error:
            raise self._start_error(f"cannot be started: {error.strerror or error}", "") from None
        connection = ServerConnection(self._provider, child, progress)
        try:
            await self._initialize(connection, child, settings)
        except BaseException:
            await child.stop(0)
            raise
        self._connection, self._failure = connection, None
        logger.info("%s runs %s, version %s", self._provider, argv[0], connection.server_version)
        return connection

    async def _initialize(
        self, connection: ServerConnection, child: FramedChild, settings: Mapping[str, Any]
    ) -> None:
        params = {
            # The server ends when this process ends, even if another process keeps the server's streams open.
            "processId": os.getpid(),
            "clientInfo": {"name": "jumpseat", "version": jumpseat.__version__},
            "rootUri": None,
            "workspaceFolders": [],
            # Without this capability, the server opens a browser itself.
            "capabilities": {"window": {"showDocument": {"support": True}}},
            "initializationOptions": {
                "editorInfo": editor_info(self._options, self._client()),
                "editorPluginInfo": {"name": "jumpseat", "version": jumpseat.__version__},
            },
        }
        try:
            answer = await connection.request("initialize", params, seconds=INITIALIZE_SECONDS)
            connection.notify("initialized", {})
            connection.notify("workspace/didChangeConfiguration", {"settings": settings})
        except RpcError as error:
            why = clean_text(error.message).removesuffix(".")
            raise self._start_error(f"refuses to start: {why}", last_words(child)) from None
        except ConnectionError:
            raise self._start_error(
                f"was not ready within {INITIALIZE_SECONDS:g} s and was ended", last_words(child)
            ) from None
        except ProtocolError:
            # The server's stderr is complete only after the server has ended.
            await child.stop(0)
            raise self._start_error(f"was not ready when {child.why}", last_words(child)) from None
        connection.server_version = _version_in(answer)
        # Discard the output of the start. It complains about a missing keyring every time, and would be shown
        # as the cause if the server ends later.
        child.forget_last_words()

    async def _build_settings(self) -> dict[str, Any]:
        """Return the server's settings (`workspace/didChangeConfiguration`): network, host, no telemetry."""
        network = await read_network_options(self._provider, self._config)
        settings: dict[str, Any] = {"telemetry": {"telemetryLevel": "off"}}
        if network.variables is None:
            # An empty address means no proxy. Without `http`, the server uses the proxy of its environment.
            proxy = "" if network.proxy is None else _address_of(network.proxy)
            settings["http"] = {"proxy": proxy, "proxyStrictSSL": True}
        hosts = github_hosts(self._options.host, provider=self._provider, github_url=self._options.github_url)
        if hosts.github != f"https://{DOTCOM}":
            settings["github-enterprise"] = {"uri": hosts.github}
        return settings

    def _count_start(self) -> None:
        end = self._failure or (self._connection.end if self._connection is not None else None)
        self._starts.take(self._provider, f"The Copilot language server of {self._provider}", end)

    def _start_error(self, what: str, words: str) -> ConnectionError:
        self._failure = f"it {what}. {words.strip()}".strip()
        return ConnectionError(
            f"The Copilot language server of {self._provider} {what}.",
            provider=self._provider,
            hint=f"Run `{self._command_line}` in a terminal. It should start and wait for input. "
            f"{words.strip()}".strip(),
            retryable=False,
        )

    def _check_open(self) -> None:
        if self._closed:
            raise ConnectionError(
                f"The Copilot language server of {self._provider} was stopped, which cancelled its requests.",
                provider=self._provider,
                hint="The provider's table has changed, or the daemon is stopping. Send the request again.",
                retryable=False,
            )


def editor_info(options: LanguageServerOptions, client: ClientInfo | None) -> dict[str, str]:
    """Return `editorInfo` for the handshake: the configured editor, or else the client, or else jumpseat."""
    if options.editor_version is not None:
        name, _, version = options.editor_version.partition("/")
        return {"name": name, "version": version}
    if client is None or not client.name.strip():
        return {"name": "jumpseat", "version": jumpseat.__version__}
    return {"name": client.name.strip(), "version": client.version or "0"}


def _address_of(proxy: Proxy) -> str:
    """Return a proxy's address as a URL, with its user and password."""
    credentials = ""
    if proxy.auth is not None:
        credentials = f"{quote(proxy.user, safe='')}:{quote(proxy.password, safe='')}@"
    return f"{proxy.scheme}://{credentials}{proxy.address}"


def _version_in(answer: Any) -> str | None:
    info = answer.get("serverInfo") if isinstance(answer, Mapping) else None
    version = info.get("version") if isinstance(info, Mapping) else None
    return version if isinstance(version, str) else None
