"""A sign-out removes all tokens of the provider from disk, or reports the file that still has one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat.adapters.github.copilot.credential import CopilotCredential
from jumpseat.adapters.github.copilot.shared_token import forget_shared_tokens
from jumpseat.adapters.github.hosts import GitHubHosts, github_hosts
from jumpseat.adapters.github.sign_in.store import FILE_NAME, TokenStore
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.chat import ConfigError
from jumpseat.http import HttpClient
from jumpseat.system.keyring_storage import BoundedKeyring
from jumpseat.system.secrets import Secret
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply

pytestmark = pytest.mark.requirement("8:sign-out-erases")

HOSTS = github_hosts(provider="copilot")
WORK = github_hosts(provider="work")
TOKEN, WORK_TOKEN = Secret("ghu_canary-of-the-provider"), Secret("ghu_canary-of-another-provider")
EXCHANGE = "/copilot_internal/v2/token"
ROOT = Path(__file__).parents[5]

ON_A_FULL_DISK = """
import asyncio, errno, sys
from pathlib import Path
from jumpseat.adapters.github.sign_in.store import TokenStore
from jumpseat.system.keyring_storage import BoundedKeyring
from tests.unit.adapters.github.sign_in.test_sign_out import HOSTS, TOKEN, WORK, WORK_TOKEN

directory = Path(sys.argv[1])
store = TokenStore(directory, keyring=BoundedKeyring(lambda: None))
asyncio.run(store.write(HOSTS, TOKEN))
asyncio.run(store.write(WORK, WORK_TOKEN))
try:
    (directory / "filler").write_bytes(bytes(10_000_000))
except OSError as error:
    assert error.errno == errno.ENOSPC
else:
    raise AssertionError("the disk is not full")
asyncio.run(store.delete(HOSTS))
assert asyncio.run(store.read(HOSTS)).signed_out
assert asyncio.run(store.read(WORK)).token.reveal() == WORK_TOKEN.reveal()
found = [path.name for path in directory.iterdir() if TOKEN.reveal().encode() in path.read_bytes()]
assert not found, found
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "auth"


@pytest.fixture
def store(directory: Path) -> TokenStore:
    return TokenStore(directory, keyring=BoundedKeyring(lambda: None))


def holders(directory: Path, text: str = "canary-of-the-provider") -> list[str]:
    """Return the names of the files that contain a text."""
    return [path.name for path in directory.iterdir() if path.is_file() and text in path.read_text()]


def move_behind_a_link(directory: Path, elsewhere: Path) -> None:
    directory.rename(elsewhere)
    directory.symlink_to(elsewhere)


@pytest.mark.parametrize("name", [f"{FILE_NAME}.broken-20260101T000000-abcdef", f".{FILE_NAME}.0123456789ab"])
async def test_broken_and_unfinished_copies_of_the_sign_ins_are_removed(
    store: TokenStore, directory: Path, name: str
) -> None:
    await store.write(HOSTS, TOKEN)
    await store.write(WORK, WORK_TOKEN)
    (directory / name).write_text((directory / FILE_NAME).read_text()[:-3])

    await store.delete(HOSTS)

    assert holders(directory) == []
    assert holders(directory, "canary-of-another-provider") == [FILE_NAME]


async def test_the_token_for_a_former_host_of_the_provider_is_deleted_too(
    store: TokenStore, directory: Path
) -> None:
    former = github_hosts("acme.ghe.com", provider="copilot")
    await store.write(former, TOKEN)
    await store.write(HOSTS, TOKEN)

    await store.delete(HOSTS)

    assert holders(directory) == []
    assert (await store.read(former)).token is None


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_on_a_full_disk_the_token_is_overwritten_and_other_sign_ins_stay(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    mount = f"mount -t tmpfs -o size=64k,mode=700 tmpfs {tmp_path}"
    if unshare is None or subprocess.run([unshare, "-Urm", "sh", "-c", mount], check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here")

    command = f'{mount} && exec "$@"'
    program = [sys.executable, "-c", ON_A_FULL_DISK, str(tmp_path / "auth")]
    subprocess.run([unshare, "-Urm", "sh", "-c", command, "sh", *program], check=True, timeout=60, cwd=ROOT)


async def test_a_copy_that_cannot_be_removed_is_reported(store: TokenStore, directory: Path) -> None:
    await store.write(HOSTS, TOKEN)
    stubborn = directory / f"{FILE_NAME}.broken-x"
    (stubborn / "not-empty").mkdir(parents=True)

    with pytest.raises(ConfigError) as caught:
        await store.delete(HOSTS)

    assert str(stubborn) in caught.value.message
    assert holders(directory) == []


@pytest.mark.skipif(os.name == "nt", reason="uses POSIX links")
async def test_a_linked_directory_is_refused_and_reported(
    store: TokenStore, directory: Path, tmp_path: Path
) -> None:
    await store.write(HOSTS, TOKEN)
    move_behind_a_link(directory, tmp_path / "elsewhere")
    before = holders(directory)

    for attempt in (store.read(HOSTS), store.write(WORK, WORK_TOKEN), store.delete(HOSTS)):
        with pytest.raises(ConfigError, match=r"auth is a symbolic link") as caught:
            await attempt
    assert str(directory / FILE_NAME) in caught.value.message
    assert holders(directory) == before
    assert holders(directory, "canary-of-another-provider") == []


@pytest.fixture
def shared(directory: Path, http: HttpClient, upstream: FakeUpstream) -> list[CopilotCredential]:
    """Return three credentials that share a directory: for two sign-ins of `copilot` and one of `work`."""
    upstream.default(Reply.json({"token": "tid=canary;x=1", "refresh_in": 1500}), path=EXCHANGE)
    places = {"github_url": upstream.origin, "api_url": upstream.origin}
    return [
        CopilotCredential(
            http,
            github_hosts(provider=provider, **places),
            SignIn(Secret(token), "file"),
            directory=directory,
        )
        for provider, token in (("copilot", "ghu_one"), ("copilot", "ghu_two"), ("work", "ghu_one"))
    ]


async def test_short_lived_tokens_of_every_sign_in_of_the_provider_are_removed(
    hosts: GitHubHosts, shared: list[CopilotCredential], directory: Path
) -> None:
    await shared[2].get_bearer()
    (of_work,) = holders(directory, "tid=canary")
    for tokens in shared[:2]:
        await tokens.get_bearer()
    for name in set(holders(directory, "tid=canary")) - {of_work}:
        for copy in (f"{name}.broken-20260101T000000-abcdef", f".{name}.0123456789ab"):
            (directory / copy).write_text("tid=canary")

    await forget_shared_tokens(hosts, directory=directory)

    assert holders(directory, "tid=canary") == [of_work]


async def test_a_token_of_a_pending_exchange_is_not_stored(
    hosts: GitHubHosts, shared: list[CopilotCredential], directory: Path, upstream: FakeUpstream
) -> None:
    gate = Gate()
    body = json.dumps({"token": "tid=canary;x=1", "refresh_in": 1500}).encode()
    upstream.script(Reply((gate, body)), path=EXCHANGE)
    exchange = asyncio.ensure_future(shared[0].get_bearer())
    await upstream.wait_for_request()

    erasing = asyncio.ensure_future(forget_shared_tokens(hosts, directory=directory))
    done, _ = await asyncio.wait({erasing}, timeout=0.2)
    assert not done
    gate.open()
    async with asyncio.timeout(10):
        await asyncio.gather(exchange, erasing)

    assert holders(directory, "tid=canary") == []
