"""`python -m tests.emulator` as a program: its output, sign-in page and table for config.toml."""

import asyncio
import contextlib
import sys
import tomllib
from pathlib import Path

import httpx2
import pytest

from tests.emulator.credentials import PLUGIN_APP
from tests.emulator.device_flow import GRANT_TYPE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 30.0
JSON = {"Accept": "application/json"}


@contextlib.asynccontextmanager
async def running(*options):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.emulator", *options, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def test_the_printed_table_and_page_sign_in_to_the_emulator():
    async with running("--port", "0", "--plan", "business", "--token") as process:
        printed = b""
        while b"Approve codes at" not in printed:
            line = await process.stdout.readline()
            assert line, printed
            printed += line
        table = tomllib.loads(printed.decode().partition("Approve")[0])["providers"]["copilot"]
        assert table["kind"] == "copilot"
        async with httpx2.AsyncClient(trust_env=False) as http:
            started = {"client_id": PLUGIN_APP, "scope": "read:user"}
            answer = await http.post(f"{table['github_url']}/login/device/code", json=started, headers=JSON)
            device = answer.json()
            decided = {"user_code": device["user_code"], "login": "octocat", "decision": "approve"}
            assert (await http.post(device["verification_uri"], data=decided)).status_code == 200
            polled = {**started, "device_code": device["device_code"], "grant_type": GRANT_TYPE}
            url = f"{table['github_url']}/login/oauth/access_token"
            token = (await http.post(url, json=polled, headers=JSON)).json()["access_token"]
            headers = {"Authorization": f"Bearer {token}"}
            user = await http.get(f"{table['api_url']}/copilot_internal/user", headers=headers)
            assert user.json()["copilot_plan"] == "business"
            question = {"messages": [{"role": "user", "content": "Hi"}]}
            url = f"{table['copilot_url']}/chat/completions"
            said = (await http.post(url, json=question, headers=headers)).json()
            assert said["choices"][0]["message"]["content"] == "You said: Hi"
        while b"/chat/completions" not in line:
            line = await process.stdout.readline()
            assert line
        assert line.split()[:4] == [b"200", b"copilot", b"POST", b"/chat/completions"]
        assert token.encode() not in line


async def test_the_help_has_examples():
    async with running("--help") as process:
        printed, _ = await process.communicate()
    assert b"--plan business" in printed
    assert b"use the tool NAME" in printed


async def test_a_port_in_use_is_reported_in_one_line(upstream):
    port = upstream.origin.rpartition(":")[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.emulator", "--port", port, cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(WAIT_SECONDS):
        _, said = await process.communicate()
    assert process.returncode == 1
    assert b"Choose other ports with --port." in said
    assert b"Traceback" not in said
