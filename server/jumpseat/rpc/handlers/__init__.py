"""One module for each group of methods; each handler takes `(session, call)`."""
