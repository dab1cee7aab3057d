"""jumpseat, the language server for chat.

Importing this package costs nothing: it holds the version and no imports.
The layers below it, from the wire to the vocabulary, are drawn in `server/README.md`.
"""

__version__ = "0.1.0"
