"""A program that kills processes while they write a sign-in.

Arguments: the directory, and the number of kills. The program exits with 0 if the file was complete and
private after each kill.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import stat
import sys
import time
from pathlib import Path

from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.sign_in.store import FILE_NAME, TokenStore
from jumpseat.system.keyring_storage import BoundedKeyring
from jumpseat.system.secrets import Secret

HOSTS = github_hosts(provider="copilot")


def main(directory: Path, rounds: int) -> None:
    store = TokenStore(directory, keyring=BoundedKeyring(lambda: None))
    asyncio.run(store.write(HOSTS, token(0, 0)))
    for number in range(1, rounds + 1):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            asyncio.run(write_for_ever(directory, number, writer))
        os.read(reader, 1)  # Wait until the child has written the sign-in once.
        os.close(reader)
        os.close(writer)
        until = time.perf_counter() + random.random() * 0.01
        while time.perf_counter() < until:
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kept = asyncio.run(store.read(HOSTS)).token
        assert kept is not None, "the sign-in is gone"
        assert kept.reveal().startswith((f"ghu_{number}_", f"ghu_{number - 1}_")), (
            "the token is neither the old nor the new one"
        )
        assert len(kept.reveal()) > 4000, "the token is truncated"
        assert stat.S_IMODE((directory / FILE_NAME).stat().st_mode) == 0o600
        assert not list(directory.glob("*.broken-*"))


def token(number: int, step: int) -> Secret:
    return Secret(f"ghu_{number}_{step}_" + "x" * 4000)


async def write_for_ever(directory: Path, number: int, started: int) -> None:
    store = TokenStore(directory, keyring=BoundedKeyring(lambda: None))
    step = 0
    while True:
        await store.write(HOSTS, token(number, step))
        if step == 0:
            with contextlib.suppress(OSError):
                os.write(started, b".")
        step += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
