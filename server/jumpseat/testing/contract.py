"""The contract that every adapter passes: the hooks of `stage` and all checks."""

from __future__ import annotations

from jumpseat.testing.checks.cancel import CancelChecks
from jumpseat.testing.checks.concurrency import ConcurrencyChecks
from jumpseat.testing.checks.failures import FailureChecks
from jumpseat.testing.checks.interface import InterfaceChecks
from jumpseat.testing.checks.live import LiveChecks
from jumpseat.testing.checks.recorded import RecordedChecks
from jumpseat.testing.checks.replay import ReplayChecks
from jumpseat.testing.checks.requests import RequestChecks


class AdapterContract(
    InterfaceChecks,
    RecordedChecks,
    ReplayChecks,
    RequestChecks,
    FailureChecks,
    CancelChecks,
    ConcurrencyChecks,
    LiveChecks,
):
    """Subclass it as `Test…` with the hooks of `ContractBase`; pytest collects the checks.

    Only `make_adapter` has no default. Checks that need another hook are skipped with the reason.
    """
