"""The store of jumpseat's sign-ins: its file and keyring, its modes, and changes by other processes."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.sign_in.store import FILE_NAME, StoredSignIn, TokenStore, token_store_of
from jumpseat.chat import AuthenticationError, ConfigError
from jumpseat.system import state_file
from jumpseat.system.environment import environment_of_process
from jumpseat.system.keyring_storage import BoundedKeyring
from jumpseat.system.secrets import Secret
from jumpseat.system.watch import stamp_of
from tests.unit.adapters.github.keyrings import BrokenKeyring, DictKeyring, SilentKeyring

HOSTS = github_hosts(provider="copilot")
ROOT = Path(__file__).parents[5]
TOKEN = Secret("ghu_canary-of-the-store-0815")
posix = pytest.mark.skipif(os.name == "nt", reason="uses POSIX modes")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "auth"


@pytest.fixture
def store(directory: Path) -> TokenStore:
    return TokenStore(directory, keyring=BoundedKeyring(lambda: None))


def contents_set_aside(directory: Path) -> list[str]:
    return [path.read_text() for path in directory.glob(f"{FILE_NAME}.broken-*")]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("8:token-file")
async def test_a_sign_in_is_stored_and_deleted(store: TokenStore, directory: Path) -> None:
    assert await store.read(HOSTS) == StoredSignIn()

    assert await store.write(HOSTS, TOKEN, login="octocat") == "file"
    kept = await store.read(HOSTS)
    assert kept.token is not None
    assert (kept.token.reveal(), kept.storage, kept.login) == (TOKEN.reveal(), "file", "octocat")

    await store.delete(HOSTS)
    assert await store.read(HOSTS) == StoredSignIn(signed_out=True)
    assert TOKEN.reveal() not in (directory / FILE_NAME).read_text()

    await store.write(HOSTS, TOKEN)
    assert not (await store.read(HOSTS)).signed_out


@pytest.mark.requirement("8:token-file-shared")
async def test_each_provider_and_host_has_its_own_sign_in(store: TokenStore) -> None:
    places = [
        HOSTS,
        github_hosts(provider="work"),
        github_hosts("acme.ghe.com", provider="copilot"),
        github_hosts(provider="copilot", api_url="https://evil.example"),
        github_hosts(provider="copilot", copilot_url="https://evil.example"),
    ]
    for number, hosts in enumerate(places):
        assert (await store.read(hosts)).token is None, f"{number} reads another one's token"
        await store.write(hosts, Secret(f"ghu_canary_{number}"))

    for number, hosts in enumerate(places):
        token = (await store.read(hosts)).token
        assert token is not None
        assert token.reveal() == f"ghu_canary_{number}"


@posix
@pytest.mark.requirement("8:token-file")
def test_file_and_directory_are_private_from_their_creation(directory: Path) -> None:
    # An audit hook records every open, mkdir and chmod in order.
    program = f"""
import asyncio, os, sys
seen = []
def hook(event, args):
    if event in ("open", "os.mkdir", "os.chmod") and {str(directory)!r} in str(args[0]):
        seen.append((event, str(args[0]), args[1:]))
os.umask(0)
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.system.keyring_storage import BoundedKeyring
from jumpseat.adapters.github.sign_in.store import TokenStore
from jumpseat.config import Secret
from pathlib import Path
sys.addaudithook(hook)
store = TokenStore(Path({str(directory)!r}), keyring=BoundedKeyring(lambda: None))
asyncio.run(store.write(github_hosts(provider="copilot"), Secret("ghu_canary")))
assert not [each for each in seen if each[0] == "os.chmod"], seen
made = [each for each in seen if each[0] == "os.mkdir" and each[1] == {str(directory)!r}]
assert made and made[-1][2][0] == 0o700, seen
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    assert mode(directory) == 0o700
    assert {path.name: oct(mode(path)) for path in directory.iterdir() if mode(path) & 0o077} == {}
    assert mode(directory / FILE_NAME) == 0o600


@posix
@pytest.mark.requirement("8:token-file")
@pytest.mark.parametrize(("what", "loose", "right"), [(FILE_NAME, 0o644, "600"), (".", 0o755, "700")])
async def test_a_loose_mode_is_refused_with_the_command_that_fixes_it(
    store: TokenStore, directory: Path, what: str, loose: int, right: str
) -> None:
    await store.write(HOSTS, TOKEN)
    path = directory / what
    path.chmod(loose)

    with pytest.raises(ConfigError, match="can be opened by other users") as caught:
        await store.read(HOSTS)
    assert f"chmod {right} {path.resolve()}" in (caught.value.hint or "")
    assert mode(path) == loose


@posix
@pytest.mark.requirement("8:token-file")
async def test_a_link_at_the_path_of_the_file_is_refused(
    store: TokenStore, directory: Path, tmp_path: Path
) -> None:
    await store.write(HOSTS, TOKEN)
    elsewhere = tmp_path / "elsewhere.json"
    (directory / FILE_NAME).replace(elsewhere)
    (directory / FILE_NAME).symlink_to(elsewhere)

    with pytest.raises(ConfigError, match="symbolic link"):
        await store.read(HOSTS)


