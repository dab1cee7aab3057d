"""The child process that runs llama.cpp's HTTP server for `local_process`, its parent.

A process of its own, because of what xllamacpp does inside ours: it holds the GIL for as long as a model
loads, so no other chat would move; its destructor waits for open streams, up to half a minute; and a
crash of native code would take every connection with it.

One line of JSON comes in (`ServerOrder`), one goes out (`ServerReply`), then standard input stays open for
as long as the parent wants the server. The API key travels that way and no other: arguments and
environments can be read by other programs.

When the parent is gone, standard input closes and this process ends. One that is stopped (SIGSTOP) reads
nothing: Linux kills it then, by PR_SET_PDEATHSIG. On macOS it ends once it is continued; Windows has no such
stop.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any, NotRequired, TypedDict
from urllib.parse import urlsplit

REQUEST_TIMEOUT_SECONDS = 30.0
"""How long the server may take to describe its loaded model to its own process."""

ERRORS_ONLY = 1
"""llama.cpp's verbosity: above this it writes some hundred lines for each load."""


PR_SET_PDEATHSIG = 1
"""Of Linux's prctl(2): the signal that this process gets when the thread that started it ends."""


class ServerOrder(TypedDict):
    """What to run."""

    model_path: str
    name: str
    api_key: str
    slots: int
    context_tokens: int
    """The context of each slot, in tokens."""

    threads: int


class ServerReply(TypedDict):
    """Where it runs, or why it does not."""

    address: NotRequired[str]
    context_tokens: NotRequired[int]
    engine_error: NotRequired[str]
    """Why xllamacpp could not be imported."""

    model_error: NotRequired[str]
    """Why xllamacpp did not serve the model; its own reasons went to standard error."""


def main() -> None:
    """Serve until standard input closes."""
    # An interrupt in the terminal reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    # Native code may print: from here on that goes to the log, never between the parent and the reply.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    order: ServerOrder = json.loads(sys.stdin.readline())
    reply, server = _serve(order)
    print(json.dumps(reply), file=replies, flush=True)
    if server is not None:
        sys.stdin.read()
    # No destructors: they would wait for streams that nobody reads any more.
    os._exit(0)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes  # Deferred: the daemon, which imports this module, has no use for it.

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve(order: ServerOrder) -> tuple[ServerReply, object]:
    """The reply, and the server itself: it runs for as long as somebody holds it."""
    try:
        import xllamacpp
    except ImportError as error:
        return {"engine_error": str(error)}, None
    try:
        server = xllamacpp.Server(_params(xllamacpp, order))
        address = server.listening_address
        return {"address": address, "context_tokens": _context_tokens(address, order["api_key"])}, server
    except Exception as error:
        return {"model_error": str(error)}, None


def _params(xllamacpp: Any, order: ServerOrder) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = order["model_path"]
    params.model_alias = {order["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["api_key"]]
    # llama.cpp divides the context by the slots, so that each gets its full share and none can starve
    # another: a shared (unified) buffer would fail one long chat because of a second one.
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


def _context_tokens(address: str, api_key: str) -> int:
    """The context that one chat really gets: a model trained on less has less."""
    import http.client  # Deferred: the daemon imports this module too, for its types.

    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=REQUEST_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {api_key}"})
        found = json.loads(connection.getresponse().read())["data"][0]["meta"]["n_ctx"]
    finally:
        connection.close()
    return int(found)


if __name__ == "__main__":
    main()
