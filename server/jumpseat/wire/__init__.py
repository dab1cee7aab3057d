"""LSP frames and a small JSON-RPC peer: bytes in, messages out, and back.

One implementation for the daemon (`rpc`), for language servers run as children, and for the client
library. It knows no method names.
"""
