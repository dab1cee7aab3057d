"""An HTTP client, which finds the connections for a URL."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from jumpseat.config import ProviderConfig
from jumpseat.http.network import CONNECT_SECONDS, Network, NetworkOptions, UrlOrigin, origin_of, read_options
from jumpseat.http.pools import Connections, Destination
from jumpseat.system.shared import Shared
from jumpseat.system.threads import run_blocking


class HttpClient:
    """A client with the network options of one table, for an adapter, an MCP server or web pages."""

    def __init__(
        self,
        provider: str = "",
        table: ProviderConfig | None = None,
        *,
        shared: Shared | None = None,
        public_only: bool = False,
    ) -> None:
        """
        Args:
            provider: the configured provider's id, for errors.
            table: the provider's configuration table, with its network options; None for an empty table.
            shared: the registry through which sessions share connections; None to share nothing.
            public_only: whether hosts that are reached without a proxy must have a public address.
        """
        self._provider = provider
        self.public_only = public_only
        self._table = table or ProviderConfig()
        self.connect_seconds = self._table.connect_timeout or CONNECT_SECONDS
        """The time limit within which a host or a proxy must accept a connection."""

        self._options: NetworkOptions | None = None
        self._destinations: dict[UrlOrigin, Destination] = {}
        self._connections = Connections(shared or Shared())

    def for_provider(self, provider: str, table: ProviderConfig) -> HttpClient:
        """Create a client with the network options of a table. Closing this client closes the new one too."""
        client = HttpClient(provider, table)
        client._connections = self._connections
        return client

    def make_detached(self) -> HttpClient:
        """Create a client that has the same options and outlives this client's session."""
        shared = self._connections.shared
        return HttpClient(self._provider, self._table, shared=shared, public_only=self.public_only)

    async def find_network(self, url: str) -> Network:
        """Return the network for a URL, without opening its connections.

        Raises:
            ConfigError: a value of the table cannot be read, or the environment names an unusable proxy.
        """
        origin = origin_of(url)
        if origin in self._destinations:
            return self._destinations[origin].network
        if self._options is None:
            self._options = await read_options(self._provider, self._table, public_only=self.public_only)
        return await run_blocking(self._options.find_network, origin)

    async def find_destination(self, url: str) -> Destination:
        """Return the connections for a URL; the pool is built on first use.

        Raises:
            ConfigError: the table or the environment names a proxy or a file that cannot be used.
        """
        origin = origin_of(url)
        destination = self._destinations.get(origin)
        if destination is None or destination.pool.is_released:
            destination = self._connections.find_destination(await self.find_network(url))
            if destination.pool.value.connections is None:
                await run_blocking(destination.pool.value.open, self._provider)
            # Store the destination only now: if `open` fails, the next request must read the files again.
            self._destinations[origin] = destination
        return destination

    def run_in_background(self, work: Coroutine[None, None, None]) -> None:
        """Run a short task in the background; `aclose` cancels it."""
        task = asyncio.get_running_loop().create_task(work)
        self._connections.background_tasks.add(task)
        task.add_done_callback(self._connections.background_tasks.discard)

    async def aclose(self) -> None:
        """Release the connections of this client and of those that `for_provider` created.

        Connections that no other session uses are closed, now or later. A later request opens new ones.
        """
        await self._connections.aclose()
