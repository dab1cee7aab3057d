"""Turns HTML into text in a child process (`html_program.py`) that does not outlive the request."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from jumpseat.chat import ProtocolError
from jumpseat.context.html_program import PageOrder, PageText
from jumpseat.system.child import Child

_PASSED_ON_VARIABLES = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""The environment variables that Python may need; none of them contains a credential."""

_OUTPUT_FACTOR = 8
"""The maximum size of the output as a multiple of the text's size. JSON escapes make the output larger."""


async def read_html(html: bytes, order: PageOrder, variables: Mapping[str, str]) -> PageText:
    """Return the title and the text of a page. If the caller is cancelled, the process is killed.

    Args:
        html: the page, or its beginning.
        order: how to read the page.
        variables: the environment variables of the client.

    Raises:
        ProtocolError: the page needs too much memory, or crashes the parser.
    """
    process = _Process(order["max_bytes"] * _OUTPUT_FACTOR)
    try:
        # -P: a file in the working directory must not be imported as a module.
        await process.start(
            [sys.executable, "-P", "-m", "jumpseat.context.html_program"],
            env={name: variables[name] for name in _PASSED_ON_VARIABLES if name in variables},
            directory=Path(Path(sys.executable).anchor),
        )
        process.write(json.dumps(order).encode() + b"\n")
        process.write(html)
        await process.wait_until_ended()
    finally:
        await process.stop(0)
    if process.return_code != 0:
        raise ProtocolError("The page cannot be turned into text, because its HTML is too complex.")
    result: PageText = json.loads(process.output)
    return result


class _Process(Child):
    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.output = bytearray()
        self._max_bytes = max_bytes

    def on_output(self, data: bytes) -> None:
        self.output += data
        if len(self.output) > self._max_bytes:
            self.kill()
