"""One question and its answer."""
