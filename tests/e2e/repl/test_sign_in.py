"""Sign-ins in a conversation, on a real terminal with the real daemon."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.copilot import configure, table
from tests.emulator import CopilotEmulator
from tests.fakes.typist import Typist, typists

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]
Start = Callable[..., Typist]


async def test_a_sign_in_is_offered_and_done_in_the_conversation(
    home: Path, emulator: CopilotEmulator, tmp_path: Path
) -> None:
    emulator.devices.interval = 0.05
    configure(home, table(emulator))
    browser = tmp_path / "xdg-open"
    browser.write_text("#!/bin/sh\n", "utf-8")
    browser.chmod(0o700)
    with typists() as start:
        person = start("chat", PATH=f"{tmp_path}:{os.environ['PATH']}")

        def sign_in() -> None:
            person.see("Sign in to GitHub Copilot now? [y/N]")
            person.enter("y")
            person.see("Then open this page and enter it:")

        await asyncio.to_thread(sign_in)
        found = re.search("First copy this code: ([A-Z0-9-]+)", person.shown)
        assert found is not None
        emulator.approve(found[1])

        def chat() -> str:
            person.see("Signed in to")
            person.enter("Hi")
            person.see("tokens in")
            return person.leave()

        assert "as octocat" in await asyncio.to_thread(chat)


def test_a_sign_in_is_offered_if_no_provider_is_ready(home: Path) -> None:
    person = Typist("chat")
    person.see("Sign in to GitHub Copilot now? [y/N]")
    assert "No provider is ready:" in person.shown
    assert "local install" in person.text
    person.enter("n")
    person.see("> Ask something")
    person.enter("Hi")
    person.see("hint:")
    person.leave()
