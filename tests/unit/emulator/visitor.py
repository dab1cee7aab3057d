"""A plain HTTP client of the emulator, which sends the headers of an editor."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from tests.emulator import CopilotEmulator
from tests.emulator.credentials import PLUGIN_APP
from tests.emulator.device_flow import GRANT_TYPE

EDITOR = {"Editor-Version": "Neovim/0.11.0", "Copilot-Integration-Id": "vscode-chat"}
JSON = {"Accept": "application/json"}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Visitor:
    """A user, before or after the sign-in."""

    def __init__(self, emulator: CopilotEmulator, http: httpx2.AsyncClient) -> None:
        self.emulator = emulator
        self.http = http
        self.token = ""

    async def start(self, client_id: str = PLUGIN_APP, scope: str = "read:user") -> dict[str, Any]:
        """Ask for a device code."""
        body = {"client_id": client_id, "scope": scope}
        answer = await self.http.post(
            f"{self.emulator.github_url}/login/device/code", json=body, headers=JSON
        )
        assert answer.status_code == 200
        return answer.json()

    async def poll(self, device_code: str, client_id: str = PLUGIN_APP, **more: str) -> dict[str, Any]:
        """Advance the clock by `after` seconds, and poll once."""
        self.emulator.clock.advance(more.pop("after", 60))
        body = {"client_id": client_id, "device_code": device_code, "grant_type": GRANT_TYPE, **more}
        url = f"{self.emulator.github_url}/login/oauth/access_token"
        answer = await self.http.post(url, json=body, headers=JSON)
        assert answer.status_code == 200
        return answer.json()

    async def rest(self, path: str, token: str | None = None, scheme: str = "token") -> httpx2.Response:
        """GET from the REST plane."""
        headers = {"Authorization": f"{scheme} {token}"} if token is not None else {}
        return await self.http.get(f"{self.emulator.api_url}{path}", headers=headers)

    async def exchange(self, token: str | None = None) -> str:
        """Exchange a GitHub token for a Copilot token, and keep it for later requests."""
        answer = await self.rest("/copilot_internal/v2/token", token or self.emulator.issue_token())
        assert answer.status_code == 200, answer.text
        self.token = answer.json()["token"]
        return self.token

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        """GET from the data plane that serves every plan."""
        return await self.http.get(f"{self.emulator.copilot_url}{path}", headers=self.headers(**headers))

    async def post(self, path: str, body: Any, base: str | None = None, **headers: str) -> httpx2.Response:
        """POST to the data plane that serves every plan, or to another host."""
        url = f"{base or self.emulator.copilot_url}{path}"
        return await self.http.post(url, json=body, headers=self.headers(**headers))

    async def chat(self, text: str, model: str = "gpt-4.1", **headers: str) -> httpx2.Response:
        """Send one chat completions request whose answer is not streamed."""
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        return await self.post("/chat/completions", body, **headers)

    def headers(self, **more: str) -> dict[str, str]:
        """Return an editor's headers with `more`, where `_` in a name becomes `-` and "" removes a header."""
        named = {name.replace("_", "-").lower(): value for name, value in more.items()}
        known = {name.lower(): value for name, value in EDITOR.items()}
        merged = {"authorization": f"Bearer {self.token}", **known, **named}
        return {name: value for name, value in merged.items() if value}


def chunks(answer: httpx2.Response) -> list[Any]:
    """Return the data lines of an event stream: parsed if they are JSON objects, otherwise as text."""
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) if line.startswith("{") else line for line in lines]
