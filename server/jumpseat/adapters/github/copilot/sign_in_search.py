"""The sign-ins available to one Copilot provider, cached, without those that GitHub rejected."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from jumpseat.adapters.base import read_options
from jumpseat.adapters.github.copilot.options import SOURCE_KEYS, CopilotOptions
from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.adapters.github.sign_in.search import FoundSignIns, find_sign_ins
from jumpseat.adapters.github.sign_in.store import TokenStore
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.config import ProviderConfig, Values
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import stamp_of

LOOK_AGAIN_SECONDS = 5.0
"""The time for which "signed out" is cached before searching other programs' sign-ins again."""


class SignInSearch:
    """Finds a provider's sign-ins and caches them.

    The cache is cleared when the store changes, and by `check_for_new_best` when an editor's file may have
    changed. An empty result is cached only for `LOOK_AGAIN_SECONDS`.
    """

    def __init__(self, hosts: GitHubHosts, config: ProviderConfig, store: TokenStore) -> None:
        """
        Args:
            hosts: the hosts to find sign-ins for.
            config: the provider's table; `github_token` matters here.
            store: the store of jumpseat's own sign-ins.
        """
        self._hosts = hosts
        self._environment = config.origin.environment
        self._github_token = read_options(CopilotOptions, hosts.provider, config).github_token
        self._values = Values(hosts.provider, config, source_keys=SOURCE_KEYS)
        self._store = store

        self._one_at_a_time = asyncio.Lock()
        self._found: dict[bool, FoundSignIns] = {}
        """The cached results, with (True) and without (False) the sources of general GitHub tokens."""

        self._store_stamp: object = None
        self._search_again_at = 0.0
        self._seen: list[SignIn | None] = []
        """One item: the best sign-in at the last `check_for_new_best`, or else at the first search.

        Before the first search, the list is empty.
        """

        self._rejected: dict[str, SignIn] = {}
        """Other programs' sign-ins that GitHub no longer accepts, by token, the most recent one last."""

    @property
    def known_best(self) -> SignIn | None:
        """The best sign-in of the last search."""
        found = self._found.get(True)
        return found.best if found is not None else None

    async def search(self) -> FoundSignIns:
        """Return the existing sign-ins, without those that GitHub has rejected.

        Raises:
            ChatError: a sign-in that the user chose for Copilot cannot be used, or the store cannot be read.
        """
        found = await self._find_cached(general=True)
        usable = [each for each in found.sign_ins if each.token.reveal() not in self._rejected]
        # If all were rejected, include the last one so that its error is reported.
        found = replace(found, sign_ins=usable or list(self._rejected.values())[-1:])
        if not self._seen:
            self._seen = [found.best]
        return found

    async def has_one_for_copilot(self) -> bool:
        """Whether a sign-in made for Copilot exists; does not run `gh`.

        Raises:
            ChatError: see `search`.
        """
        found = self._found.get(True) or await self._find_cached(general=False)
        return found.best is not None and found.best.is_for_copilot

    async def check_for_new_best(self) -> bool:
        """Search again, and return whether the best sign-in has changed since the last call.

        Before the first `search`, this returns False without searching.

        Raises:
            ChatError: see `search`.
        """
        self._found.clear()
        if not self._seen:
            return False
        # Compare with the last call, not with the last search, because a chat may have searched since.
        before, after = self._seen[0], (await self.search()).best
        self._seen = [after]
        return (before and before.key) != (after and after.key)

    async def reject(self, sign_in: SignIn) -> bool:
        """Exclude a sign-in of another program, and return whether any other sign-in is left.

        Raises:
            ChatError: see `search`.
        """
        token = sign_in.token.reveal()
        if self._rejected.pop(token, None) is None:
            self._found.clear()  # Search the sources that were skipped because this sign-in was found.
        self._rejected[token] = sign_in
        return any(each.token.reveal() not in self._rejected for each in (await self.search()).sign_ins)

    def forget(self) -> None:
        """Drop all results and rejections, so that the next use searches again."""
        self._found.clear()
        self._seen.clear()
        self._rejected.clear()
        self._values.forget()  # `Values` caches the output of each `cmd:`.

    async def _find_cached(self, *, general: bool) -> FoundSignIns:
        """Return the result of the last search, or search again if it is out of date."""
        async with self._one_at_a_time:
            stamp = await run_blocking(stamp_of, self._store.path)
            if stamp != self._store_stamp:
                self._found.clear()
                self._store_stamp = stamp
            now = asyncio.get_running_loop().time()
            found = self._found.get(general)
            # Other programs may have signed in since, and `gh` has no file to watch.
            is_old = found is not None and general and not found.sign_ins and now >= self._search_again_at
            if found is None or is_old:
                raw = self._github_token
                found = self._found[general] = await find_sign_ins(
                    self._hosts,
                    self._store,
                    self._environment,
                    configured=None if raw is None else await self._values.resolve("github_token", raw),
                    rejected=self._rejected,
                    general=general,
                )
                self._search_again_at = now + LOOK_AGAIN_SECONDS
                for sign_in in found.sign_ins:
                    self._environment.withhold(sign_in.token)
            return found
