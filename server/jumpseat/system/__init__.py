"""Services of the operating system: paths, state files, watching, child processes, the keyring, secrets.

Imports no other package of the server.
"""
