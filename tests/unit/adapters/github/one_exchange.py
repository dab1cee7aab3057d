"""A program that obtains Copilot tokens as a daemon does.

Arguments: the fake's origin, the directory, the number of rounds. In each round, the program prints "ready",
waits for a line, obtains a token and prints it. From the second round on, it first discards the previous
token as one that Copilot's API has refused.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from jumpseat.adapters.github.copilot.credential import CopilotCredential
from jumpseat.adapters.github.hosts import github_hosts
from jumpseat.adapters.github.sign_in.tokens import SignIn
from jumpseat.http import HttpClient
from jumpseat.system.secrets import Secret


class SkippingClock:
    """The system's clocks, which each round advances: refusals in quick succession do not cause exchanges."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def now(self) -> float:
        return time.time() + self.skipped

    def monotonic(self) -> float:
        return time.monotonic() + self.skipped

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def main(origin: str, directory: Path, rounds: int) -> None:
    hosts = github_hosts(provider="copilot", github_url=origin, api_url=origin)
    sign_in = SignIn(Secret("ghu_canary-of-eight"), "file")
    http, clock = HttpClient(), SkippingClock()
    tokens = CopilotCredential(http, hosts, sign_in, directory=directory, clock=clock, jitter=lambda: 0.0)
    credential = None
    for _ in range(rounds):
        print("ready", flush=True)
        if not await asyncio.to_thread(sys.stdin.readline):
            break
        if credential is not None:
            clock.skipped += 100.0
            await tokens.discard_bearer(credential)
        credential = await tokens.get_bearer()
        print(credential.token.reveal(), flush=True)
    await tokens.aclose()
    await http.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
