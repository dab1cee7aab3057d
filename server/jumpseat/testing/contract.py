"""The contract that every adapter must pass: the hooks in `stage` and all checks."""

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
    """The base class of an adapter's tests. pytest collects the checks from a subclass named `Test…`.

    Override the hooks of `ContractBase`. Only `make_adapter` is required; if another hook is missing, the
    checks that need it are skipped with the reason.
    """
