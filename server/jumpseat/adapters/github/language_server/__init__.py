"""GitHub Copilot through GitHub's own language server, which the user installs and the daemon runs."""
