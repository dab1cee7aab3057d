"""The private file in which the daemons of one machine share a sign-in's short-lived token.

A lock beside the file allows one daemon at a time to exchange the sign-in. If the daemon with the lock dies,
the operating system releases the lock; if that daemon hangs, the others stop waiting after `LOCK_SECONDS`, or
up to `SPREAD_SECONDS` later, and do without the lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import random
from collections.abc import AsyncIterator
from pathlib import Path

from jumpseat.adapters.github.copilot.token import CopilotToken
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.store import not_removed_error
from jumpseat.chat import ConfigError
from jumpseat.system.clock import Clock
from jumpseat.system.paths import make_private
from jumpseat.system.secrets import Secret, register_secret
from jumpseat.system.state_file import StateError, StateFile, try_erase
from jumpseat.system.threads import run_blocking

logger = logging.getLogger(__name__)

LOCK_SUFFIX = ".exchange.lock"
LOCK_SECONDS = 20.0
"""The shortest time to wait for another daemon's exchange. An exchange must take less time than this."""

SPREAD_SECONDS = 10.0
"""The longest random extension of `LOCK_SECONDS`.

If a daemon hangs, this extension makes the others stop waiting at different times. The first of them makes
the exchange, and the rest find the new token in the file.
"""

POLL_SECONDS = 0.05


class SharedTokenFile:
    """The shared file of one sign-in. If the file cannot be used, this is logged and nothing is shared."""

    def __init__(self, hosts: GitHubHosts, github_token: Secret, *, directory: Path, clock: Clock) -> None:
        """
        Args:
            hosts: the hosts and the provider of the sign-in.
            github_token: the sign-in's long-lived token.
            directory: the file's directory.
            clock: the clock for the token's lifetime.
        """
        # Each combination of provider id, hosts and GitHub token has its own file. The digest does not reveal
        # the token, because the token is random.
        name = _prefix(hosts) + _digest(hosts.provider, hosts.key, github_token.reveal())
        self._hosts = hosts
        self._clock = clock
        self._file = StateFile(directory / f"{name}.json", private=True)
        self.lock_path = directory / f"{name}{LOCK_SUFFIX}"
        """The lock to acquire with `exchange_lock` around an exchange of this sign-in."""

    async def read(self) -> CopilotToken | None:
        """Return the last token that a daemon wrote, even if it has expired; None if it cannot be read."""
        try:
            content = await run_blocking(self._file.read)
        except StateError as error:
            _log_not_shared(error)
            return None
        try:
            return CopilotToken(
                secret=register_secret(content["token"], short_lived=True),
                data_host=self._hosts.data_host(content["data_host"]),
                obtained_at=float(content["obtained_at"]),
                refresh_at=float(content["refresh_at"]),
                expires_at=float(content["expires_at"]),
                sku=content.get("sku"),
                chat_enabled=content.get("chat_enabled"),
                replaced_at=content.get("replaced_at"),
                clock_offset=self._clock.now() - self._clock.monotonic(),
            )
        except (KeyError, TypeError, ValueError, ConfigError):
            return None

    async def write(self, token: CopilotToken) -> None:
        """Replace the file's content."""
        content = {
            "token": token.secret.reveal(),
            "data_host": token.data_host,
            "obtained_at": token.obtained_at,
            "refresh_at": token.refresh_at,
            "expires_at": token.expires_at,
            "sku": token.sku,
            "chat_enabled": token.chat_enabled,
            "replaced_at": token.replaced_at,
        }
        try:
            await run_blocking(self._file.write, content)
        except StateError as error:
            _log_not_shared(error)

    async def erase(self) -> None:
        """Remove the file and its copies."""
        for path in await run_blocking(_erase, self._file.path.parent, self._file.path.name):
            logger.warning("%s contains a token and cannot be removed", path)


async def forget_shared_tokens(hosts: GitHubHosts, directory: Path) -> None:
    """Remove the shared tokens of all sign-ins of a provider.

    Waits for other daemons' exchanges, which would otherwise write their token after the removal.

    Raises:
        ConfigError: a file still contains a token; the message names it.
    """
    if await run_blocking(directory.is_symlink):
        return  # jumpseat neither reads nor writes files there.
    prefix = _prefix(hosts)
    async with contextlib.AsyncExitStack() as stack:
        for path in await run_blocking(lambda: list(directory.glob(f"{prefix}*{LOCK_SUFFIX}"))):
            await stack.enter_async_context(exchange_lock(path))
        left = await run_blocking(_erase, directory, prefix)
    if left:
        raise not_removed_error(left, hosts)


@contextlib.asynccontextmanager
async def exchange_lock(path: Path) -> AsyncIterator[None]:
    """Prevent other daemons from exchanging the same sign-in, if the lock can be acquired."""
    from filelock import AsyncFileLock  # Deferred: most calls find a fresh token in memory.

    seconds = LOCK_SECONDS + random.random() * SPREAD_SECONDS  # noqa: S311 - spreads load
    async with contextlib.AsyncExitStack() as stack:
        try:
            await run_blocking(make_private, path.parent)
            lock = AsyncFileLock(path, mode=0o600, timeout=seconds, poll_interval=POLL_SECONDS)
            await stack.enter_async_context(lock)
        except (OSError, NotImplementedError) as error:
            # `OSError` includes timeouts. An extra exchange is better than none.
            logger.warning("%s cannot be locked, so another exchange may be in progress: %s", path, error)
        yield


def _log_not_shared(error: StateError) -> None:
    logger.warning("tokens are not shared with other daemons: %s %s", error.message, error.hint or "")


def _prefix(hosts: GitHubHosts) -> str:
    return f"copilot_token.{_digest(hosts.provider)}."


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _erase(directory: Path, prefix: str) -> list[Path]:
    """Remove the files with this prefix, except locks; return those that cannot be removed.

    Temporary and broken files are removed too.
    """
    candidates = [*directory.glob(f"{prefix}*"), *directory.glob(f".{prefix}*")]
    return [path for path in candidates if path.suffix != ".lock" and not try_erase(path)]
