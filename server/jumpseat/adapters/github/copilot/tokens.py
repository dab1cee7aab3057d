"""Keeps one sign-in's Copilot token fresh: one exchange at a time, in this process and on this machine.

A caller gets a token that works, or the reason why there is none. While the token at hand still serves, a
new one is fetched behind its back; when there is none, all callers wait for the one exchange. Daemons share
a private file: under a lock they read it again, exchange, and write it. A failure is remembered for a
while, so that fifty chats that fail do not become fifty exchanges, nor five hundred.

Below it is `copilot_token.py`, which asks GitHub once; above it `copilot_credentials.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from jumpseat.adapters.github.copilot.exchange_lock import exchange_lock
from jumpseat.adapters.github.copilot.token import CopilotToken, OtherRouteWanted, exchange
from jumpseat.adapters.github.errors import again
from jumpseat.adapters.github.failure_memory import FailureMemory
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_ins import SignIn
from jumpseat.adapters.github.token_store import auth_directory, still_there
from jumpseat.chat import ChatError, ConfigError
from jumpseat.http import HttpClient
from jumpseat.system.clock import SYSTEM_CLOCK, Clock
from jumpseat.system.single_flight import SingleFlight
from jumpseat.system.state_file import StateFile, erased

logger = logging.getLogger(__name__)

LOCK_SUFFIX = ".exchange.lock"
LOCK_SECONDS = 20.0
"""How long to wait for another daemon's exchange: longer than one may take."""

REPLACEMENT_SECONDS = 60.0
"""Refused tokens are replaced by an exchange so often, on the whole machine: more would look like abuse."""


class NoOtherCredential(Exception):  # noqa: N818 - not a failure by itself: the caller has the error to raise
    """A credential was refused and there is no other one; `retry_after` where there may be one later."""

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


async def forget_shared_tokens(
    hosts: GitHubHosts, *, directory: Path | None = None, clock: Clock = SYSTEM_CLOCK
) -> None:
    """Remove every token of a provider that daemons share, whichever sign-in it is of.

    An exchange that another daemon has under way is waited for, or it would leave its token behind.

    Raises:
        ConfigError: a file still holds a token; the message names it.
    """
    directory = directory or auth_directory()
    if directory.is_symlink():
        return  # Nothing of ours is read or written there.
    prefix = _prefix(hosts)
    async with contextlib.AsyncExitStack() as stack:
        for lock in await asyncio.to_thread(lambda: list(directory.glob(f"{prefix}*{LOCK_SUFFIX}"))):
            await stack.enter_async_context(exchange_lock(lock, seconds=LOCK_SECONDS, clock=clock))
        left = await asyncio.to_thread(_erase, directory, prefix)
    if left:
        raise still_there(left, hosts)


