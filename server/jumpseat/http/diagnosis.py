"""Checks whether hosts can be reached with a provider's network options. No credential is sent."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from jumpseat.chat import ChatError, Check, ConnectionError
from jumpseat.http.client import HttpClient
from jumpseat.http.exchange import HttpCall, fetch_status
from jumpseat.http.failures import host_of, parse_date
from jumpseat.http.network import origin_of
from jumpseat.http.proxies import Proxy
from jumpseat.system.threads import run_blocking

NAME_SECONDS = 3.0
ANSWER_SECONDS = 4.0
CLOCK_SECONDS = 120.0
"""If two clocks differ by more than this, a valid token or certificate may be rejected."""

_BLOCKED = "Check the network connection, and whether a firewall blocks the host or requires a proxy."
_NO_SERVER = "Start the server on this machine, and check the port in the URL of {provider}."


async def check_hosts(
    http: HttpClient, urls: Iterable[str], provider: str, *, now: Callable[[], float] = time.time
) -> list[Check]:
    """Check the proxy, name resolution, connection and TLS for each URL's host, and this machine's clock.

    Each host receives one `HEAD /` request without a credential. The check takes at most ten seconds.

    Args:
        http: the provider's client.
        urls: URLs of the hosts; their paths are ignored.
        provider: the configured provider's id, for messages.
        now: the wall clock.
    """
    hosts = list(dict.fromkeys(_root_of(url) for url in urls))
    checked = await asyncio.gather(*(_check_host(http, url, provider, now) for url in hosts))
    checks = [check for host_checks, _ in checked for check in host_checks]
    clocks = [clock for _, clock in checked if clock is not None]
    return [*checks, *clocks[:1]]


def _root_of(url: str) -> str:
    origin = origin_of(url)
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return f"{origin.scheme}://{host}:{origin.port}/"


async def _check_host(
    http: HttpClient, url: str, provider: str, now: Callable[[], float]
) -> tuple[list[Check], Check | None]:
    host, origin = host_of(url), origin_of(url)
    if not origin.host:
        return [Check("dns", False, f"{provider} has no valid URL.")], None
    try:
        async with asyncio.timeout(NAME_SECONDS):
            proxy = (await http.find_network(url)).proxy
    except ChatError as error:
        return [Check("proxy", False, error.message, error.hint)], None
    except TimeoutError:
        return [
            Check("proxy", False, f"Finding the proxy for {host} took longer than {NAME_SECONDS:g} s.")
        ], None
    checks = [_proxy_check(host, proxy)]
    name = origin.host if proxy is None else proxy.host
    if not _is_address(name):
        checks.append(await _check_name(name, provider, proxy))
        if not checks[-1].ok:
            return checks, None
    begin = time.monotonic()
    call = HttpCall("HEAD", url, {"user-agent": "jumpseat"}, timeout=ANSWER_SECONDS)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            status, headers, tls = await fetch_status(http, call, provider=provider)
    except TimeoutError:
        silent = f"{host} did not answer within {ANSWER_SECONDS:g} s."
        return [*checks, Check("connection", False, silent, _BLOCKED, _elapsed_ms(begin))], None
    except ChatError as error:
        what = "tls" if _is_tls_error(error) else "connection"
        unreached = _NO_SERVER.format(provider=provider) if origin.is_loopback and not proxy else _BLOCKED
        hint = error.hint or (unreached if isinstance(error, ConnectionError) else None)
        return [*checks, Check(what, False, error.message, hint, _elapsed_ms(begin))], None
    checks.append(Check("connection", True, f"{host} answers (HTTP {status}).", None, _elapsed_ms(begin)))
    if origin.scheme == "https":
        checks.append(Check("tls", True, _tls_message(host, tls)))
    return checks, _check_clock(host, headers, now())


def _proxy_check(host: str, proxy: Proxy | None) -> Check:
    way = "without a proxy" if proxy is None else f"through the proxy {proxy.address} of {proxy.named_by}"
    return Check("proxy", True, f"Requests to {host} are sent {way}.")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _check_name(name: str, provider: str, proxy: Proxy | None) -> Check:
    begin = time.monotonic()
    where = f"providers.{provider}.base_url" if proxy is None else proxy.named_by
    hint = f"Check the network connection, and the spelling of the host in {where}."
    try:
        found = await run_blocking(
            lambda: socket.getaddrinfo(name, None, type=socket.SOCK_STREAM), within=NAME_SECONDS
        )
    except TimeoutError:
        message = f"The name {name} was not resolved within {NAME_SECONDS:g} s."
        return Check("dns", False, message, hint, _elapsed_ms(begin))
    except (OSError, UnicodeError):
        return Check("dns", False, f"The name {name} cannot be resolved.", hint, _elapsed_ms(begin))
    addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
    more = f" and {len(addresses) - 2} more" if len(addresses) > 2 else ""
    message = f"{name} resolves to {', '.join(addresses[:2])}{more}."
    return Check("dns", True, message, None, _elapsed_ms(begin))


def _tls_message(host: str, tls: Any) -> str:
    """Describe the certificate. Its issuer reveals a proxy that inspects TLS."""
    if not isinstance(tls, ssl.SSLObject | ssl.SSLSocket):
        return f"The certificate of {host} is trusted."
    rows: Any = (tls.getpeercert() or {}).get("issuer", ())
    issuer = dict(pair for row in rows for pair in row)
    by = issuer.get("organizationName") or issuer.get("commonName") or "an unnamed authority"
    return f"The certificate of {host}, issued by {by}, is trusted ({tls.version()})."


def _is_tls_error(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _check_clock(host: str, headers: Mapping[str, str], now: float) -> Check | None:
    moment, age = parse_date(headers.get("date", "")), headers.get("age", "0")
    if moment is None or not age.isdecimal():
        return None
    # A cached answer is `age` seconds old (RFC 9111 section 5.1).
    theirs = moment.timestamp() + int(age)
    ahead = round(now - theirs)
    if abs(ahead) <= CLOCK_SECONDS:
        return Check("clock", True, f"This machine's clock agrees with the clock of {host}.")
    shown = datetime.fromtimestamp(theirs, UTC).strftime("%Y-%m-%d %H:%M UTC")
    way = "ahead of" if ahead > 0 else "behind"
    return Check(
        "clock",
        False,
        f"This machine's clock is {abs(ahead)} s {way} the clock of {host} ({shown}).",
        "Set the clock: tokens and certificates are valid only at certain times.",
    )


def _elapsed_ms(begin: float) -> int:
    return round((time.monotonic() - begin) * 1000)
