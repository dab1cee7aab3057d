"""Parses the addresses of proxies, and finds the proxy that the environment names for a host.

A proxy's user and password are secrets: they are redacted in logs, and never appear in messages or a `repr`.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import sys
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from jumpseat.chat import ConfigError
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import register_secret

PORTS = {"http": 80, "https": 443}
"""The default port of each supported scheme."""

FORM = 'Write it as "http://host:port", or "http://user:password@host:port" with special characters as %XX.'

_HOST = re.compile(r"[^\s/\\@?#%\x00-\x20\x7f]+")
_SYSTEM_SETTINGS = {
    "darwin": ("getproxies_macosx_sysconf", "proxy_bypass_macosx_sysconf"),
    "win32": ("getproxies_registry", "proxy_bypass_registry"),
}
"""The functions of `urllib.request` that read a platform's proxies, and check whether a host is exempt."""

_WITH_PORT = re.compile(r"(.+):(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Proxy:
    """The address of a proxy. `named_by` is ignored in comparisons."""

    scheme: str
    """The protocol between us and the proxy: `http` or `https`."""

    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    named_by: str = field(default="", compare=False)
    """The configuration key, the variable or the system setting that names the proxy, for hints:
    `providers.acme.proxy`, `HTTPS_PROXY`."""

    @property
    def address(self) -> str:
        """The host and port, for messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def auth(self) -> tuple[str, str] | None:
        """The user and password, if any."""
        return (self.user, self.password) if self.user or self.password else None


def parse_proxy(text: str, named_by: str, *, provider: str | None = None) -> Proxy:
    """Parse the address of a proxy: `http://user:password@host:port`, or without the scheme.

    Args:
        text: the address.
        named_by: see `Proxy`.
        provider: the configured provider's id, for the error.

    Raises:
        ConfigError: the address is invalid. The message does not quote it, because it may contain a password.
    """
    text = text.strip()
    if "://" not in text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise _proxy_error(named_by, "is not the address of a proxy", provider) from None
    if parts.scheme.startswith("socks"):
        raise _proxy_error(named_by, "names a SOCKS proxy; only HTTP proxies are supported", provider)
    if parts.scheme not in PORTS:
        raise _proxy_error(named_by, "is neither an http:// nor an https:// address", provider)
    # A path may mean that the password has an unencoded slash. The parsed host, which messages would show, is
    # then the user or a part of the password.
    if parts.path not in ("", "/") or parts.query or parts.fragment or not _HOST.fullmatch(host) or port == 0:
        raise _proxy_error(named_by, "is not the address of a proxy", provider)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if password:
        pair = f"{user}:{password}"
        for secret in (password, parts.password or "", pair, base64.b64encode(pair.encode()).decode()):
            register_secret(secret)
    return Proxy(parts.scheme, host, port or PORTS[parts.scheme], user, password, named_by)


def _proxy_error(named_by: str, why: str, provider: str | None) -> ConfigError:
    return ConfigError(f"{named_by} {why}.", provider=provider, hint=FORM)


@dataclass(frozen=True, slots=True)
class ProxyVariables:
    """The environment variables that choose a proxy. Equal instances choose equal proxies.

    Each field is a variable's name and value; None if it is set neither in lower nor in upper case.
    """

    http: tuple[str, str] | None = field(default=None, repr=False)
    https: tuple[str, str] | None = field(default=None, repr=False)
    all: tuple[str, str] | None = field(default=None, repr=False)
    no: tuple[str, str] | None = None

    @classmethod
    def from_environment(cls, environment: Environment) -> ProxyVariables:
        """Read `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`; lower-case names take precedence."""
        return cls(*(_read_variable(environment, key) for key in ("http", "https", "all", "no")))

    def proxy_for(self, scheme: str, host: str, port: int) -> Proxy | None:
        """Return the proxy for a host, if any: `HTTPS_PROXY` or `HTTP_PROXY` (by scheme), else `ALL_PROXY`.

        Hosts in `NO_PROXY` have no proxy. If no variable is set, the settings of macOS or Windows decide.

        Raises:
            ConfigError: the named proxy cannot be used.
        """
        if self == ProxyVariables():
            return _read_system_proxy(scheme, host)
        named = (self.https if scheme == "https" else self.http) or self.all
        if named is None or (self.no is not None and is_exempt(host, port, self.no[1])):
            return None
        return parse_proxy(named[1], named[0])


def _read_variable(environment: Environment, key: str) -> tuple[str, str] | None:
    name = f"{key}_proxy"
    # On Windows, variable names are not case-sensitive.
    name = name if name in environment.variables or sys.platform == "win32" else name.upper()
    value = environment.get(name)
    return (name, value) if value else None


def _read_system_proxy(scheme: str, host: str) -> Proxy | None:
    if sys.platform not in _SYSTEM_SETTINGS:
        return None
    import urllib.request  # This is deferred because it imports http.client and email.

    # `getproxies` and `proxy_bypass` are not used, because they read the variables of this process first.
    read, bypasses = (getattr(urllib.request, name) for name in _SYSTEM_SETTINGS[sys.platform])
    proxies = read()
    address = proxies.get(scheme) or proxies.get("all")
    return None if not address or bypasses(host) else parse_proxy(address, "the system's proxy setting")


def is_exempt(host: str, port: int, listed: str) -> bool:
    """Whether `NO_PROXY` exempts a host.

    Args:
        host: a name, or an address without brackets.
        port: the port of the request.
        listed: entries separated by commas or white space. An entry is `*`, a name (which also matches its
            subdomains, and may start with a dot or `*.`), an address, or a network such as `10.0.0.0/8`.
            Names and addresses may end in `:port`. A scheme is ignored. `host` is not resolved, so a name
            never matches a network.
    """
    host = host.lower().rstrip(".")
    return any(_matches(entry, host, port) for entry in re.split(r"[,\s]+", listed.lower()) if entry)


def _matches(entry: str, host: str, port: int) -> bool:
    entry = entry.rpartition("://")[2].removesuffix("/")
    if entry == "*":
        return True
    network = _parse_network(entry)
    if network is None and (match := _WITH_PORT.fullmatch(entry)):
        entry = match[1]
        if int(match[2]) != port:
            return False
        network = _parse_network(entry)
    if network is not None:
        try:
            return ipaddress.ip_address(host) in network
        except ValueError:
            return False
    name = entry.removeprefix("*").removeprefix(".").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _parse_network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text.removeprefix("[").removesuffix("]"), strict=False)
    except ValueError:
        return None
