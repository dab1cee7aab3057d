"""What providers over HTTP share: one endpoint, one attempt, dialects as routes, hooks for plug-ins."""
