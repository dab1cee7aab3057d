"""An async Python client of the jumpseat daemon."""
