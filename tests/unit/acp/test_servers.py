"""The servers of conversations are released when the client leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.params import StdioServerParam
from jumpseat.acp.servers import create_servers
from jumpseat.connections.outbox import Outbox
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.system.shared import Shared
from jumpseat.tools.server import CallContext
from jumpseat.tools.workspace import Workspace
from jumpseat.wire import encode_frame
from tests.fakes import mcp_server
from tests.processes import is_running
from tests.unit.connections.recorder import RecordingWriter
from tests.unit.tools.mcp.clients import Record
from tests.unit.tools.scripted_server import make_call, make_host


@pytest.mark.requirement("12:acp-servers")
async def test_the_servers_of_a_client_end_with_its_connection(home: Path, tmp_path: Path) -> None:
    record, base = Record(tmp_path / "record"), environment_of_process()
    environment = Environment(base.variables, base.directory, base.places, Shared())
    client = AcpClient(
        Outbox(RecordingWriter(), encode_frame),
        environment,
        config_file=None,
        stop=lambda: None,
        cancel=lambda request_id: False,
        watch_parent=lambda process_id: None,
    )
    command, *args = mcp_server.command("--record", str(record.path))
    servers = create_servers(client, [StdioServerParam(name="fake", command=command, args=args)])
    client.open_conversations["one"] = AcpConversation("one", tmp_path, servers=servers)
    host = make_host(environment=environment, allow=["fake/*"])
    context = CallContext(environment, Workspace([tmp_path]), "one")
    tools = host.begin_turn(["fake/*"], context, turn_id="t", own_servers=servers)
    assert list(await tools.open([], lambda event: None)) == []
    result = await tools.run(make_call("fake__echo"), lambda event: None)
    await tools.aclose()
    assert not result.is_error
    assert list(map(is_running, record.pids())) == [True]

    await client.aclose()
    await host.aclose()

    assert await record.wait_until_gone()
