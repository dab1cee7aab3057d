"""A sign-in over the wire sets the default provider unless the configuration does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import Account, Adapter, AuthState, AuthStatus, OnPrompt
from jumpseat.config import SavedSettings
from jumpseat.connections.connection import ClientConnection
from jumpseat.rpc.contract import CONTRACT
from jumpseat.system.environment import environment_of_process
from jumpseat.wire import encode_frame, write_json
from tests.unit.connections.recorder import RecordingWriter
from tests.unit.scripted import ScriptedAdapter, registry_of


class AccountWithSignIn(Account):
    """An account whose sign-in ends in the given state."""

    def __init__(self, provider: str, state: AuthState) -> None:
        super().__init__(provider)
        self.state = state

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        return AuthStatus(provider=self._provider, state=self.state)


def adapter_with_sign_in(name: str, state: AuthState) -> Adapter:
    adapter: Adapter = ScriptedAdapter(name=name)
    adapter.account = AccountWithSignIn(name, state)
    return adapter


@pytest.mark.requirement("4:sign-in-default")
@pytest.mark.parametrize(
    ("state", "configured", "expected"),
    [
        ("signed_in", {}, "b"),
        ("signed_in", {"default_provider": "a"}, None),
        ("not_authorized", {}, None),
        ("not_required", {}, None),
    ],
)
async def test_a_successful_sign_in_saves_the_default_unless_one_is_configured(
    home: Path, state: AuthState, configured: dict[str, Any], expected: str | None
) -> None:
    writer = RecordingWriter()
    connection = ClientConnection(
        writer,
        CONTRACT,
        environment=environment_of_process(),
        config_file=None,
        stop=lambda: None,
        watch_parent=lambda process_id: None,
    )

    async def request(request_id: int, method: str, params: dict[str, Any]) -> Any:
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        connection.receive(encode_frame(write_json(message)))
        messages = await writer.wait_until(lambda sent: any(each.get("id") == request_id for each in sent))
        return next(each for each in messages if each.get("id") == request_id)["result"]

    await request(1, "initialize", {})
    saved = SavedSettings(home / "settings.json")
    connection.session.registry = registry_of(
        ScriptedAdapter(name="a"), adapter_with_sign_in("b", state), saved=saved, **configured
    )

    assert (await request(2, "auth/signIn", {"provider": "b"}))["state"] == state
    result = await request(3, "settings/get", {})
    assert result["settings"].get("default_provider") == expected
    await connection.session.aclose()
