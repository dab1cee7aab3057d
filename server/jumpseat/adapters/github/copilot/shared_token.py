"""The private file in which the daemons of one machine share the short-lived token of a sign-in."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from jumpseat.adapters.github.copilot.exchange_lock import exchange_lock
from jumpseat.adapters.github.copilot.token import CopilotToken
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.store import still_there
from jumpseat.system.clock import SYSTEM_CLOCK, Clock
from jumpseat.system.secrets import Secret
from jumpseat.system.state_file import StateError, StateFile, erased

logger = logging.getLogger(__name__)

LOCK_SUFFIX = ".exchange.lock"
LOCK_SECONDS = 20.0
"""How long to wait for another daemon's exchange: longer than one may take."""


class SharedTokenFile:
    """The file of one sign-in. If it cannot be used, that is logged and nothing is shared."""

    def __init__(self, hosts: GitHubHosts, github_token: Secret, *, directory: Path, clock: Clock) -> None:
        """
        Args:
            hosts: the GitHub and the provider of the sign-in.
            github_token: the long-lived token of the sign-in.
            directory: the directory of the file.
            clock: measures the wait for the lock.
        """
        # Each provider id, data plane and sign-in has its own file. The digest does not reveal the token,
        # which is random.
        name = f"{_prefix(hosts)}{_digest(hosts.provider, hosts.key, github_token.reveal())}"
        self._hosts = hosts
        self._directory = directory
        self._file = StateFile(self._directory / f"{name}.json", private=True)
        self._lock_path = self._directory / f"{name}{LOCK_SUFFIX}"
        self._clock = clock

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._file.path

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Prevent exchanges of this sign-in by other daemons, if the lock can be acquired."""
        async with exchange_lock(self._lock_path, seconds=LOCK_SECONDS, clock=self._clock) as locked:
            if not locked:
                logger.warning("%s is not locked; another exchange may be under way", self._lock_path)
            yield

    async def read(self) -> tuple[CopilotToken | None, float | None]:
        """The token, and when a token was last replaced before its time (seconds since 1970)."""
        try:
            content = await asyncio.to_thread(self._file.read)
        except StateError as error:
            _log_not_shared(error)
            return None, None
        replaced_at = content.get("replaced_at")
        token = CopilotToken.from_json(content, self._hosts)
        return token, replaced_at if isinstance(replaced_at, float) else None

    async def write(self, token: CopilotToken, replaced_at: float | None) -> None:
        """Replace the content."""
        try:
            await asyncio.to_thread(self._file.write, {**token.to_json(), "replaced_at": replaced_at})
        except StateError as error:
            _log_not_shared(error)

    async def erase(self) -> None:
        """Remove the file and its copies."""
        for path in await asyncio.to_thread(_erase, self._directory, self._file.path.name):
            logger.warning("%s holds a token and cannot be removed", path)


async def forget_shared_tokens(hosts: GitHubHosts, directory: Path, *, clock: Clock = SYSTEM_CLOCK) -> None:
    """Remove the shared tokens of all sign-ins of a provider.

    Waits for exchanges of other daemons, which would write their token after the removal.

    Raises:
        ConfigError: a file still holds a token; the message names it.
    """
    if await asyncio.to_thread(directory.is_symlink):
        return  # Nothing of ours is read or written there.
    prefix = _prefix(hosts)
    async with contextlib.AsyncExitStack() as stack:
        for lock in await asyncio.to_thread(lambda: list(directory.glob(f"{prefix}*{LOCK_SUFFIX}"))):
            await stack.enter_async_context(exchange_lock(lock, seconds=LOCK_SECONDS, clock=clock))
        left = await asyncio.to_thread(_erase, directory, prefix)
    if left:
        raise still_there(left, hosts)


def _log_not_shared(error: StateError) -> None:
    logger.warning("tokens are not shared with other daemons: %s %s", error.message, error.hint or "")


def _prefix(hosts: GitHubHosts) -> str:
    return f"copilot_token.{_digest(hosts.provider)}."


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _erase(directory: Path, prefix: str) -> list[Path]:
    """Remove the files with this prefix, with temporary and broken ones; returns those that remain."""
    candidates = [*directory.glob(f"{prefix}*"), *directory.glob(f".{prefix}*")]
    return [path for path in candidates if path.suffix != ".lock" and not erased(path)]
