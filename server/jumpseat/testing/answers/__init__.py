"""Bodies of answers, one module for each dialect, for scripts of the server in `upstream`.

Owns the bytes and nothing else: which body answers what is for `scripts` above, or for a test, to say.
"""
