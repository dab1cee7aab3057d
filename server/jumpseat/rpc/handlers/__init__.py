"""The handlers, which are called with `(session, call)`, in one module for each group of methods."""
