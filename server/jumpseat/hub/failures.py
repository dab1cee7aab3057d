"""The reasons why the shared daemon does not serve a client."""

from __future__ import annotations


class CannotShareError(Exception):
    """The daemon cannot be shared here. The message is a sentence without its full stop."""


class NoDaemonError(Exception):
    """No daemon answers at the pointer, so a client may start one."""
