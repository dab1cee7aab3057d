"""The configuration file, stored keys and local models, which commands change without the daemon."""
