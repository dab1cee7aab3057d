"""Reads the network options of a provider's table, and chooses the proxy for a host.

A table is read with the first request, because a value source may run a command.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jumpseat.config import ProviderConfig, Values
from jumpseat.config.schema import ClientCertificate
from jumpseat.config.sources import source_prefix
from jumpseat.http.key_names import name_key
from jumpseat.http.proxies import PORTS, Proxy, ProxyVariables, parse_proxy
from jumpseat.http.tls import TlsOptions, make_context

CONNECT_SECONDS = 10.0
"""A host that takes longer to accept a connection is down, or behind a firewall that drops packets."""

NO_PROXY = "none"
"""The value of `proxy` that overrides a proxy in the environment; an empty text has the same effect."""


@dataclass(frozen=True, slots=True)
class UrlOrigin:
    """The scheme, host and port of a URL, which determine how it is reached."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine: `localhost`, a name under it, a loopback address, or `0.0.0.0`.

        Users copy `0.0.0.0` from a server's listen address.
        """
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return address.is_loopback or address.is_unspecified


def origin_of(url: str) -> UrlOrigin | None:
    """Return a URL's origin; None if the URL is invalid."""
    try:
        parts = urlsplit(url)
        return UrlOrigin(parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """The resolved network options of a table. Equal options share connections."""

    proxy: Proxy | None = None
    variables: ProxyVariables | None = field(default_factory=ProxyVariables)
    """The variables that choose the proxy if the table has no `proxy`; None if it has one."""

    tls: TlsOptions = field(default_factory=TlsOptions)

    def proxy_for(self, origin: UrlOrigin) -> Proxy | None:
        """Return the proxy for a host, if any.

        Raises:
            ConfigError: the environment names a proxy that cannot be used.
        """
        # A proxy would resolve `localhost` to its own machine.
        if origin.is_loopback:
            return None
        if self.variables is not None:
            return self.variables.proxy_for(origin.scheme, origin.host, origin.port)
        return self.proxy


async def read_options(provider: str, table: ProviderConfig) -> NetworkOptions:
    """Read the network options of a provider's table.

    Raises:
        ConfigError: a value source has no value, or `proxy` is not the address of a proxy.
    """
    values = Values(provider, table)
    proxy: Proxy | None = None
    if table.proxy:
        address = (await values.resolve("proxy", table.proxy)).reveal()
        if address.strip().lower() != NO_PROXY:
            proxy = parse_proxy(address, name_key(provider, "proxy"), provider=provider)
    own = table.client_cert
    password = None
    if own is not None and own.password is not None:
        password = (await values.resolve("client_cert.password", own.password)).reveal()
    variables = ProxyVariables.from_environment(table.origin.environment) if table.proxy is None else None
    return NetworkOptions(proxy, variables, _make_tls_options(table, own, password))


def _make_tls_options(
    table: ProviderConfig, identity: ClientCertificate | None, password: str | None = None
) -> TlsOptions:
    environment = table.origin.environment

    def expand(path: str | None) -> str | None:
        return None if path is None else str(environment.expand_path(path))

    def list_absolute(variable: str) -> str:
        # OpenSSL does not expand `~` in these variables.
        paths = environment.get(variable).split(os.pathsep)
        return os.pathsep.join(str(environment.directory / path) for path in paths if path)

    return TlsOptions(
        expand(table.ca_file),
        expand(identity.cert) if identity else None,
        expand(identity.key) if identity else None,
        password,
        system_file=list_absolute("SSL_CERT_FILE"),
        system_directories=list_absolute("SSL_CERT_DIR"),
    )


def check_proxy(provider: str, table: ProviderConfig) -> None:
    """Check a table's `proxy`, unless it names a value source or a variable.

    Raises:
        ConfigError: the value is not the address of a proxy.
    """
    value = table.proxy
    is_elsewhere = value is not None and (
        source_prefix(value) is not None or value in table.origin.environment.variables
    )
    if value and not is_elsewhere and value.strip().lower() != NO_PROXY:
        parse_proxy(value, name_key(provider, "proxy"), provider=provider)


def check_certificates(provider: str, table: ProviderConfig) -> None:
    """Check the certificate files of a table, except for an encrypted key. This blocks for about 100 ms.

    Raises:
        ConfigError: a file cannot be read or used; the message names the configuration key.
    """
    own = table.client_cert
    if own is not None and own.password is not None:
        own = None
    if own is not None or table.ca_file is not None:
        make_context(_make_tls_options(table, own), provider)
