"""The tools of a turn: selectors, limits, and servers that cannot start."""

from __future__ import annotations

import pytest

from jumpseat.chat import (
    InvalidRequestError,
    RequestError,
)
from jumpseat.tools.server import ServerUnavailableError
from tests.unit.tools.recorder import Recorder, open_turn, run
from tests.unit.tools.scripted_server import ScriptedServer, begin_turn, make_host

pytestmark = pytest.mark.usefixtures("home")


async def test_a_denied_tool_is_never_offered() -> None:
    server = ScriptedServer()
    host = make_host(server, deny=["shed/dig"], allow=["shed/*"])
    tools = await open_turn(host)

    assert [tool.name for tool in tools.definitions] == ["shed__rake"]
    assert (await run(tools, Recorder(host))).text == "There is no tool named shed__dig."
    assert server.calls == []
    listed = {each.tool.name: each.decision for each in await host.list_tools()}
    assert listed == {"dig": "deny", "rake": "allow"}


@pytest.mark.requirement("12:selectors")
@pytest.mark.parametrize(
    ("selector", "path"),
    [("shed", "daemonTools.0"), ("/dig", "daemonTools.0"), ("shad/*", "daemonTools.0")],
)
async def test_a_selector_that_names_no_server_is_refused(selector: str, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        begin_turn(make_host(ScriptedServer()), selector)

    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.requirement("12:selectors")
async def test_selectors_choose_tools_of_several_servers_sorted_by_name() -> None:
    host = make_host(ScriptedServer("shed"), ScriptedServer("attic", ("dust", "sweep up")))
    tools = await open_turn(host, "shed/r*", "attic/*")

    assert [tool.name for tool in tools.definitions] == ["attic__dust", "attic__sweep_up", "shed__rake"]


@pytest.mark.requirement("12:max-tools")
async def test_the_error_about_too_many_tools_names_the_largest_servers() -> None:
    host = make_host(ScriptedServer(tools=[f"t{n}" for n in range(5)]), ScriptedServer("attic"), max_tools=6)
    with pytest.raises(RequestError, match=r"7 tools, but at most 6 .* shed \(5\), attic \(2\)"):
        await begin_turn(host, "shed/*", "attic/*").open([], lambda event: None)


@pytest.mark.requirement("12:server-unavailable")
async def test_a_server_that_cannot_start_is_a_warning_with_its_reason() -> None:
    server = ScriptedServer()
    server.unavailable = ServerUnavailableError("shed cannot be started: no key.")
    tools = begin_turn(make_host(server, ScriptedServer("attic")), "shed/*", "attic/*")
    warnings = await tools.open([], lambda event: None)

    assert [(each.code, each.message) for each in warnings] == [
        ("tool_server_unavailable", "shed cannot be started: no key.")
    ]
    assert [tool.name for tool in tools.definitions] == ["attic__dig", "attic__rake"]


@pytest.mark.parametrize(("given", "most"), [(None, 25), (3, 3), (99, 25)])
async def test_a_client_can_only_lower_the_limit_of_rounds(given: int | None, most: int) -> None:
    assert begin_turn(make_host(ScriptedServer()), max_rounds=given).max_rounds == most


async def test_a_turn_may_have_128_tools_by_default_and_a_list_any_number() -> None:
    host = make_host(ScriptedServer(tools=[f"tool{number}" for number in range(10_000)]))
    tools = begin_turn(host)
    with pytest.raises(RequestError, match=r"10000 tools, but at most 128.*shed \(10000\)"):
        await tools.open([], lambda event: None)
    assert len(await host.list_tools()) == 10_000


async def test_a_server_knows_when_a_turn_begins_and_ends() -> None:
    server = ScriptedServer()
    tools = await open_turn(make_host(server), conversation="root")
    assert server.turns == ["begin root"]
    await tools.aclose()

    assert server.turns == ["begin root", "end"]
