"""An address that refuses connections, reserved as long as a test needs it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def refusing_address() -> Iterator[str]:
    """Yield a host and port that refuse every connection.

    The port is bound without listening, so that the server of a concurrent test cannot use it.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"
