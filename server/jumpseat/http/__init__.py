"""HTTP for adapters: shared connections, event streams, and failures mapped to our errors.

This is a stable, public API for plug-ins. Importing this package is cheap, because httpx2 is imported with
the first request.
"""

from typing import TYPE_CHECKING

from jumpseat.http.client import HttpClient
from jumpseat.http.network import is_loopback
from jumpseat.system.lazy_package import make_lazy_getattr

if TYPE_CHECKING:
    from jumpseat.http.event_stream import EventStreamDecoder, ServerSentEvent
    from jumpseat.http.exchange import HttpAnswer, HttpCall, Refine, fetch, get_json, stream_events
    from jumpseat.http.failures import error_from_exception, error_from_response, host_of
    from jumpseat.http.json_lines import JsonLinesDecoder

__all__ = [
    "EventStreamDecoder",
    "HttpAnswer",
    "HttpCall",
    "HttpClient",
    "JsonLinesDecoder",
    "Refine",
    "ServerSentEvent",
    "error_from_exception",
    "error_from_response",
    "fetch",
    "get_json",
    "host_of",
    "is_loopback",
    "stream_events",
]

# These names are imported on first use, so that the daemon starts without the modules for answers and
# dialects.
__getattr__ = make_lazy_getattr(
    __name__,
    {
        "event_stream": "EventStreamDecoder ServerSentEvent",
        "exchange": "HttpAnswer HttpCall Refine fetch get_json stream_events",
        "failures": "error_from_exception error_from_response host_of",
        "json_lines": "JsonLinesDecoder",
    },
)
