"""`daemon status` and `daemon stop` against daemons that answer, hang and end."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from jumpseat.hub import command
from jumpseat.hub.command import NoAnswerError, daemon_status, stop_daemons
from jumpseat.hub.control import ControlChannel
from jumpseat.hub.names import daemon_files, host_name
from tests.hub import directory_for_sockets

WAIT_SECONDS = 10.0

PID = 99_999_999
"""An unused process id: the fixture `home` kills the processes that the pointers in its directory name."""

Answer: TypeAlias = "dict[str, Any] | None"
"""The message that a daemon sends before it closes the connection, or None if it sends nothing."""


class Daemons:
    """Daemons in the state directory of this test, each a thread."""

    def __init__(self, home: Path, sockets: Path, stack: contextlib.ExitStack) -> None:
        self.pointer = daemon_files(home).pointer
        self.asked: list[dict[str, Any]] = []
        self._sockets = sockets
        self._stack = stack

    def start(self, name: str | None, answer: Answer, *, hangs: bool = False) -> None:
        """Start a daemon whose pointer has this name. None is the name for this installation."""
        listener = self._stack.enter_context(socket.socket(socket.AF_UNIX))
        path = self._sockets / f"{name}.sock"
        listener.bind(str(path))
        listener.listen()
        pointer = self.pointer if name is None else self.pointer.with_name(f"{host_name()}-{name}")
        pointer.write_text(json.dumps({"socket": str(path), "pid": PID, "daemon": "1"}))
        ended = threading.Event()

        def serve() -> None:
            with listener:
                connection, _ = listener.accept()
            with connection:
                channel = ControlChannel(connection)
                self.asked.append(channel.receive(None) or {})
                if hangs:
                    ended.wait(WAIT_SECONDS)
                elif answer is not None:
                    channel.send(answer, None)

        thread = threading.Thread(target=serve)
        thread.start()
        self._stack.callback(thread.join, WAIT_SECONDS)
        self._stack.callback(ended.set)


@pytest.fixture
def daemons(home: Path) -> Iterator[Daemons]:
    with directory_for_sockets() as sockets, contextlib.ExitStack() as stack:
        yield Daemons(home, sockets, stack)


@pytest.mark.requirement("9:status")
def test_without_a_daemon_status_and_stop_say_so(home: Path) -> None:
    assert daemon_status() == {"running": False}
    assert stop_daemons() is False
    (home / "daemon").write_text("not a directory")
    assert daemon_status() == {"running": False}
    assert stop_daemons() is False


@pytest.mark.requirement("9:others")
def test_the_status_describes_the_daemon_that_a_new_client_would_get(daemons: Daemons) -> None:
    daemons.start(None, {"pid": 1, "current": True})
    daemons.start("9.json", {"pid": 2})
    daemons.start("1.retired", {"pid": 3, "current": False})
    assert daemon_status() == {"pid": 1, "others": [{"pid": 3}, {"pid": 2}]}
    assert {message["op"] for message in daemons.asked} == {"status"}


@pytest.mark.requirement("9:others")
def test_a_daemon_of_an_older_installation_is_among_the_others(daemons: Daemons) -> None:
    daemons.start(None, {"pid": 1, "current": False})
    assert daemon_status() == {"running": False, "others": [{"pid": 1}]}


def test_a_daemon_that_is_just_ending_has_no_status_and_counts_as_stopped(daemons: Daemons) -> None:
    daemons.start(None, None)
    assert daemon_status() == {"running": False}
    assert stop_daemons() is False  # The daemon is gone by now.


@pytest.mark.requirement("9:stop")
def test_stop_ends_every_daemon(daemons: Daemons) -> None:
    daemons.start(None, None)
    daemons.start("9.json", None)
    assert stop_daemons() is True
    assert [message["op"] for message in daemons.asked] == ["stop", "stop"]


@pytest.mark.parametrize("ask", [daemon_status, stop_daemons])
def test_a_daemon_that_hangs_is_named_and_the_others_are_asked(
    daemons: Daemons, ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(command, "STOP_SECONDS", 0.5)
    daemons.start(None, None, hangs=True)
    daemons.start("9.json", None)
    with pytest.raises(NoAnswerError) as caught:
        ask()
    assert str(caught.value) == f"The daemon (process {PID}) did not answer within 0.5 seconds."
    assert len(daemons.asked) == 2
