"""GitHub's hosts, sign-ins and tokens, shared by the two providers that use Copilot."""
