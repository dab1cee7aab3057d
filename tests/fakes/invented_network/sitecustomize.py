"""Gives a Python process invented host names and public addresses, if `PYTHONPATH` names this directory.

Tests cannot use names and addresses of the real internet. These variables describe the invented ones:

- `INVENTED_HOSTS`: a JSON object. Each name has a list of answers, one for each look-up; the last answer is
  repeated. Each answer is a list of addresses.
- `INVENTED_ADDRESSES`: a JSON list. A connection to one of them leads to the same port on loopback.
- `INVENTED_LOG`: the file to which a line is written for each look-up of an invented name and for each
  connection. Without this variable, the process is not changed.
"""

import asyncio.selector_events
import json
import os
import pathlib
import socket
import threading

_answers = json.loads(os.environ.get("INVENTED_HOSTS", "{}"))
_addresses = json.loads(os.environ.get("INVENTED_ADDRESSES", "[]"))
_lock = threading.Lock()
_resolve = socket.getaddrinfo
_connect = asyncio.selector_events.BaseSelectorEventLoop.sock_connect


def _log(line):
    with _lock, pathlib.Path(os.environ["INVENTED_LOG"]).open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def _getaddrinfo(host, port, *args, **kwargs):
    name = host.decode() if isinstance(host, bytes) else host
    if name not in _answers:
        return _resolve(host, port, *args, **kwargs)
    _log(f"look-up {name}")
    with _lock:
        answers = _answers[name]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
    families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in found]
    return [
        (family, socket.SOCK_STREAM, 6, "", (each, port, 0, 0) if ":" in each else (each, port))
        for family, each in zip(families, found, strict=True)
    ]


async def _sock_connect(self, sock, address):
    _log(f"connection {address[0]}")
    if address[0] in _addresses:
        address = ("127.0.0.1", address[1])
    return await _connect(self, sock, address)


if "INVENTED_LOG" in os.environ:
    socket.getaddrinfo = _getaddrinfo
    asyncio.selector_events.BaseSelectorEventLoop.sock_connect = _sock_connect
