"""How one provider is reached: what its table says of proxies, certificates and connecting.

Owns the choice of the proxy for a host. Above it is `client.py`; below it `proxies.py`, `tls.py` and the
configuration. A table is read on the first request: a value source may run a command.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jumpseat.config import ProviderConfig, Values
from jumpseat.config.sources import source_prefix
from jumpseat.http.proxies import PORTS, Proxy, parse_proxy, proxy_of_environment
from jumpseat.http.tls import TlsOptions, make_context

CONNECT_SECONDS = 10.0
"""A host that does not accept a connection in this time is down, or behind a firewall that drops."""

NO_PROXY = "none"
"""What a table says for no proxy, whatever the environment names; an empty text says the same."""


@dataclass(frozen=True, slots=True)
class UrlOrigin:
    """Scheme, host and port of a URL: all that decides how it is reached."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine: `localhost`, a name under it, a loopback address, or `0.0.0.0`.

        That is where servers listen that take everybody, and so what people write for where they are asked.
        """
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return address.is_loopback or address.is_unspecified


def origin_of(url: str) -> UrlOrigin | None:
    """The origin of a URL; None for text that has none."""
    try:
        parts = urlsplit(url)
        return UrlOrigin(parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """What a table says of the network, its value sources read. Options that are equal share connections."""

    proxy: Proxy | None = None
    uses_environment: bool = True
    """Whether the environment chooses the proxy, because the table says nothing of one."""

    tls: TlsOptions = field(default_factory=TlsOptions)

    def proxy_for(self, origin: UrlOrigin) -> Proxy | None:
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


def check_proxy(provider: str, table: ProviderConfig) -> None:
    """Read the address of a table's proxy, where it is written down there.

    Raises:
        ConfigError: it is none.
    """
    value = table.proxy
    is_elsewhere = value is not None and (source_prefix(value) is not None or value in set(os.environ))
    if value and not is_elsewhere and value.strip().lower() != NO_PROXY:
        parse_proxy(value, f"providers.{provider}.proxy", provider=provider)


def check_certificates(provider: str, table: ProviderConfig) -> None:
    """Read the files of certificates that a table names, but no encrypted key. Blocks, some 100 ms.

    Raises:
        ConfigError: one cannot be read, or is not what it should be; the message names its key.
    """
    own = table.client_cert
    if own is not None and own.password is not None:
        own = None
    tls = TlsOptions(table.ca_file, own.cert if own else None, own.key if own else None)
    if tls != TlsOptions():
        make_context(tls, provider)
