"""Passes the standard streams of `jumpseat attach` to the daemon and waits for the exit code.

No client data passes through this process.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jumpseat.hub.failures import CannotShareError, NoDaemonError

END_SECONDS = 3
"""The time limit for the session to end after a signal."""


def pass_streams(options: Mapping[str, Any], log_file: Path | None, protocol: str) -> int:
    """Pass this client's streams to the daemon. Return the exit code of the session when it ends.

    Args:
        options: the options of the session.
        log_file: the log file; None for stderr.
        protocol: the protocol that the client speaks, a key of `sessions.CONTRACTS`.

    Raises:
        CannotShareError: the daemon does not serve this client. The client's streams are still untouched.
    """
    from jumpseat.hub.client import with_daemon
    from jumpseat.system.paths import places_of_process

    # Check this first: if a standard stream is closed, the next socket or file would get its number.
    blocking = _read_blocking_modes()
    try:
        places = places_of_process()
    except OSError as error:  # A variable has a relative path, and the working directory was removed.
        raise CannotShareError(f"the working directory cannot be read ({error.strerror})") from None
    variables = dict(os.environ)
    hello = {
        **_describe_process(),
        "op": "attach",
        "protocol": protocol,
        "variables": variables,
        "places": [str(place) for place in places],
        "options": options,
    }
    log = 2 if log_file is None else _open_log(log_file)
    from jumpseat.hub.control import ControlChannel, MalformedMessageError

    def use(channel: ControlChannel, deadline: float) -> ControlChannel:
        try:
            channel.send(hello, deadline, (0, 1, log))
            answer = channel.receive(deadline) or {}
            if "refused" in answer:
                raise CannotShareError(str(answer["refused"]))
            if answer.get("ready") is not True:
                raise NoDaemonError("the daemon is ending")
        except TimeoutError:
            channel.close()
            raise CannotShareError("the daemon does not answer") from None
        except (OSError, MalformedMessageError) as error:
            channel.close()
            raise NoDaemonError(f"the daemon closed the connection ({error})") from None
        except BaseException:
            channel.close()
            raise
        return channel

    channel = with_daemon(places.state_dir, variables, use)
    _end_session_on_signals(channel)
    try:
        # From here on, the daemon reads the client's stream, so falling back is no longer possible.
        channel.send({"op": "go"}, None)
        end = channel.receive(None)
        if end is not None and isinstance(end.get("exitCode"), int):
            return int(end["exitCode"])
    except (OSError, MalformedMessageError, _TooLateError):
        pass
    # The daemon has died or hangs, and may have left the descriptors in non-blocking mode.
    for descriptor, mode in blocking.items():
        with suppress(OSError):
            os.set_blocking(descriptor, mode)
    return 1


def _describe_process() -> dict[str, Any]:
    from jumpseat.hub.names import read_installation_stamp

    try:
        directory = Path.cwd()
    except OSError:  # The directory was removed after this process started in it.
        directory = Path("/")
    umask = os.umask(0o077)  # The umask can be read only by setting it.
    os.umask(umask)
    return {
        "installation": read_installation_stamp(),
        "pid": os.getpid(),
        "directory": str(directory),
        "umask": umask,
    }


def _open_log(file: Path) -> int:
    # Open the log in this process, because the daemon has another umask and another `/dev/stderr`.
    from jumpseat.system.log_files import open_log

    try:
        return open_log(file)
    except OSError as error:
        sys.exit(f"jumpseat: the log file {file} cannot be opened: {error.strerror}")


def _read_blocking_modes() -> dict[int, bool]:
    """Return whether each standard stream is in blocking mode.

    Raises:
        CannotShareError: a standard stream is closed.
    """
    try:
        return {descriptor: os.get_blocking(descriptor) for descriptor in (0, 1, 2)}
    except OSError:
        raise CannotShareError("a standard stream is closed") from None


class _TooLateError(Exception):
    pass


def _end_session_on_signals(channel: Any) -> None:
    """Make SIGTERM, SIGINT and SIGHUP end the session. The daemon then sends the exit code as usual.

    If the session does not end in time, `_TooLateError` is raised.
    """

    def end(*_: object) -> None:
        import socket

        with suppress(OSError):
            channel.socket.shutdown(socket.SHUT_WR)
        signal.signal(signal.SIGALRM, raise_too_late)
        signal.alarm(END_SECONDS)

    def raise_too_late(*_: object) -> None:
        raise _TooLateError

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
