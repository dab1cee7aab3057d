"""`jumpseat daemon status` and `jumpseat daemon stop`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.system.paths import places_of_process

ANSWER_SECONDS = 5.0

STOP_SECONDS = 15.0
"""How long a daemon may take to end. Its sessions end within two seconds on an idle machine."""


class NoAnswerError(Exception):
    """The daemon exists and does not answer; the text is a sentence."""


def daemon_status() -> dict[str, Any]:
    """The status of this user's daemon: `{"running": False}` if there is none.

    Raises:
        NoAnswerError: it does not answer.
    """
    status, _ = _ask({"op": "status"}, ANSWER_SECONDS)
    return status if status is not None else {"running": False}


def stop_daemon() -> bool:
    """End this user's daemon in order, and return when its process is gone; False if there was none.

    Raises:
        NoAnswerError: it has not ended in time.
    """
    _, was_there = _ask({"op": "stop"}, STOP_SECONDS)
    return was_there


def _ask(message: Mapping[str, Any], seconds: float) -> tuple[dict[str, Any] | None, bool]:
    """The answer, None where the daemon closed the connection without one, and whether there is a daemon."""
    if sys.platform == "win32":
        return None, False
    from jumpseat.hub.client import connect_to_daemon
    from jumpseat.hub.control import GarbageError
    from jumpseat.hub.names import daemon_files

    deadline = time.monotonic() + seconds
    try:
        files = daemon_files(places_of_process().state_dir, make=False)
    except CannotShareError:  # Where none can be, none is.
        return None, False
    try:
        channel = connect_to_daemon(files, deadline)
    except NoDaemonError:
        return None, False
    except CannotShareError:
        raise NoAnswerError(f"The daemon did not answer within {seconds:g} seconds.") from None
    try:
        channel.send(message, deadline)
        return channel.receive(deadline), True
    except TimeoutError:
        raise NoAnswerError(f"The daemon did not answer within {seconds:g} seconds.") from None
    except (OSError, GarbageError):
        return None, True
    finally:
        channel.close()
