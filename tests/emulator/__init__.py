"""An emulator of GitHub's sign-in, REST and Copilot hosts, for tests and manual trials.

It models the service from its documentation and from recordings, not from our client. `emulator.py` has the
controls for tests. For manual trials, see `python -m tests.emulator --help`.
"""

from tests.emulator.emulator import CopilotEmulator, Seen
from tests.emulator.faults import Behaviour, Call

__all__ = ["Behaviour", "Call", "CopilotEmulator", "Seen"]
