"""Messages on the control socket: a length in four bytes, then a JSON object.

File descriptors are sent with a message's first byte.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import contextlib
import json
import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.hub.run_directory import find_fault

MAX_BYTES = 4 * 1024 * 1024
"""The maximum size of a message.

A hello contains the client's environment, which Linux limits to about 2 MiB by default.
"""

LENGTH = struct.Struct("!I")

MAX_DESCRIPTORS = 3
"""The number of descriptors that a client passes: input, output and log."""

_RETRY_SECONDS = 0.01
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1  # <sys/un.h> of macOS and the BSDs defines these.


class MalformedMessageError(Exception):
    """The received data is not a valid message."""


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as JSON, after its length.

    Python represents undecodable bytes in environment variables as surrogates; these become JSON escapes.

    Raises:
        CannotShareError: the message is too long.
    """
    body = json.dumps(message).encode("ascii")
    if len(body) > MAX_BYTES:
        raise CannotShareError(f"the environment is larger than {MAX_BYTES // 1024 // 1024} MiB")
    return LENGTH.pack(len(body)) + body


def decode_length(head: bytes) -> int:
    """Return the length of the body that follows these four bytes.

    Raises:
        MalformedMessageError: the body is too long.
    """
    (length,) = LENGTH.unpack(head)
    if length > MAX_BYTES:
        raise MalformedMessageError(f"a message of {length} bytes")
    return int(length)


def decode(body: bytes) -> dict[str, Any]:
    """Return the object in a message's body.

    Raises:
        MalformedMessageError: the body is not a JSON object.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedMessageError("not JSON") from None
    if not isinstance(message, dict):
        raise MalformedMessageError("not a JSON object")
    return message


def read_peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end.

    Raises:
        CannotShareError: the system does not report the user.
    """
    try:
        return _read_peer_uid(connection)
    except (OSError, struct.error):
        raise CannotShareError("the system does not name the user of a socket's peer") from None


def _read_peer_uid(connection: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", credentials)
    else:
        version, uid = struct.unpack_from("=II", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76))
        if version != 0:
            raise OSError("unknown form of credentials")
    return int(uid)


class ControlChannel:
    """A client's end of the control socket.

    Deadlines are times by `time.monotonic`. If a deadline is None, a method waits forever.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    def send(
        self, message: Mapping[str, Any], deadline: float | None, descriptors: Sequence[int] = ()
    ) -> None:
        """Send a message with descriptors.

        Raises:
            OSError: the connection was lost, or the deadline has passed.
        """
        data = encode(message)
        self.socket.settimeout(_seconds_until(deadline))
        if descriptors:
            data = data[socket.send_fds(self.socket, [data], list(descriptors)) :]
        if data:  # Sending zero bytes would fail if the daemon has already answered and closed the socket.
            self.socket.sendall(data)

    def receive(self, deadline: float | None) -> dict[str, Any] | None:
        """Return the next message, or None after the last one.

        Raises:
            OSError: the connection was lost, or the deadline has passed.
            MalformedMessageError: the data is not a message.
        """
        head = self._read_exactly(LENGTH.size, deadline)
        body = self._read_exactly(decode_length(head), deadline) if head is not None else None
        return decode(body) if body is not None else None

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _read_exactly(self, count: int, deadline: float | None) -> bytes | None:
        data = b""
        while len(data) < count:
            self.socket.settimeout(_seconds_until(deadline))
            part = self.socket.recv(count - len(data))
            if not part:
                return None
            data += part
        return data


def connect(path: Path, deadline: float) -> ControlChannel:
    """Connect to a daemon's socket.

    Raises:
        NoDaemonError: no daemon of this user listens there, or the socket's directory is not safe.
        CannotShareError: the daemon did not accept the connection in time, or the daemon's user is unknown.
    """
    fault = find_fault(path.parent)
    if fault is not None:
        raise NoDaemonError(f"{path.parent}: {fault}")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        while True:
            connection.settimeout(_seconds_until(deadline))
            try:
                connection.connect(os.fspath(path))
                break
            except BlockingIOError:  # The backlog is full, and `connect` does not wait for a free place.
                time.sleep(_RETRY_SECONDS)
        if read_peer_uid(connection) != os.getuid():
            raise NoDaemonError("the socket belongs to another user")
    except TimeoutError:
        connection.close()
        raise CannotShareError("the daemon does not answer") from None
    except (OSError, ValueError) as error:
        connection.close()
        raise NoDaemonError(f"{path}: {error}") from None
    except BaseException:
        connection.close()
        raise
    return ControlChannel(connection)


def close_descriptors(descriptors: Sequence[int]) -> None:
    """Close received descriptors."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def receive_with_descriptors(connection: socket.socket, count: int) -> tuple[bytes, list[int]]:
    """Receive up to `count` bytes and the descriptors sent with them. The caller must close the descriptors.

    Raises:
        OSError: see `recv`.
    """
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    data, descriptors, _, _ = socket.recv_fds(connection, count, MAX_DESCRIPTORS, flags)
    if sys.platform != "linux":
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
    return data, descriptors


def _seconds_until(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("the daemon does not answer")
    return remaining
