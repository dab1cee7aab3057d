"""JSON-RPC connections: sessions, order, cancellation, wire errors, and the process on stdio.

This package does not know any methods. `rpc/` and `acp/` each define a `Contract` with their methods.
"""
