"""The Agent Client Protocol, version 1, on `connections/`: a sibling of `rpc/` with methods of its own.

A session of the protocol is called a conversation here, to distinguish it from the session of a connection.
"""
