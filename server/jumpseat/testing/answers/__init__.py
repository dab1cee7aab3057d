"""Bodies of answers, one module for each dialect, for scripts of the server in `upstream`."""
