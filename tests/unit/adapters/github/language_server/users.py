"""The sign-in of a scripted language server, and the changes that it reports."""

from __future__ import annotations

import asyncio
from typing import Any

from jumpseat.adapters.base import SignInPrompt, read_options
from jumpseat.adapters.base.account import AuthStatus
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.language_server.identity import LanguageServerIdentity
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.adapters.github.language_server.server import LanguageServer
from jumpseat.config import ProviderConfig, Values
from tests.environments import here
from tests.fakes.language_server import WAIT_SECONDS, FakeLanguageServer

COMMAND = "jumpseat login cls"


class User:
    """A user of the fake server. It records the changes that the identity reports, and the prompts."""

    def __init__(self, fake: FakeLanguageServer, *, status_seconds: float, **table: Any) -> None:
        config = ProviderConfig(
            kind="copilot-language-server", **{"command": fake.command, **table}
        ).set_environment(here())
        options = read_options(LanguageServerOptions, "cls", config)
        self.fake = fake
        self.changes: asyncio.Queue[AuthStatus] = asyncio.Queue()
        self.prompts: list[SignInPrompt] = []
        self._prompted = asyncio.Event()
        self.server = LanguageServer(
            "cls",
            config,
            Values("cls", config),
            client=lambda: None,
            on_notification=lambda method, params: self.identity.handle_notification(method, params),
            on_request=_refuse_request,
        )
        self.identity = LanguageServerIdentity(
            github_hosts(options.host, provider="cls", github_url=options.github_url),
            self.server,
            on_change=self.changes.put_nowait,
            status_seconds=status_seconds,
        )

    async def status(self, *, refresh: bool = False) -> AuthStatus:
        return await self.identity.get_status(refresh=refresh)

    async def change(self) -> AuthStatus:
        """Return the next reported change."""
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.changes.get()

    async def wait_until_settled(self) -> list[AuthStatus]:
        """Return the changes since the last call, including all that the server has sent by now."""
        # The server's messages arrive in order, so this response comes after everything that it sent before.
        await (await self.server.connect()).request("getVersion", seconds=WAIT_SECONDS)
        return [self.changes.get_nowait() for _ in range(self.changes.qsize())]

    async def sign_in(self) -> AuthStatus:
        async with asyncio.timeout(WAIT_SECONDS):
            return await self.identity.sign_in(self._show)

    def _show(self, prompt: SignInPrompt) -> None:
        self.prompts.append(prompt)
        self._prompted.set()

    async def prompt(self) -> SignInPrompt:
        """Return the first prompt of the sign-in, as soon as it is shown."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self._prompted.wait()
        return self.prompts[0]

    async def require(self) -> None:
        await self.identity.require_sign_in(await self.server.connect())

    async def aclose(self) -> None:
        await self.identity.aclose()
        await self.server.aclose()


class Users:
    """The users of one fake server, which are closed together."""

    def __init__(self, fake: FakeLanguageServer) -> None:
        self._fake = fake
        self._users: list[User] = []

    def make(self, *, status_seconds: float = 10.0, **table: Any) -> User:
        self._users.append(User(self._fake, status_seconds=status_seconds, **table))
        return self._users[-1]

    async def aclose(self) -> None:
        for user in self._users:
            await user.aclose()


async def _refuse_request(method: str, params: Any) -> Any:
    raise AssertionError(f"the server asked for {method}")


def v2(status: str, *, login: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the params of `didChangeStatus/v2` that report this status of the sign-in."""
    result = {"status": status, **({"user": login} if login else {})}
    return {"statuses": [{"category": "auth", "kind": "Normal", "result": result, **more}]}
