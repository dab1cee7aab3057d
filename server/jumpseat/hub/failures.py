"""Why a client is not served by the shared daemon."""

from __future__ import annotations


class CannotShareError(Exception):
    """Sharing is not possible here; the text is one sentence without its full stop."""


class NoDaemonError(Exception):
    """No daemon answers at the pointer; one may be started."""
