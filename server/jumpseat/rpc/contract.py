"""The contract of jumpseat's own protocol, which `docs/protocol/` describes."""

from __future__ import annotations

from jumpseat.connections.contract import Contract
from jumpseat.rpc.methods import METHODS
from jumpseat.wire import SERVER_NOT_INITIALIZED, MessageReader, encode_frame

CONTRACT = Contract(
    methods=METHODS,
    first_method="initialize",
    last_method="exit",
    uninitialized_code=SERVER_NOT_INITIALIZED,
    new_reader=MessageReader,
    frame=encode_frame,
)
