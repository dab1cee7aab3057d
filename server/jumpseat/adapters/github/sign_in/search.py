"""Finds the existing GitHub sign-ins, in this order:

1. `github_token` in the configuration.
2. `COPILOT_GITHUB_TOKEN`. It precedes stored sign-ins, as in Copilot's own command line.
3. jumpseat's own sign-in, from `jumpseat login`. It precedes the variables of 4, because `GH_TOKEN` is often
   a token for builds, without access to Copilot.
4. `GH_TOKEN`; in a codespace also `GITHUB_TOKEN`, which GitHub sets there for the user.
5. Editors' Copilot sign-ins: `hosts.json`, `apps.json`, `auth.db`.
6. `gh auth token`. It is last because it runs a program, and its tokens give access to fewer models.

The user chose 1 to 3 for Copilot, so a token of an unsuitable kind is an error there. In 4 to 6, such a token
is skipped with a note. After a sign-out, 4 to 6 are not used until the next sign-in.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jumpseat.adapters.github.hosts import DOTCOM, GitHubHosts
from jumpseat.adapters.github.sign_in.editors import copilot_directory, find_editor_sign_ins
from jumpseat.adapters.github.sign_in.gh_command import read_gh_token
from jumpseat.adapters.github.sign_in.store import TokenStore
from jumpseat.adapters.github.sign_in.tokens import SignIn, check_usable, is_usable
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import Secret, register_secret
from jumpseat.system.threads import run_blocking

CODESPACES_VARIABLE = "CODESPACES"

EDITORS_SECONDS = 5.0
"""The time limit for reading editors' files. The home directory may be on a slow network."""


@dataclass(frozen=True, slots=True)
class FoundSignIns:
    """The sign-ins for one GitHub instance, best first, and sentences about the unusable ones."""

    sign_ins: Sequence[SignIn]
    notes: Sequence[str] = ()

    @property
    def best(self) -> SignIn | None:
        """The sign-in to use; None if the user has to sign in."""
        return next(iter(self.sign_ins), None)


async def find_sign_ins(
    hosts: GitHubHosts,
    store: TokenStore,
    environment: Environment,
    *,
    configured: Secret | None = None,
    rejected: Collection[str] = (),
    general: bool = True,
) -> FoundSignIns:
    """Search the sources in this module's order. `gh` runs only if no other source has a usable token.

    Args:
        hosts: the hosts to find sign-ins for.
        store: the store of jumpseat's own sign-ins.
        environment: the client's environment variables.
        configured: the value of `github_token`.
        rejected: tokens to skip because GitHub no longer accepts them; for the sources 4 to 6 only.
        general: whether to search the sources in `tokens.GENERAL_SOURCES` too. If False, no process is
            started.

    Raises:
        AuthenticationError: a token from the sources 1 to 3 cannot work, or jumpseat's own sign-in cannot be
            read.
    """
    chosen: Sequence[SignIn] = ()
    is_signed_out = False
    if configured is not None:
        chosen = [SignIn(configured, "config")]
    elif hosts.trusts_found_sign_ins:
        chosen = _find_in_environment(hosts, environment, ["COPILOT_GITHUB_TOKEN"])
    if not chosen:
        stored = await store.read(hosts)
        is_signed_out = stored.signed_out
        if stored.token is not None:
            chosen = [SignIn(stored.token, stored.storage or "file", stored.login)]
    if chosen:
        check_usable(chosen[0].token, provider=hosts.provider, source=chosen[0].source)
        return FoundSignIns(chosen)
    # The remaining sources contain credentials for `hosts.authority`. If a client chose other hosts for the
    # web pages, the REST API or Copilot, these credentials must not be sent there.
    if is_signed_out or not hosts.trusts_found_sign_ins:
        return FoundSignIns(())
    notes: list[str] = []
    candidates: list[SignIn] = []
    if general:
        is_codespace = environment.get(CODESPACES_VARIABLE).lower() not in ("", "false", "0")
        names = ["GH_TOKEN", "GITHUB_TOKEN"] if is_codespace else ["GH_TOKEN"]
        candidates += _find_in_environment(hosts, environment, names)
    candidates += await _find_in_editors(hosts, environment, notes)
    found = _select_usable(candidates, rejected, notes)
    if general and not found:
        token = await read_gh_token(hosts.authority, environment)
        found = _select_usable([SignIn(token, "gh")], rejected, notes) if token is not None else []
    return FoundSignIns(found, notes)


def _find_in_environment(hosts: GitHubHosts, environment: Environment, names: Sequence[str]) -> list[SignIn]:
    # As in `gh`, `GH_HOST` names the host that tokens in variables belong to.
    if hosts.authority != (environment.get("GH_HOST").strip().lower() or DOTCOM):
        return []
    values = {name: environment.get(name).strip() for name in names}
    return [SignIn(register_secret(value), f"env:{name}") for name, value in values.items() if value]


async def _find_in_editors(
    hosts: GitHubHosts, environment: Environment, notes: list[str]
) -> Sequence[SignIn]:
    directory = copilot_directory(environment)
    if directory is None:
        return []
    try:
        found, more = await run_blocking(
            find_editor_sign_ins, directory, hosts.authority, within=EDITORS_SECONDS
        )
    except TimeoutError:
        notes.append(f"The files in {directory} could not be read in time.")
        return []
    notes += more
    return found


def _select_usable(
    candidates: Sequence[SignIn], rejected: Collection[str], notes: list[str]
) -> Sequence[SignIn]:
    """Return the sign-ins to try, and add a note for each token that Copilot does not accept."""
    found: dict[str, SignIn] = {}
    for each in candidates:
        token = each.token.reveal()
        if not is_usable(each.token):
            notes.append(f"{each.source} has a kind of token that Copilot does not accept.")
        elif token not in rejected:
            # If several sources have the same token, report only the first source.
            found.setdefault(token, each)
    return list(found.values())
