"""The configuration of an MCP server with OAuth, and a user who signs in to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from jumpseat.tools.server import ServerSignIn, SignInPage
from tests.fakes.mcp_http import AuthorizationServer, McpEndpoint, visit
from tests.unit.tools.mcp.clients import Client

Connect = Callable[..., Client]


def make_config(endpoint: McpEndpoint, name: str = "fake", more: str = "") -> str:
    """Return a configuration with one server, whose tools are allowed. Its table ends with `more`."""
    return f'[tools]\nallow = ["fake/*", "second/*"]\n[mcp.{name}]\nurl = "{endpoint.url}"\n{more}'


def stored_file(home: Path) -> Path:
    return home / "auth" / "mcp_sign_ins.json"


def read_query(page: SignInPage) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(page.verification_uri).query))


class Person:
    """The user, who signs in on each page."""

    def __init__(self, authorization: AuthorizationServer) -> None:
        self.authorization = authorization
        self.pages: list[SignInPage] = []
        self.shown: list[tuple[int, str]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def see(self, page: SignInPage) -> None:
        """Approve the sign-in on this page in the background."""
        self.pages.append(page)
        self._tasks.append(asyncio.ensure_future(self._approve(page)))

    async def _approve(self, page: SignInPage) -> None:
        self.shown.append(await visit(self.authorization.approve(page.verification_uri)))

    async def sign_in(self, client: Client, name: str = "fake") -> ServerSignIn:
        """Sign in to a server."""
        async with asyncio.timeout(30):
            state = await client.host.servers[name].sign_in(self.see)
            await asyncio.gather(*self._tasks)
        return state
