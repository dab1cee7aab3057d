"""`jumpseat daemon status` and `jumpseat daemon stop`."""

from __future__ import annotations

import sys
from typing import Any

ANSWER_SECONDS = 5.0

STOP_SECONDS = 15.0
"""How long a daemon may take to end. Its sessions end within two seconds on an idle machine."""


class NoAnswerError(Exception):
    """A daemon exists and does not answer; the text is a sentence."""


def daemon_status() -> dict[str, Any]:
    """The status of the daemon that a new client would get, and of this user's other daemons in `others`.

    `{"running": False}` if there is none; `others` only if there are any.

    Raises:
        NoAnswerError: a daemon does not answer.
    """
    status: dict[str, Any] = {"running": False}
    others = []
    for is_own, answer in _ask_all("status", ANSWER_SECONDS):
        if answer is None:  # It was just ending.
            continue
        is_current = answer.pop("current", True)
        if is_own and is_current:
            status = answer
        else:
            others.append(answer)
    return {**status, "others": others} if others else status


def stop_daemons() -> bool:
    """End this user's daemons in order, and return when their processes are gone; False if there was none.

    Raises:
        NoAnswerError: a daemon has not ended in time. The others have.
    """
    return bool(_ask_all("stop", STOP_SECONDS))


def _ask_all(operation: str, seconds: float) -> list[tuple[bool, dict[str, Any] | None]]:
    """The answers of the daemons that run, as of `asking.ask_all`."""
    found: list[tuple[bool, dict[str, Any] | None]] = []
    silent: list[int] = []
    if sys.platform != "win32":
        from jumpseat.hub.asking import ask_all

        found, silent = ask_all(operation, seconds)
    if silent:
        names = ", ".join(map(str, silent))
        which = f"The daemon (process {names})" if len(silent) == 1 else f"Processes {names}"
        raise NoAnswerError(f"{which} did not answer within {seconds:g} seconds.")
    return found
