"""GitHub Copilot through GitHub's own language server, a program of the user's that runs as a child."""
