"""Finds the existing sign-ins to GitHub, in the order in which they are tried.

1. `github_token` in the configuration.
2. `COPILOT_GITHUB_TOKEN`. It precedes stored sign-ins, as in Copilot's own command line.
3. Our own, from `jumpseat login`. It precedes general variables: `GH_TOKEN` often holds a token for builds,
   without Copilot.
4. `GH_TOKEN`; in a codespace also `GITHUB_TOKEN`, which GitHub sets there for the user.
5. Editors' Copilot sign-ins: `hosts.json`, `apps.json`, `auth.db`.
6. `gh auth token`, last because it needs a process, and its tokens have fewer models.

The user chose 1 and 2 for Copilot, so an unsuitable kind of token is an error there; in other sources it is
skipped with a note. After a sign-out, 4 to 6 are not used until the next sign-in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from jumpseat.adapters.github.hosts import DOTCOM, GitHubHosts
from jumpseat.adapters.github.sign_in.editors import copilot_directory, editor_sign_ins
from jumpseat.adapters.github.sign_in.gh_command import gh_token
from jumpseat.adapters.github.sign_in.store import TokenStore
from jumpseat.adapters.github.sign_in.tokens import SignIn, check_usable, is_usable
from jumpseat.system.bounded import in_time
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import Secret, hidden

CODESPACES_VARIABLE = "CODESPACES"

EDITORS_SECONDS = 5.0
"""The time limit for reading editors' files: the home directory may be on a slow network."""


@dataclass(frozen=True, slots=True)
class FoundSignIns:
    """The sign-ins for one GitHub, best first, and sentences about those that cannot be used."""

    sign_ins: Sequence[SignIn]
    notes: Sequence[str] = ()
    signed_out: bool = False
    """The user has signed out: only sources that they named count."""

    @property
    def best(self) -> SignIn | None:
        """The sign-in to use; None where the user has to sign in."""
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
    """Search all sources; runs `gh` only if the others have nothing.

    Args:
        hosts: the GitHub.
        store: our own sign-ins.
        environment: the client's.
        configured: the value of `github_token`.
        rejected: tokens of other programs that GitHub does not accept any more; they are skipped.
        general: search also `GENERAL_SOURCES`; without them no process is started.

    Raises:
        AuthenticationError: the kind of a token that the user named for Copilot does not work, or our own
            sign-in cannot be read.
    """
    named = list(_named(hosts, configured, environment))
    if named:
        return FoundSignIns(named)
    stored = await store.read(hosts)
    if stored.token is not None:
        return FoundSignIns([SignIn(stored.token, stored.storage or "file", stored.login)])
    if stored.signed_out:
        return FoundSignIns((), signed_out=True)
    # The others are credentials for one host, and must not be sent to planes on other hosts.
    if not hosts.trusts_found_sign_ins:
        return FoundSignIns(())
    notes: list[str] = []
    found = list(_of_the_environment(hosts, environment, notes)) if general else []
    found += await _of_editors(hosts, environment, notes)
    found = [each for each in found if each.token.reveal() not in rejected]
    if not found and general:
        token = await gh_token(hosts.authority, environment)
        if token is not None and token.reveal() not in rejected:
            found += _if_usable(SignIn(token, "gh"), notes)
    # A token may have several sources; the first one is shown.
    once: dict[str, SignIn] = {}
    for each in found:
        once.setdefault(each.token.reveal(), each)
    return FoundSignIns(tuple(once.values()), notes)


def _named(hosts: GitHubHosts, configured: Secret | None, environment: Environment) -> Iterator[SignIn]:
    candidates = [("config", configured)]
    if hosts.trusts_found_sign_ins and hosts.authority == _environment_host(environment):
        candidates.append(("env:COPILOT_GITHUB_TOKEN", _variable(environment, "COPILOT_GITHUB_TOKEN")))
    for source, token in candidates:
        if token is not None:
            check_usable(token, provider=hosts.provider, source=source)
            yield SignIn(token, source)
            return


def _of_the_environment(hosts: GitHubHosts, environment: Environment, notes: list[str]) -> Iterator[SignIn]:
    if hosts.authority != _environment_host(environment):
        return
    names = ["GH_TOKEN"]
    if environment.get(CODESPACES_VARIABLE).lower() not in ("", "false", "0"):
        names.append("GITHUB_TOKEN")
    for name in names:
        token = _variable(environment, name)
        if token is None:
            continue
        yield from _if_usable(SignIn(token, f"env:{name}"), notes)


async def _of_editors(hosts: GitHubHosts, environment: Environment, notes: list[str]) -> list[SignIn]:
    directory = copilot_directory(environment)
    if directory is None:
        return []
    try:
        editors, more = await in_time(
            lambda: editor_sign_ins(directory, hosts.authority), EDITORS_SECONDS, "editors' sign-ins"
        )
    except TimeoutError:
        notes.append(f"The files in {directory} cannot be read in time.")
        return []
    notes += more
    return [usable for each in editors for usable in _if_usable(each, notes)]


def _if_usable(sign_in: SignIn, notes: list[str]) -> Iterator[SignIn]:
    if is_usable(sign_in.token):
        yield sign_in
    else:
        notes.append(f"{sign_in.source} has a kind of token that Copilot does not accept.")


def _environment_host(environment: Environment) -> str:
    """The host of tokens in the environment, by the rule of `gh`."""
    return environment.get("GH_HOST").strip().lower() or DOTCOM


def _variable(environment: Environment, name: str) -> Secret | None:
    value = environment.get(name).strip()
    return hidden(value) if value else None
