"""Signing in, in one Neovim and in another, and the quota, against the emulator of GitHub's services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.copilot import configure, table
from tests.editors.neovim.child import Child, running_neovim
from tests.emulator import CopilotEmulator

pytestmark = [pytest.mark.editor, pytest.mark.slow]


class Neovims:
    """Neovims of one user; each call runs on a thread, because the emulator needs the event loop."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self._home, self._stack = home, stack

    async def start(self) -> Child:
        running = running_neovim(self._home, options={"open_browser": False})
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
async def neovims(empty_home: Path, emulator: CopilotEmulator) -> AsyncIterator[Neovims]:
    stack = ExitStack()
    yield Neovims(empty_home, stack)
    await asyncio.to_thread(stack.close)


async def sign_in(child: Child, emulator: CopilotEmulator) -> str:
    """Sign in, and return the screen with the code."""
    await run(child.command, "JumpseatLogin copilot")
    await run(child.sees, "Code:  ")
    screen = await run(child.screen)
    code = screen.partition("Code:  ")[2].split()[0].rstrip("│")
    emulator.approve(code, "octocat")
    await run(child.wait, "#_G.messages > 0")
    return str(screen)


@pytest.mark.scenario("sign-in", "quota")
async def test_a_user_signs_in_by_code_and_page_and_sees_the_quota(neovims, emulator):
    child = await neovims.start()
    screen = await sign_in(child, emulator)
    assert f"Page:  {emulator.github_url}/login/device" in screen
    assert await run(lambda: child.messages) == ["jumpseat: Signed in to copilot as octocat."]
    await run(child.wait, "#vim.api.nvim_list_wins() == 1")

    await run(child.command, "Jumpseat")
    await run(child.ask, "Hello")
    await run(child.idle)
    await run(child.sees, "% left")
    assert "You said: Hello" in await run(lambda: child.text)
    await run(child.command, "JumpseatStatus")
    await run(child.sees, "copilot: signed in as octocat")


async def test_a_sign_in_whose_window_is_closed_is_cancelled(neovims, emulator):
    child = await neovims.start()
    await run(child.command, "JumpseatLogin copilot")
    await run(child.sees, "Code:  ")
    await run(child.keys, "q")
    await run(child.wait, "#_G.messages > 0")
    assert await run(lambda: child.messages) == ["jumpseat: The sign-in was cancelled."]


@pytest.mark.scenario("sign-out-elsewhere")
async def test_a_sign_out_in_another_neovim_is_noticed(neovims, emulator):
    first, second = await neovims.start(), await neovims.start()
    await sign_in(first, emulator)
    await run(second.command, "Jumpseat")
    await run(second.ask, "Hello")
    await run(second.idle)
    await run(first.command, "JumpseatLogout copilot")
    await run(second.wait, "#_G.messages > 0")
    assert "You are signed out of copilot." in (await run(lambda: second.messages))[0]
    assert len(await run(lambda: first.messages)) == 2


PICK = """
    _G.prompts, _G.choices = {}, ...
    vim.ui.select = function(items, options, choose)
      table.insert(_G.prompts, options.prompt)
      local wanted = table.remove(_G.choices, 1)
      for _, item in ipairs(items) do
        if (options.format_item or tostring)(item):find(wanted, 1, true) then return choose(item) end
      end
      choose(nil)
    end
"""


@pytest.mark.parametrize("answer", ["Accept", "No"])
async def test_the_terms_of_a_model_are_shown_and_accepted_only_by_the_user(neovims, emulator, answer):
    child = await neovims.start()
    await sign_in(child, emulator)
    await run(child.command, "Jumpseat")
    await run(child.lua, PICK, ["terms not accepted", answer])
    await run(child.command, "JumpseatModel")
    await run(child.wait, "#_G.choices == 0")
    terms = (await run(child.lua, "return _G.prompts"))[1]
    assert terms.endswith("\nAccept the terms for your account?")
    assert len(terms) > 60
    if answer == "Accept":
        named = "vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == 'model: copilot:claude-haiku-4.5'"
        await run(child.wait, named)
    sent = [request.json for request in emulator.requests() if request.path.endswith("/policy")]
    assert sent == ([{"state": "enabled"}] if answer == "Accept" else [])
    assert ("model:" in await run(lambda: child.text)) is (answer == "Accept")
