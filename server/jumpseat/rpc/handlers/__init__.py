"""The handlers, in one module for each group of methods. Each handler is called with `(session, call)`."""
