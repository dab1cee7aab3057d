"""A Neovim process with the plug-in, driven over its own RPC; screens are read as text."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgpack

from tests.daemon import environment_of
from tests.editors.programs import WAIT_SECONDS, connect, program
from tests.hub import directory_for_sockets

PLUGIN = Path(__file__).parents[3] / "editors" / "neovim"
WAIT_MS = round(WAIT_SECONDS * 1000)

LINES, COLUMNS = 24, 80

_SCREEN = """
vim.cmd('redraw!')
local rows = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
  rows[row] = (table.concat(cells):gsub('%s+$', ''))
end
return table.concat(rows, '\\n')
"""

_MESSAGES = """
_G.messages = {}
vim.notify = function(text, level) table.insert(_G.messages, text) end
"""


_WAIT_FOR_START = """
-- Wait for a daemon that is starting. Otherwise the test could not find it to end it, and it would stay.
local client = package.loaded['jumpseat.daemon.client']
if not client then return end
vim.wait(..., function()
  local name, connection = debug.getupvalue(client.info, 1)
  assert(name == 'connection')
  return not connection or connection.state ~= 'starting'
end, 5)
"""


_CHOOSE = """
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


class Child:
    """One Neovim. Its global Lua variable `messages` contains the notifications of the plug-in."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._answers = msgpack.Unpacker()
        self._requests = 0
        self._ended = False
        self.lua(_MESSAGES)

    def _send(self, method: str, arguments: Sequence[Any]) -> None:
        self._requests += 1
        self._connection.sendall(msgpack.packb([0, self._requests, method, arguments]))

    def _request(self, method: str, *arguments: Any) -> Any:
        """Send [0, id, method, params], and wait for [1, id, error, result] (MessagePack-RPC).

        Neovim sends the changes of the screen in between, as [2, method, params].
        """
        self._send(method, arguments)
        while True:
            for kind, number, *rest in self._answers:
                if (kind, number) == (1, self._requests):
                    error, result = rest
                    assert error is None, error
                    return result
            received = self._connection.recv(1 << 16)
            assert received, "Neovim has ended"
            self._answers.feed(received)

    def quit(self) -> None:
        """Check that Neovim has not reported an error, and tell it to exit, but do not wait for the exit."""
        if self._ended:
            return
        self._ended = True
        self.lua(_WAIT_FOR_START, WAIT_MS)
        messages = self._request("nvim_exec2", "messages", {"output": True})["output"]
        assert "stack traceback" not in messages, messages
        with contextlib.suppress(OSError):
            # A notification: Neovim does not end within a request.
            self._connection.sendall(msgpack.packb([2, "nvim_command", ["qall!"]]))

    def wait_for_end(self) -> None:
        """Wait until Neovim has ended by itself."""
        while self._connection.recv(1 << 16):
            pass
        self._ended = True

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua and return its value."""
        return self._request("nvim_exec_lua", code, arguments)

    def command(self, text: str) -> None:
        """Run an Ex command."""
        self._request("nvim_command", text)

    def keys(self, text: str) -> None:
        """Type keys, such as `ifoo<Esc>`, and wait until Neovim has handled them."""
        self._request("nvim_input", text)
        self.lua("return vim.wait(20, function() return false end)")

    def wait(self, condition: str) -> None:
        """Wait until a Lua expression is true."""
        done = self.lua(f"return (vim.wait({WAIT_MS}, function() return ({condition}) end, 5))")
        assert done, f"timed out: {condition}\n{self.screen}\n{self.messages}"

    @property
    def screen(self) -> str:
        """The text on the screen, without blanks at the ends of lines."""
        return str(self.lua(_SCREEN))

    def wait_for_text(self, text: str) -> None:
        """Wait until the text is on the screen."""
        code = f"""
        local text = ...
        local function screen() {_SCREEN} end
        return (vim.wait({WAIT_MS}, function() return screen():find(text, 1, true) ~= nil end, 20))
        """
        assert self.lua(code, text), f"{text!r} is not on the screen:\n{self.screen}"

    def script_choices(self, *choices: str) -> None:
        """Answer each following menu with the first item that contains the next text; record its prompt."""
        self.lua(_CHOOSE, list(choices))

    def wait_for_choices(self) -> None:
        """Wait until all choices of `script_choices` have been made."""
        self.wait("#_G.choices == 0")

    @property
    def text(self) -> str:
        """The text of the current buffer."""
        return "\n".join(self._request("nvim_buf_get_lines", 0, 0, -1, False))

    @property
    def body(self) -> str:
        """The text of the chat in the current buffer, without its front matter."""
        return re.sub(r"\A---\n.*?\n---\n\n", "", self.text, flags=re.DOTALL)

    def write(self, text: str) -> None:
        """Add a text at the end of the current buffer, as its last lines."""
        self.lua(
            """
            local lines = vim.split(..., '\\n', { plain = true })
            local last = vim.api.nvim_buf_get_lines(0, -2, -1, false)[1]
            vim.api.nvim_buf_set_text(0, -1, #last, -1, #last, lines)
            vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })
            """,
            text,
        )

    def ask(self, question: str) -> None:
        """Write a question into the chat and send it."""
        self.write(question)
        self.send()

    def send(self) -> None:
        """Send the chat."""
        self.command("Jumpseat send")

    def stop(self) -> None:
        """Stop the answer."""
        self.command("Jumpseat stop")

    def wait_until_idle(self) -> None:
        """Wait until no chat and no edit runs."""
        self.wait("require('jumpseat.display.view').status(vim.api.nvim_get_current_buf()).state == nil")

    def attach_terminal(self) -> None:
        """Attach a terminal, so that Neovim shows messages, asks questions and waits for ENTER."""
        self.lua("vim.notify = function(text) vim.api.nvim_echo({ { text } }, true, {}) end")
        self._request("nvim_ui_attach", COLUMNS, LINES, {})

    def type_answer(self, text: str) -> None:
        """Wait for a question of Neovim, and type the answer."""
        self.wait_for_mode("c")
        self._request("nvim_input", text)

    def wait_for_mode(self, *modes: str) -> str:
        """Wait until Neovim is in one of these modes: "c" at a question, "r" when it waits for ENTER."""
        deadline = time.monotonic() + WAIT_SECONDS
        while (mode := self._request("nvim_get_mode")["mode"]) not in modes:
            assert time.monotonic() < deadline, mode
            time.sleep(0.01)
        return str(mode)

    @property
    def messages(self) -> list[str]:
        """The notifications that the plug-in has shown."""
        return list(self.lua("return _G.messages"))


