"""The llama.cpp process of one model file, which all sessions of a daemon share."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from pathlib import Path

from jumpseat.adapters.base.starts import StartBudget
from jumpseat.adapters.local.process import PASSED_ON_VARIABLES, LocalServer
from jumpseat.chat import ChatError, ConfigError, ServerError
from jumpseat.system.environment import Environment
from jumpseat.system.shared import Reference
from jumpseat.system.single_flight import SingleFlight, WorkCancelled
from jumpseat.system.watch import stamp_of

LINGER_SECONDS = 300.0
"""The time that the model stays loaded after the last session that uses it has ended.

The next `jumpseat chat` usually follows within minutes, and loading the model again may take minutes too. But
a loaded model needs about as much memory as the size of its file.
"""


class SharedServer:
    """Loads the model for the first chat, and again after the process has died."""

    def __init__(self, path: Path, name: str, variables: Mapping[str, str]) -> None:
        """
        Args:
            path: the GGUF file.
            name: the model's name in requests.
            variables: the complete environment of the process.
        """
        self._path = path
        self._name = name
        self._variables = variables
        self._server: LocalServer | None = None
        self._starts = StartBudget()
        self._flight: SingleFlight[LocalServer] = SingleFlight()

    @property
    def usable(self) -> LocalServer | None:
        """The process, if it runs and the model is loaded."""
        return self._server if self._server is not None and self._server.alive else None

    async def start(self, provider: str) -> LocalServer:
        """Return the process with the model loaded; one load serves all chats that wait for it.

        A cancelled chat stops waiting. The load continues, and serves the next chat.

        Args:
            provider: the configured provider's id, for error messages.

        Raises:
            ConfigError: llama.cpp cannot load the file.
            ChatError: the process died, has died too often, or was closed.
        """
        server = self.usable
        if server is not None:
            return server
        try:
            return await self._flight.run(self._load)
        except WorkCancelled:
            raise ServerError(
                f"The provider {provider} was closed while the model was loading.",
                provider=provider,
                hint="The provider's table has changed, or the daemon is stopping. Send the request again.",
                retryable=False,
            ) from None
        except ChatError as error:
            # Raise a separate error for each waiting chat: the engine adds the chat's partial answer to it.
            own = copy(error)
            own.provider = provider
            raise own from error

    async def close(self) -> None:
        """Cancel a load in progress, and stop the process."""
        await self._flight.aclose()
        if self._server is not None:
            await self._server.close()

    async def _load(self) -> LocalServer:
        last = self._server
        end = f"{last.end}." if last is not None and last.end is not None else None
        self._starts.take(None, f"The process of the local model {self._name}", end)
        server = self._server = LocalServer(self._path, self._name, self._variables)
        try:
            await server.start()
        except ConfigError:
            # A file that llama.cpp cannot load does not count: the limit is for crashes.
            self._starts.give_back()
            raise
        return server


def acquire_server(environment: Environment, path: Path, name: str) -> Reference[SharedServer]:
    """Return the shared process of a model file, which may not be running yet.

    Args:
        environment: the client's environment variables.
        path: the GGUF file, absolute.
        name: the model's name in requests.
    """
    variables = {
        key: value for key, value in environment.variables.items() if key.upper() in PASSED_ON_VARIABLES
    }
    path = path.resolve()
    # Include the file's stamp: another file at the same path is another model.
    key = ("local model", path, stamp_of(path), name, frozenset(variables.items()))
    # With `most=1`, a model that no session uses does not stay loaded next to another model.
    return environment.shared.acquire(
        key, lambda: SharedServer(path, name, variables), SharedServer.close, linger=LINGER_SECONDS, most=1
    )
