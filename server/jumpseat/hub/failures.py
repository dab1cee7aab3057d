"""The reasons why the shared daemon does not serve a client."""

from __future__ import annotations


class CannotShareError(Exception):
    """An error that says, in a sentence without its full stop, why the daemon cannot be shared here."""


class NoDaemonError(Exception):
    """An error for a pointer at which no daemon answers, so that a client may start one."""
