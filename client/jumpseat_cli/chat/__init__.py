"""A single question and its answer."""
