"""`jumpseat daemon status` and `jumpseat daemon stop`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jumpseat.hub.failures import CannotShareError, NoDaemonError
from jumpseat.system.paths import places_of_process

if TYPE_CHECKING:
    from jumpseat.hub.names import Pointer

ANSWER_SECONDS = 5.0

STOP_SECONDS = 15.0
"""How long a daemon may take to end. Its sessions end within two seconds on an idle machine."""


class NoAnswerError(Exception):
    """A daemon exists and does not answer; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A daemon that was asked something."""

    is_own: bool
    """Whether its pointer is the one at which a client of this installation looks."""

    answer: dict[str, Any] | None
    """None if the daemon closed the connection without an answer."""


def daemon_status() -> dict[str, Any]:
    """The status of the daemon that a new client would get, and of this user's other daemons in `others`.

    `{"running": False}` if there is none; `others` only if there are any.

    Raises:
        NoAnswerError: a daemon does not answer.
    """
    if sys.platform == "win32":
        return {"running": False}
    from jumpseat.hub.names import installation_stamp

    status: dict[str, Any] = {"running": False}
    others = []
    for asked in _ask_all({"op": "status", "installation": installation_stamp()}, ANSWER_SECONDS):
        if asked.answer is None:  # It was just ending.
            continue
        is_current = asked.answer.pop("current", True)
        if asked.is_own and is_current:
            status = asked.answer
        else:
            others.append(asked.answer)
    return {**status, "others": others} if others else status


def stop_daemons() -> bool:
    """End this user's daemons in order, and return when their processes are gone; False if there was none.

    Raises:
        NoAnswerError: a daemon has not ended in time. The others have.
    """
    return bool(_ask_all({"op": "stop"}, STOP_SECONDS))


def _ask_all(message: Mapping[str, Any], seconds: float) -> list[_Asked]:
    """Ask every daemon of this host and state directory that runs."""
    if sys.platform == "win32":
        return []
    from jumpseat.hub.names import all_pointers, daemon_files

    try:
        own = daemon_files(places_of_process().state_dir, make=False).pointer
    except CannotShareError:  # No daemon can run there.
        return []
    deadline = time.monotonic() + seconds
    pointers = list(all_pointers(own.parent))
    silent = []
    found = []
    with ThreadPoolExecutor(max_workers=max(1, len(pointers))) as threads:
        running = [
            (path, pointer, threads.submit(_ask, pointer, message, deadline)) for path, pointer in pointers
        ]
    for path, pointer, asked in running:
        try:
            found.append(_Asked(path == own, asked.result()))
        except NoDaemonError:
            continue
        except TimeoutError:
            silent.append(str(pointer.pid))
    if silent:
        which = f"The daemon (process {silent[0]})" if len(silent) == 1 else f"Processes {', '.join(silent)}"
        raise NoAnswerError(f"{which} did not answer within {seconds:g} seconds.")
    return found


def _ask(pointer: Pointer, message: Mapping[str, Any], deadline: float) -> dict[str, Any] | None:
    """The daemon's answer; None if it closed the connection without one.

    Raises:
        NoDaemonError: it does not run.
        TimeoutError: it has not answered in time.
    """
    from jumpseat.hub.control import GarbageError, connect

    try:
        channel = connect(pointer.socket, deadline)
    except CannotShareError:
        raise TimeoutError from None
    try:
        channel.send(message, deadline)
        return channel.receive(deadline)
    except TimeoutError:
        raise
    except (OSError, GarbageError):
        return None
    finally:
        channel.close()
