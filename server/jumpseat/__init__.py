"""jumpseat, the language server for chat.

Importing this package is cheap, because it contains only the version. `server/README.md` shows its layers.
"""

__version__ = "0.1.0"
