"""GitHub Copilot by its own HTTP API."""
