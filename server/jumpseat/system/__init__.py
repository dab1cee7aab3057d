"""What the operating system gives: paths, files of state, watching, commands, the keyring, secrets.

Knows no key of the configuration and nothing of chats.
"""