class CopilotTokens:
    """The tokens of one sign-in."""

    def __init__(
        self,
        http: HttpClient,
        hosts: GitHubHosts,
        sign_in: SignIn,
        *,
        headers: Mapping[str, str] | None = None,
        directory: Path | None = None,
        clock: Clock = SYSTEM_CLOCK,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """
        Args:
            http: the shared client.
            hosts: whom to ask.
            sign_in: what is exchanged.
            headers: who asks: `editor-version` and its like.
            directory: where daemons share tokens; the state directory's `auth` if absent.
            clock: measures and waits.
            jitter: a number from 0 to 1, for each token.
        """
        self._http = http
        self._hosts = hosts
        self._sign_in = sign_in
        self._headers = dict(headers or {})
        self._clock = clock
        self._jitter = jitter
        # Another provider id, another plane or another account is another file. The digest tells nothing of
        # the token, which is random.
        name = f"{_prefix(hosts)}{_digest(hosts.provider, hosts.key, sign_in.token.reveal())}"
        self._directory = directory or auth_directory()
        self._file = StateFile(self._directory / f"{name}.json", private=True)
        self._lock_path = self._directory / f"{name}{LOCK_SUFFIX}"
        self._flight: SingleFlight[CopilotToken] = SingleFlight()
        self._held: CopilotToken | None = None
        self._held_since = 0.0
        self._refused: CopilotToken | None = None
        self._replaced_at: float | None = None
        self._failures = FailureMemory(clock)

    async def get(self, *, insist: bool = False) -> CopilotToken:
        """A token that can be used now.

        Args:
            insist: ask GitHub even if it has just refused: a person wants to know now.

        Raises:
            OtherRouteWanted: the exchange is closed to this kind of token.
            ChatError: there is none to be had.
        """
        held = self._held
        if held is not None and self._usable(held, held.refresh_at):
            return held
        failure = None if insist else self._failures.current()
        if held is not None and self._usable(held, held.expires_at):
            if failure is None:
                self._flight.start(self._obtain)
            return held
        if failure is not None:
            raise again(failure)
        try:
            return await self._flight.run(self._obtain)
        except (ChatError, OtherRouteWanted) as error:
            raise again(error) from None

    async def refuse(self, token: CopilotToken) -> str:
        """Note that the data plane did not accept a token.

        Returns:
            Why `get` gives another one: `newer_token` where this daemon or another has one already, else
            `expired_token`.

        Raises:
            NoOtherCredential: an exchange has replaced a refused token on this machine just now.
        """
        if self._is_other(self._held, token):
            return "newer_token"
        if self._refused is not None and not self._is_other(self._refused, token):
            return "expired_token"  # Another caller has noted it.
        shared = await self._shared(refused=token)
        if self._is_other(self._held, token):
            return "newer_token"
        if shared is not None:
            self._hold(shared)
            return "newer_token"
        age = REPLACEMENT_SECONDS if self._replaced_at is None else self._clock.now() - self._replaced_at
        if 0 <= age < REPLACEMENT_SECONDS:
            raise NoOtherCredential(REPLACEMENT_SECONDS - age)
        self._held, self._refused = None, token
        return "expired_token"

    async def doubt(self) -> None:
        """Have `get` ask GitHub again, unless that was done just now: it may not give the token any more."""
        if self._held is not None:
            with contextlib.suppress(NoOtherCredential):
                await self.refuse(self._held)

    def drop(self) -> None:
        """Use the token at hand no more: GitHub does not accept the sign-in that it came from."""
        self._held, self._refused = None, self._held or self._refused

    async def forget(self) -> None:
        """Drop the token here and in the shared file."""
        await self._flight.aclose()
        self._held = None
        for path in await asyncio.to_thread(_erase, self._directory, self._file.path.name):
            logger.warning("%s holds a token and cannot be removed", path)

    async def aclose(self) -> None:
        """End an exchange under way."""
        await self._flight.aclose()

    def _usable(self, token: CopilotToken, until: float) -> bool:
        """Whether both clocks say that `until` has not come: one may have been set, the other have slept."""
        elapsed = self._clock.monotonic() - self._held_since
        now = self._clock.now()
        return token.is_alive(now) and now < until and token.obtained_at + elapsed < until

    async def _obtain(self) -> CopilotToken:
        try:
            async with exchange_lock(self._lock_path, seconds=LOCK_SECONDS, clock=self._clock) as locked:
                if not locked:
                    logger.warning("%s is not locked; another exchange may be under way", self._lock_path)
                token = await self._shared(self._refused)
                if token is None:
                    token = await self._exchanged()
        except (ChatError, OtherRouteWanted) as error:
            self._failures.note(error)
            raise
        self._refused = None
        self._hold(token)
        self._failures.clear()
        return token

    def _hold(self, token: CopilotToken) -> None:
        age = self._clock.now() - token.obtained_at
        self._held, self._held_since = token, self._clock.monotonic() - age

    async def _shared(self, refused: CopilotToken | None) -> CopilotToken | None:
        """The token that another daemon has written, if it is any better than ours and the refused one."""
        try:
            content = await asyncio.to_thread(self._file.read)
        except ConfigError as error:
            logger.warning("tokens are not shared with other daemons: %s %s", error.message, error.hint or "")
            return None
        replaced_at = content.get("replaced_at")
        if isinstance(replaced_at, float):
            self._replaced_at = max(replaced_at, self._replaced_at or replaced_at)
        token = CopilotToken.from_json(content, self._hosts)
        if token is None or not token.is_fresh(self._clock.now()):
            return None
        if refused is not None and (
            token.obtained_at < refused.obtained_at or not self._is_other(token, refused)
        ):
            return None
        # Ours would not be asked for if it were fresh: only a clock that was set back can say so.
        return token if self._held is None or self._is_other(self._held, token) else None

    async def _exchanged(self) -> CopilotToken:
        token = await exchange(
            self._http,
            self._hosts,
            self._sign_in.token,
            source=self._sign_in.source,
            headers=self._headers,
            clock=self._clock,
            jitter=self._jitter(),
        )
        if self._refused is not None:
            self._replaced_at = token.obtained_at
        try:
            content = {**token.to_json(), "replaced_at": self._replaced_at}
            await asyncio.to_thread(self._file.write, content)
        except ConfigError as error:
            logger.warning("tokens are not shared with other daemons: %s %s", error.message, error.hint or "")
        return token

    @staticmethod
    def _is_other(found: CopilotToken | None, token: CopilotToken) -> bool:
        return found is not None and found.secret.reveal() != token.secret.reveal()


def _prefix(hosts: GitHubHosts) -> str:
    return f"copilot_token.{_digest(hosts.provider)}."


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _erase(directory: Path, prefix: str) -> list[Path]:
    """Remove the files with this prefix, temporary and broken ones too; gives those that stay."""
    found = [*directory.glob(f"{prefix}*"), *directory.glob(f".{prefix}*")]
    return [path for path in found if path.suffix != ".lock" and not erased(path)]
