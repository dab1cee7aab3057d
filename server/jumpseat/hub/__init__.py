"""One daemon for all clients of a user: how `jumpseat attach` finds or starts it, and how it serves many.

The modules that `attach` imports need only a few light modules of the standard library.
"""
