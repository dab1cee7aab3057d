"""Fetches a page from any host, without cookies or credentials; limits the size and the redirects."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from jumpseat import __version__
from jumpseat.chat import ChatError, ProtocolError, RateLimitError, RequestError, ServerError
from jumpseat.config.table_names import PAGES
from jumpseat.http.addresses import is_public, not_public_error, resolve
from jumpseat.http.body import Body
from jumpseat.http.client import HttpClient
from jumpseat.http.exchange import HttpCall, open_response
from jumpseat.http.failures import host_of, retry_after
from jumpseat.http.proxies import PORTS

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5

MAX_URL = 8192
"""The maximum number of characters in an address; servers do not accept longer ones."""

NAME_SECONDS = 2.0
"""How long to try to resolve a host before a proxy does. In some networks, only the proxy can resolve it."""

_HEADERS = {
    "accept": "text/html, application/xhtml+xml, text/*;q=0.9, */*;q=0.5",
    "user-agent": f"jumpseat/{__version__}",
}
_HOST = re.compile(rb"[A-Za-z0-9._~:-]+")
"""The characters of a host name in its ASCII form, and of an IP address without a zone."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as it was received."""

    url: str
    """The address after all redirects, without a fragment."""

    content_type: str
    body: bytes
    is_cut: bool
    """Whether the page is longer than `body`."""


async def fetch_page(
    client: HttpClient, url: str, *, max_bytes: Callable[[str], int], seconds: float
) -> WebPage:
    """Fetch a page, or its beginning, with GET.

    Args:
        client: a client whose provider is `PAGES`.
        url: the address that the user named.
        max_bytes: returns how much to read of a page, given its content type.
        seconds: how long the host may be silent. The caller limits the time for the whole page.

    Raises:
        RequestError: the address, or an address that it redirects to, is invalid or not allowed, or the
            host does not have the page.
        ChatError: the page could not be received.
    """
    try:
        for _ in range(1 + MAX_REDIRECTS):
            parsed = parse_url(url)
            url = str(parsed)
            await _check_proxied_host(client, parsed)
            async with open_response(client, HttpCall("GET", url, _HEADERS, timeout=seconds), PAGES) as body:
                location = body.headers.get("location", "")
                if body.status in _REDIRECTS and location:
                    url = _join(parsed, location)
                    continue
                if body.status >= 300:
                    raise _make_status_error(body, url)
                content_type = body.headers.get("content-type", "")
                content, is_cut = await _read(body, max_bytes(content_type), url)
                return WebPage(url, content_type, content, is_cut)
        raise RequestError(f"{host_of(url)} redirects more than {MAX_REDIRECTS} times.")
    except ChatError as error:
        error.provider = None  # `PAGES` is not the id of a provider.
        raise


def parse_url(url: str) -> httpx2.URL:
    """Parse an address, and leave out its fragment.

    Raises:
        RequestError: the text is not an http or https address, or contains a user or a password.
    """
    import httpx2

    try:
        parsed = httpx2.URL(url.strip()) if len(url) <= MAX_URL else None
    except (httpx2.InvalidURL, ValueError):
        parsed = None
    if parsed is None:
        raise RequestError("This is not a valid address of a page.")
    if parsed.scheme not in PORTS:
        hint = "Only http:// and https:// addresses can be read."
        raise RequestError("This is not the address of a web page.", hint=hint)
    if not _HOST.fullmatch(parsed.raw_host) or not (parsed.port is None or 0 < parsed.port < 65536):
        raise RequestError("This address has no valid host and port.")
    if "@" in parsed.netloc.decode("ascii") or parsed.userinfo:
        hint = "Leave them out: pages are read without credentials."
        raise RequestError("The address contains a user or a password.", hint=hint)
    return parsed.copy_with(fragment=None)


def _join(base: httpx2.URL, location: str) -> str:
    import httpx2

    try:
        return str(base.join(location))
    except (httpx2.InvalidURL, ValueError):
        raise RequestError(f"{host_of(str(base))} redirects to an invalid address.") from None


async def _check_proxied_host(client: HttpClient, url: httpx2.URL) -> None:
    """Check that a host to which a proxy will connect is public, if this machine can resolve its name.

    The proxy resolves the name again, so this check only keeps the user from reading a private host by
    mistake or through a redirect. Without a proxy, `PublicBackend` checks the addresses when it connects.
    """
    if not client.public_only or (await client.find_network(str(url))).proxy is None:
        return
    port = url.port or PORTS[url.scheme]
    with contextlib.suppress(OSError, UnicodeError):  # A TimeoutError is an OSError.
        if not all(map(is_public, await resolve(url.host, port, NAME_SECONDS))):
            raise not_public_error(url.host)


async def _read(body: Body, max_bytes: int, url: str) -> tuple[bytes, bool]:
    content = bytearray()
    async with contextlib.aclosing(body.read_pieces()) as pieces:
        async for piece in pieces:
            content += piece
            if len(content) > max_bytes:
                return bytes(content[:max_bytes]), True
    if not body.is_complete:
        raise ProtocolError(f"{host_of(url)} ended the page early.")
    return bytes(content), False


def _make_status_error(body: Body, url: str) -> ChatError:
    try:
        meaning = f" ({HTTPStatus(body.status).phrase})"
    except ValueError:
        meaning = ""
    message = f"{host_of(url)} answered HTTP {body.status}{meaning}."
    if body.status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = retry_after(body.headers, datetime.now(UTC))
        return RateLimitError(message, status_code=body.status, retry_after=wait)
    if body.status >= 500:
        return ServerError(message, status_code=body.status)
    is_restricted = body.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    hint = "Pages that require a sign-in cannot be read." if is_restricted else None
    return RequestError(message, status_code=body.status, hint=hint)
