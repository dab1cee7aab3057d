"""Which providers exist, which is the default, and what a model name means."""
