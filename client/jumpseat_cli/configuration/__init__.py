"""The configuration file, stored keys and local models: what commands change without the daemon."""
