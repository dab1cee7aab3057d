"""The clients of a daemon: what their hello says, and their entry in the status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jumpseat.hub.control import MalformedMessageError
from jumpseat.hub.sessions import LEVELS, MAX_NAME_LENGTH, AttachedClient
from jumpseat.system.shared import Shared

OPTIONS = {"config_file": "own.toml", "log_level": "debug", "client_process_id": 7}


def client(**changed: Any) -> AttachedClient:
    """Return the client that sent a hello with these changes."""
    message = {
        "pid": 5,
        "variables": {"A": "b"},
        "directory": "/work",
        "umask": 0o027,
        "places": ["/home/config.toml", "/home/state", "/home/data"],
        "options": {},
        **changed,
    }
    return AttachedClient.from_hello(message, Shared())


def test_a_client_has_the_environment_and_options_of_its_hello() -> None:
    found = client(options=OPTIONS)
    environment = found.environment
    assert (found.pid, environment.variables["A"], environment.umask) == (5, "b", 0o027)
    assert environment.directory == Path("/work")
    assert environment.places == (Path("/home/config.toml"), Path("/home/state"), Path("/home/data"))
    assert (found.options.log_level, found.options.client_process_id) == ("debug", 7)
    assert (client().options.log_level, client().options.client_process_id) == ("warning", None)


def test_a_configuration_file_is_relative_to_the_clients_directory() -> None:
    assert client().config_file == Path("/home/config.toml")
    assert client(options=OPTIONS).config_file == Path("/work/own.toml")
    assert client(options={"config_file": "/else/own.toml"}).config_file == Path("/else/own.toml")


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_the_log_is_accepted(level: str) -> None:
    assert client(options={"log_level": level}).options.log_level == level


@pytest.mark.requirement("9:hostile")
@pytest.mark.parametrize(
    "changed",
    [
        {"directory": "work"},
        {"places": ["config.toml", "/home/state", "/home/data"]},
        {"places": ["/home/config.toml", "state", "/home/data"]},
        {"places": ["/home/config.toml", "/home/state", "data"]},
        {"places": ["/a", "/b", "/c", "/d"]},
        {"umask": -1},
        {"umask": 0o1000},
        {"variables": {"A": None}},
        {"pid": None},
        {"options": None},
        {"options": {"log_level": "loud"}},
        {"options": {"client_process_id": "7"}},
        {"options": {"config_file": 7}},
    ],
)
def test_a_hello_with_a_wrong_value_is_malformed(changed: dict[str, Any]) -> None:
    with pytest.raises(MalformedMessageError):
        client(**changed)


@pytest.mark.parametrize("umask", [0, 0o777])
def test_every_umask_is_accepted(umask: int) -> None:
    assert client(umask=umask).environment.umask == umask


def make_client_with_session(name: str | None, version: str | None, *turns: str | None) -> AttachedClient:
    """Return a client with a session of this name, and requests in flight with these turns."""
    found = client()
    found.session = SimpleNamespace(
        client_info=None if name is None else SimpleNamespace(name=name, version=version),
        in_flight={number: SimpleNamespace(turn_id=turn) for number, turn in enumerate(turns)},
    )
    return found


@pytest.mark.requirement("9:status")
def test_the_status_counts_turns_and_not_other_requests() -> None:
    status = make_client_with_session("editor", "1.0", "turn", None, "other").status()
    assert status.pop("attachedAt").endswith("Z")
    assert status == {"pid": 5, "name": "editor", "version": "1.0", "turns": 2}


@pytest.mark.requirement("9:status")
@pytest.mark.parametrize("make", [client, lambda: make_client_with_session(None, None)])
def test_the_status_of_an_unnamed_client_has_no_name(make: Callable[[], AttachedClient]) -> None:
    assert make().status().keys() == {"pid", "attachedAt", "turns"}


@pytest.mark.requirement("9:status")
def test_a_name_in_the_status_is_printable_and_short() -> None:
    status = make_client_with_session("\x1b]0;é\n" + "n" * 200, "\ud800").status()
    assert status["name"] == "?]0;é?" + "n" * (MAX_NAME_LENGTH - 6)
    assert status["version"] == "?"
