"""One module or folder per provider, which determines the URL, the credential, the headers and the dialect.

`base` is the interface. Adapters do not import each other.
"""
