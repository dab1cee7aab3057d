"""An emulator of GitHub's sign-in, REST and Copilot hosts, for tests and for trying things by hand.

It is a model of the service written from its documentation and from recordings, not from our client: see
`emulator.py` for what tests can do with it, and `python -m tests.emulator --help`.
"""

from tests.emulator.emulator import CopilotEmulator, Seen
from tests.emulator.faults import Behaviour, Call

__all__ = ["Behaviour", "Call", "CopilotEmulator", "Seen"]
