"""How one provider is reached: what its table says of proxies, certificates and connecting.

Owns the choice of the proxy for a host. Above it is `client.py`; below it `proxies.py`, `tls.py` and the
configuration. A table is read on the first request: a value source may run a command.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jumpseat.config import ProviderConfig, Values
from jumpseat.http.proxies import PORTS, Proxy, parse_proxy, proxy_of_environment
from jumpseat.http.tls import TlsOptions

CONNECT_SECONDS = 10.0
"""A host that does not accept a connection in this time is down, or behind a firewall that drops."""

NO_PROXY = "none"
"""What a table says for no proxy, whatever the environment names; an empty text says the same."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL: all that decides how it is reached."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine: `localhost`, a name under it, or a loopback address."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def origin_of(url: str) -> Origin | None:
    """The origin of a URL; None for text that has none."""
    try:
        parts = urlsplit(url)
        return Origin(parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """What a table says of the network, its value sources read. Options that are equal share connections."""

    proxy: Proxy | None = None
    uses_environment: bool = True
    """Whether the environment chooses the proxy, because the table says nothing of one."""

    tls: TlsOptions = field(default_factory=TlsOptions)

    def proxy_for(self, origin: Origin) -> Proxy | None:
        """The proxy by which a host is reached; None for none.

        This machine is never reached by a proxy: what a proxy calls `localhost` is the proxy itself.

        Raises:
            ConfigError: the environment names a proxy that cannot be used.
        """
        if origin.is_loopback:
            return None
        if self.uses_environment:
            return proxy_of_environment(origin.scheme, origin.host, origin.port)
        return self.proxy


async def read_options(provider: str, table: ProviderConfig) -> NetworkOptions:
    """The options of a provider's table.

    Raises:
        ConfigError: a value source gives nothing, or `proxy` is not the address of a proxy.
    """
    values = Values(provider, table)
    proxy: Proxy | None = None
    if table.proxy:
        address = (await values.resolve("proxy", table.proxy)).reveal()
        if address.strip().lower() != NO_PROXY:
            proxy = parse_proxy(address, f"providers.{provider}.proxy", provider=provider)
    own = table.client_cert
    password = None
    if own is not None and own.password is not None:
        password = (await values.resolve("client_cert.password", own.password)).reveal()
    tls = TlsOptions(table.ca_file, own.cert if own else None, own.key if own else None, password)
    return NetworkOptions(proxy, uses_environment=table.proxy is None, tls=tls)
