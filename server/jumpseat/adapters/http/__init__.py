"""The shared parts of providers over HTTP: an endpoint, an attempt, dialects as routes, plug-in hooks."""
