"""Tests of the worked example of a plug-in: the example's own tests, and tests through the daemon."""

import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent / "jumpseat-example"

# The example's own tests import it from its sources. The other tests install it for their daemon.
sys.path += [str(EXAMPLE / "src"), str(EXAMPLE / "tests")]
