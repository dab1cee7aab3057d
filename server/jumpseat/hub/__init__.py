"""The shared daemon: how `jumpseat attach` finds or starts it, and how it serves all clients of a user.

The modules that `attach` imports depend on only a few light modules of the standard library.
"""
