"""Tools that the daemon runs: servers of tools, the user's rules and decisions about them, and approvals."""
