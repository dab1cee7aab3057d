"""Services of the operating system: paths, state files, watching, child processes, the keyring, secrets.

This package does not import any other package of the server.
"""