@contextlib.contextmanager
def running_neovim(
    home: Path, *files: str, options: Mapping[str, Any] | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Run a Neovim whose directories, and those of its daemon, are below `home`. The daemon keeps running."""
    executable = program("nvim")
    variables = {
        **os.environ,
        **environment_of(home),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "nvim-config"),
        "XDG_DATA_HOME": str(home / "nvim-data"),
        "XDG_STATE_HOME": str(home / "nvim-state"),
        **(env or {}),
    }
    settings = {"window": "enew", "command": [sys.executable, "-P", "-m", "jumpseat"], **(options or {})}
    with directory_for_sockets() as directory:
        address = directory / "nvim"
        process = subprocess.Popen(
            [
                *(executable, "--headless", "--clean", "-n", "-i", "NONE", "--listen", str(address)),
                *("--cmd", f"set lines={LINES} columns={COLUMNS} rtp^={PLUGIN}"),
                *("--cmd", f"lua vim.g.jumpseat = vim.json.decode([==[{json.dumps(settings)}]==])"),
                *files,
            ],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(address, "Neovim") as connection:
                child = Child(connection)
                yield child
                child.quit()
                # Keep the connection open: Neovim may drop messages of a connection that is closed.
                process.wait(WAIT_SECONDS)
        finally:
            process.kill()
            process.wait()
