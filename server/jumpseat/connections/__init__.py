"""JSON-RPC connections of any contract: sessions, order, cancellation, wire errors, and the process on stdio.

`rpc/` and `acp/` each define a contract of methods on top of it. This package does not know their methods.
"""
