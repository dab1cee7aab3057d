"""One module or folder per provider: whom to call, with which credential, headers and dialect.

`base` is the interface; no adapter imports another.
"""
