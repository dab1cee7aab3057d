"""Signing in, in one Emacs and in another, and the quota, against the emulator of GitHub's services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.copilot import configure, table
from tests.editors.emacs.child import Child, running_emacs
from tests.emulator import CopilotEmulator

pytestmark = [pytest.mark.editor, pytest.mark.slow]


class Emacsen:
    """Emacsen of one user; each call runs on a thread, because the emulator needs the event loop."""

    def __init__(self, home: Path, package: Path, stack: ExitStack) -> None:
        self._home, self._package, self._stack = home, package, stack

    async def start(self) -> Child:
        running = running_emacs(self._home, package=self._package)
        return await asyncio.to_thread(self._stack.enter_context, running)


async def run(step: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.to_thread(step, *arguments)


@pytest.fixture
async def emulator(empty_home: Path) -> AsyncIterator[CopilotEmulator]:
    async with CopilotEmulator() as running:
        running.add_account()
        running.devices.interval = 0.05
        configure(empty_home, table(running))
        yield running


@pytest.fixture
async def emacsen(empty_home: Path, package: Path, emulator: CopilotEmulator) -> AsyncIterator[Emacsen]:
    stack = ExitStack()
    yield Emacsen(empty_home, package, stack)
    await asyncio.to_thread(stack.close)


async def sign_in(child: Child, emulator: CopilotEmulator) -> str:
    """Sign in, and return the screen with the code."""
    await run(child.eval, '(jumpseat-login "copilot")')
    await run(child.sees, "Code:  ")
    screen = child.screen
    code = screen.partition("Code:  ")[2].split()[0]
    assert await run(child.eval, "(current-kill 0)") == code
    emulator.approve(code, "octocat")
    await run(child.said, "Signed in to copilot as octocat.")
    return screen


@pytest.mark.scenario("sign-in", "quota")
async def test_a_user_signs_in_by_code_and_page_and_sees_the_quota(emacsen, emulator):
    child = await emacsen.start()
    screen = await sign_in(child, emulator)
    assert f"Page:  {emulator.github_url}/login/device" in screen
    await run(child.wait, '(not (get-buffer "*jumpseat sign-in*"))')

    await run(child.command, "jumpseat")
    await run(child.ask, "Hello")
    await run(child.sees, "You said: Hello")
    await run(child.idle)
    await run(child.sees, "% left")
    await run(child.command, "jumpseat-status")
    await run(child.sees, "copilot: signed in as octocat")


async def test_a_sign_in_whose_window_is_closed_is_cancelled(emacsen, emulator):
    child = await emacsen.start()
    await run(child.eval, '(jumpseat-login "copilot")')
    await run(child.sees, "Code:  ")
    await run(child.keys, "q")
    await run(child.said, "The sign-in was cancelled.")
    await run(child.sees_no_more, "Code:  ")


@pytest.mark.scenario("sign-out-elsewhere")
async def test_a_sign_out_in_another_emacs_is_noticed(emacsen, emulator):
    first, second = await emacsen.start(), await emacsen.start()
    await sign_in(first, emulator)
    await run(second.command, "jumpseat")
    await run(second.ask, "Hello")
    await run(second.sees, "You said: Hello")
    await run(second.idle)
    await run(first.eval, '(jumpseat-logout "copilot")')
    await run(second.said, "You are signed out of copilot.")
    await run(first.said, "copilot: signed out.")
    assert len(await run(lambda: first.messages)) == 2
