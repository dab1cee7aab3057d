"""`jumpseat daemon status` and `jumpseat daemon stop`."""

from __future__ import annotations

import sys
from typing import Any

ANSWER_SECONDS = 5.0

STOP_SECONDS = 15.0
"""The time limit for a daemon to end. Its sessions end within two seconds on an idle machine."""


class NoAnswerError(Exception):
    """A daemon exists but does not answer. The message is a sentence."""


def daemon_status() -> dict[str, Any]:
    """Return the status of the daemon that a new client would use.

    If a new client would have to start a daemon, the status is `{"running": False}`. If other daemons run,
    the key `others` lists their statuses.

    Raises:
        NoAnswerError: a daemon does not answer.
    """
    status: dict[str, Any] = {"running": False}
    others = []
    for is_own, answer in _ask_all("status", ANSWER_SECONDS):
        if answer is None:  # The daemon was just ending.
            continue
        is_current = answer.pop("current", True)
        if is_own and is_current:
            status = answer
        else:
            others.append(answer)
    return {**status, "others": others} if others else status


def stop_daemons() -> bool:
    """Stop this user's daemons and wait until their processes have ended. Return False if there was none.

    Raises:
        NoAnswerError: a daemon did not end in time; the others did.
    """
    return bool(_ask_all("stop", STOP_SECONDS))


def _ask_all(operation: str, seconds: float) -> list[tuple[bool, dict[str, Any] | None]]:
    """Return the first list that `asking.ask_all` returns: the answers of the running daemons."""
    answers: list[tuple[bool, dict[str, Any] | None]] = []
    unresponsive: list[int] = []
    if sys.platform != "win32":
        from jumpseat.hub.asking import ask_all

        answers, unresponsive = ask_all(operation, seconds)
    if unresponsive:
        names = ", ".join(map(str, unresponsive))
        which = f"The daemon (process {names})" if len(unresponsive) == 1 else f"Processes {names}"
        raise NoAnswerError(f"{which} did not answer within {seconds:g} seconds.")
    return answers
