"""LSP frames and a small JSON-RPC peer, for clients, the daemon, and language servers that it runs."""

from jumpseat.wire.framing import (
    MAX_FRAME_BYTES,
    MAX_HEADER_BYTES,
    Malformed,
    MessageReader,
    encode_frame,
)
from jumpseat.wire.json import has_half, read_json, write_json
from jumpseat.wire.limits import LONG_JSON_BYTES
from jumpseat.wire.lines import LineReader, encode_line
from jumpseat.wire.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    SERVER_NOT_INITIALIZED,
    Batch,
    Invalid,
    Message,
    Notification,
    Request,
    RequestId,
    RpcResponse,
    classify,
)
from jumpseat.wire.peer import Peer, PeerClosed, RpcError
from jumpseat.wire.stdio import claim_stdio
from jumpseat.wire.transport import HIGH_WATER, Transport, open_fds

__all__ = [
    "HIGH_WATER",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LONG_JSON_BYTES",
    "MAX_FRAME_BYTES",
    "MAX_HEADER_BYTES",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "REQUEST_CANCELLED",
    "SERVER_NOT_INITIALIZED",
    "Batch",
    "Invalid",
    "LineReader",
    "Malformed",
    "Message",
    "MessageReader",
    "Notification",
    "Peer",
    "PeerClosed",
    "Request",
    "RequestId",
    "RpcError",
    "RpcResponse",
    "Transport",
    "claim_stdio",
    "classify",
    "encode_frame",
    "encode_line",
    "has_half",
    "open_fds",
    "read_json",
    "write_json",
]
