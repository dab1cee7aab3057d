"""Tests of the worked example of a plug-in: its own, and tests through the daemon."""

import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent / "jumpseat-example"

# The example's own tests import it from its sources; the daemon of the other tests gets it installed.
sys.path += [str(EXAMPLE / "src"), str(EXAMPLE / "tests")]
