"""The conversation's connection to the daemon. A daemon that has died is replaced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from jumpseat_cli.daemon.session import daemon
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError, DaemonDied
from jumpseat_client.tools import OnApproval

T = TypeVar("T")


class Link:
    """A client that starts another daemon if its daemon has died."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        config: Mapping[str, Any] | None = None,
        on_approval: OnApproval | None = None,
    ) -> None:
        """
        Args:
            command: the daemon's command line.
            config: the overlay for the daemon.
            on_approval: decides about calls of tools.
        """
        self.command = command
        self._client = daemon(command, config=config, on_approval=on_approval)
        self._is_open = False

    async def __aenter__(self) -> Self:
        """
        Raises:
            ClientError: the daemon cannot be used.
        """
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> Client:
        """Return the connected client, and start a daemon if there is none.

        Raises:
            ClientError: the daemon cannot be used.
        """
        if not self._is_open:
            await self._client.__aenter__()
            self._is_open = True
        return self._client

    async def close(self) -> None:
        """Close the connection; `connect` opens another one."""
        if self._is_open:
            self._is_open = False
            await self._client.__aexit__(None, None, None)

    async def request(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do idempotent work, and repeat it once if the daemon turns out to be dead.

        Raises:
            ClientError: the work failed.
        """
        try:
            return await work(await self.connect())
        except DaemonDied:
            await self.close()
            return await work(await self.connect())

    async def try_request(self, work: Callable[[Client], Awaitable[T]]) -> T | None:
        """Like `request`, but return None on failure, for data that the conversation can do without."""
        try:
            return await self.request(work)
        except ClientError:
            return None
