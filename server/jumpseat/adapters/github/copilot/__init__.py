"""GitHub Copilot through its own HTTP API."""
