"""The reasons why the shared daemon does not serve a client."""

from __future__ import annotations


class CannotShareError(Exception):
    """The client cannot use a shared daemon. The message is a sentence without its full stop."""


class NoDaemonError(Exception):
    """The pointer does not lead to a running daemon, so a client may start one."""
