"""Tools that the daemon runs: tool servers, the user's rules and decisions about them, and approvals."""
