"""The provider that is GitHub's Copilot language server: a program of the user's, started as a child."""