@pytest.mark.requirement("8:token-file-whole")
@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00\xff"])
async def test_a_broken_file_is_set_aside_and_a_new_one_created(
    store: TokenStore, directory: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "UNFINISHED_SECONDS", 0.0)  # No other process is writing it.
    await store.write(HOSTS, TOKEN)
    (directory / FILE_NAME).write_text(content)

    assert await store.read(HOSTS) == StoredSignIn()
    await store.write(HOSTS, TOKEN)
    assert (await store.read(HOSTS)).token is not None
    assert contents_set_aside(directory) == [content]


@pytest.mark.parametrize("entries", [[], "x", {"copilot@x": 1}])
async def test_unexpected_content_is_not_a_sign_in(
    store: TokenStore, directory: Path, entries: object
) -> None:
    await store.write(HOSTS, TOKEN)
    (directory / FILE_NAME).write_text(json.dumps({"version": 1, "sign_ins": entries}))

    assert await store.read(HOSTS) == StoredSignIn()


@pytest.mark.parametrize("entry", [{"token": ""}, {"token": 7}, {"token": None}, {"token": ["x"]}, {}])
async def test_a_stored_token_that_is_not_text_is_not_a_sign_in(
    store: TokenStore, directory: Path, entry: dict[str, object]
) -> None:
    await store.write(HOSTS, TOKEN)
    content = json.loads((directory / FILE_NAME).read_text())
    (name,) = content["sign_ins"]
    content["sign_ins"][name] = {"storage": "file", "login": "octocat", **entry}
    (directory / FILE_NAME).write_text(json.dumps(content))

    found = await store.read(HOSTS)

    assert (found.token, found.storage, found.signed_out) == (None, None, False)


@pytest.mark.requirement("8:keyring")
async def test_a_token_in_the_keyring_is_not_in_the_file(directory: Path) -> None:
    ring = DictKeyring()
    store = TokenStore(directory, keyring=BoundedKeyring(lambda: ring))

    assert await store.write(HOSTS, TOKEN, login="octocat") == "keyring"

    assert TOKEN.reveal() not in (directory / FILE_NAME).read_text()
    kept = await store.read(HOSTS)
    assert kept.token is not None
    assert (kept.token.reveal(), kept.storage, kept.login) == (TOKEN.reveal(), "keyring", "octocat")
    await store.delete(HOSTS)
    assert ring.kept == {}
    assert (await store.read(HOSTS)).signed_out


@pytest.mark.requirement("8:keyring")
@pytest.mark.parametrize("failing", [BrokenKeyring, SilentKeyring])
async def test_a_failing_keyring_falls_back_to_the_file(
    directory: Path, failing: type[DictKeyring], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ring = failing()
    store = TokenStore(directory, keyring=BoundedKeyring(lambda: ring, seconds=0.2))
    try:
        assert await store.write(HOSTS, TOKEN) == "file"
        kept = (await store.read(HOSTS)).token
        assert kept is not None
        assert kept.reveal() == TOKEN.reveal()
    finally:
        if isinstance(ring, SilentKeyring):
            ring.answer.set()
    assert TOKEN.reveal() not in caplog.text


@pytest.mark.requirement("8:keyring")
async def test_a_token_in_a_locked_keyring_is_kept_and_an_error_reported(directory: Path) -> None:
    ring = DictKeyring()
    await TokenStore(directory, keyring=BoundedKeyring(lambda: ring)).write(HOSTS, TOKEN)
    locked = TokenStore(directory, keyring=BoundedKeyring(BrokenKeyring))

    with pytest.raises(AuthenticationError, match="cannot be used: PermissionError") as caught:
        await locked.read(HOSTS)
    assert "Unlock" in (caught.value.hint or "")
    with pytest.raises(AuthenticationError, match="does not delete"):
        await locked.delete(HOSTS)
    kept = (await TokenStore(directory, keyring=BoundedKeyring(lambda: ring)).read(HOSTS)).token
    assert kept is not None


@pytest.mark.requirement("8:keyring")
async def test_with_jumpseat_home_the_token_is_stored_there(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = pytest.importorskip("keyring")
    ring = DictKeyring()
    ring.priority = 9
    monkeypatch.setattr(keyring, "get_keyring", lambda: ring)

    assert await token_store_of(environment_of_process()).write(HOSTS, TOKEN) == "file"

    assert ring.kept == {}
    assert (home / "auth" / FILE_NAME).is_file()


@pytest.mark.requirement("8:token-file-shared")
@pytest.mark.parametrize("ring", [None, DictKeyring()])
async def test_other_processes_detect_a_change_with_one_stat(
    directory: Path, ring: DictKeyring | None
) -> None:
    mine, theirs = (TokenStore(directory, keyring=BoundedKeyring(lambda: ring)) for _ in range(2))
    stamps = [stamp_of(mine.path)]

    await theirs.write(HOSTS, TOKEN)
    stamps.append(stamp_of(mine.path))
    await theirs.write(HOSTS, TOKEN)
    stamps.append(stamp_of(mine.path))
    await theirs.delete(HOSTS)
    stamps.append(stamp_of(mine.path))

    assert len(set(stamps)) == 4
    assert stamp_of(mine.path) == stamps[-1]


@posix
@pytest.mark.requirement("8:token-file-whole")
@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_a_process_killed_during_a_write_leaves_the_old_file_or_the_new(directory: Path, rounds: int) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.unit.adapters.github.sign_in.kill_writers",
            str(directory),
            str(rounds),
        ],
        check=True,
        timeout=100,
        cwd=ROOT,
    )
