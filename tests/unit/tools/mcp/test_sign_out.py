"""Signing out of servers with OAuth."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.chat import ConfigError
from jumpseat.tools.server import ServerSignIn
from tests.fakes.mcp_http import AuthorizationServer
from tests.unit.tools.mcp.clients import Client
from tests.unit.tools.mcp.sign_ins import Connect, Person, make_config, stored_file

pytestmark = pytest.mark.requirement("12:mcp-oauth")


async def test_signing_out_forgets_everything(
    client: Client, authorization: AuthorizationServer, home: Path
) -> None:
    person = Person(authorization)
    await person.sign_in(client)
    copy = stored_file(home).with_name("mcp_sign_ins.json.broken-1")
    copy.write_bytes(stored_file(home).read_bytes())
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        assert (await client.host.servers["fake"].sign_out()) == ServerSignIn("signed_out")
        assert client.status("fake").state == "stopped"
        assert (await turn.call("fake__echo")).text == "The server fake needs a sign-in."

    content = b"".join(path.read_bytes() for path in stored_file(home).parent.iterdir() if path.is_file())
    assert not any(word in content for word in (b"-token-", b"client-"))
    await person.sign_in(client)
    assert authorization.registrations == 2


async def test_a_copy_that_cannot_be_removed_is_named(
    client: Client, authorization: AuthorizationServer, home: Path
) -> None:
    await Person(authorization).sign_in(client)
    stored_file(home).with_name(".mcp_sign_ins.json.left").mkdir()
    with pytest.raises(ConfigError, match=r"this file still has a copy: .*\.mcp_sign_ins\.json\.left"):
        await client.host.servers["fake"].sign_out()

    assert (await client.host.servers["fake"].read_sign_in()).state == "signed_out"


async def test_a_sign_out_in_another_process_ends_the_use_of_the_token(
    client: Client, authorization: AuthorizationServer, connect: Connect
) -> None:
    await Person(authorization).sign_in(client)
    another = connect(make_config(authorization.endpoint), shared=None)
    async with client.turn("fake/*") as turn:
        await turn.call("fake__echo")
        await another.host.servers["fake"].sign_out()
        assert (await turn.call("fake__echo")).text == "The server fake needs a sign-in."

    assert (await client.host.servers["fake"].read_sign_in()).state == "signed_out"
