"""The worked example of a plug-in: its tests, and what drives it as a user would."""

import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent / "jumpseat-example"

# As if the tests ran in a checkout of the example; the daemon of the other tests gets it installed.
sys.path += [str(EXAMPLE / "src"), str(EXAMPLE / "tests")]
