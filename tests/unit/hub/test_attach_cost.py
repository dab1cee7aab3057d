"""`jumpseat attach` imports little, because editors wait for it and each client has its own process."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from tests.hub import Hub

SCRIPT = """\
import sys
from jumpseat_cli.__main__ import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""

MAX_MODULES = 125
"""Python itself loads about 60 modules, and 105 with pathlib, json and socket. asyncio would add 60."""

FORBIDDEN = {
    *("asyncio", "argparse", "click", "dataclasses", "inspect", "logging", "lsprotocol", "pydantic", "pygls"),
    *("ssl", "subprocess", "tempfile", "threading", "tomllib", "jumpseat.rpc", "jumpseat.config"),
    *("jumpseat_client.client", "jumpseat.hub.hub", "jumpseat.system.state_file"),
}


def modules_after(argument: str, code: int) -> set[str]:
    """Return the modules that are loaded when the command ends."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, argument],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return set(done.stderr.split())


@pytest.mark.requirement("9:lean")
async def test_attach_imports_only_light_modules_with_a_warm_daemon(hub: Hub) -> None:
    async with hub.client() as client:
        await client.initialize()
        modules = await asyncio.to_thread(modules_after, "attach", 1)

    assert "jumpseat.hub.attach" in modules
    assert modules & FORBIDDEN == set()
    assert len(modules) < MAX_MODULES


def test_the_version_is_printed_without_the_command_line_library() -> None:
    assert not {"click", "rich", "asyncio", "jumpseat.wire"} & modules_after("--version", 0)
