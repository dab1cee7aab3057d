"""The child process that runs llama.cpp's HTTP server. `process.py` starts it.

xllamacpp needs a process of its own for three reasons: it holds the GIL while a model loads, which would
block every other chat; its destructor waits up to half a minute for open streams; and a crash of native code
would end every connection.

The process reads one line of JSON (`ServerOrder`) and writes one (`ServerReply`). Then it serves until its
standard input closes, which also happens when the parent ends.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NotRequired, TypedDict
from urllib.parse import urlsplit

from jumpseat.system.process_life import end_with_parent

REQUEST_TIMEOUT_SECONDS = 30.0
"""The time limit for this process's own request to the server, about the loaded model."""

ERRORS_ONLY = 1
"""The verbosity of llama.cpp. A higher one writes about a hundred lines for each load."""


class ServerOrder(TypedDict):
    """The parent's order: the model to run, and how."""

    model_path: str
    name: str
    api_key: str
    slots: int
    context_tokens: int
    """The context of each slot, in tokens."""

    threads: int


class ServerReply(TypedDict):
    """The server's address and context, or the reason why it does not run."""

    address: NotRequired[str]
    context_tokens: NotRequired[int]
    engine_error: NotRequired[str]
    """The reason why xllamacpp could not be imported."""

    model_error: NotRequired[str]
    """The reason why xllamacpp does not serve the model; llama.cpp's own messages went to standard error."""


def main() -> None:
    """Serve until standard input closes."""
    # A suspended process (SIGSTOP) does not notice that standard input closes. With this call, Linux kills it
    # when the parent ends. On macOS, a suspended process ends when it is continued.
    end_with_parent()
    # Native code may print to standard output. Send its output to the log, so that only the reply reaches the
    # parent.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    # Read the order from standard input, because it contains the API key. Other programs could read the key
    # in arguments or environment variables.
    order: ServerOrder = json.loads(sys.stdin.readline())
    reply, server = _serve(order)
    print(json.dumps(reply), file=replies, flush=True)
    if server is not None:
        sys.stdin.read()
    # Skip destructors, which would wait for streams that are no longer read.
    os._exit(0)


def _serve(order: ServerOrder) -> tuple[ServerReply, object]:
    """Return the reply, and the server itself, which runs as long as it is referenced."""
    try:
        import xllamacpp
    except ImportError as error:
        return {"engine_error": str(error)}, None
    try:
        server = xllamacpp.Server(_make_params(xllamacpp, order))
        address = server.listening_address
        return {
            "address": address,
            "context_tokens": _fetch_context_tokens(address, order["api_key"]),
        }, server
    except Exception as error:
        return {"model_error": str(error)}, None


def _make_params(xllamacpp: Any, order: ServerOrder) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = order["model_path"]
    params.model_alias = {order["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["api_key"]]
    # llama.cpp divides the context among the slots. With a shared (unified) buffer, a second chat could make
    # a long chat fail.
    params.kv_unified = False
    params.n_parallel = order["slots"]
    params.n_ctx = order["slots"] * order["context_tokens"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.verbosity = ERRORS_ONLY
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = ""
    params.warmup = False
    return params


def _fetch_context_tokens(address: str, api_key: str) -> int:
    """Return the context of one chat in tokens, limited to the length that the model was trained for."""
    import http.client  # Deferred: the daemon imports this module too, for its types.

    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=REQUEST_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {api_key}"})
        model = json.loads(connection.getresponse().read())["data"][0]
    finally:
        connection.close()
    return int(model["meta"]["n_ctx"])


if __name__ == "__main__":
    main()
