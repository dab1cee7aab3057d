"""GitHub: its hosts, sign-ins and tokens, for the two providers that lead to Copilot."""
