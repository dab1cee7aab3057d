"""The child process of a `FakeLanguageServer`, which only relays bytes.

    python -I -S language_server_relay.py PORT …

It connects to PORT on loopback, describes itself, and then forwards its stdin. Orders that it receives make
it write, exit or misbehave. It imports only the standard library, so that it starts in about ten
milliseconds.

Both directions use frames: one letter, the length in four bytes, and the payload. The child sends `h` (its
role, pid, arguments and environment), `d` (data from stdin) and `z` (the end of stdin). It receives these
orders:

    o, e  write the payload to stdout, or to stderr
    x     exit with the code in the payload
    p     stop reading stdin
    t     ignore SIGTERM
    g     start a grandchild with the same streams
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading

HEADER = 5
"""The number of bytes before the payload of a frame: the letter and the length."""


def frame(kind: str, payload: bytes) -> bytes:
    return kind.encode() + len(payload).to_bytes(4, "big") + payload


def read_exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            # The test is over.
            os._exit(0)
        data += piece
    return data


def write_all(fd: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        pass  # The reader has gone. Continue, because some real servers continue too.


def carry_stdin(sock: socket.socket, reading: threading.Event) -> None:
    while True:
        if os.name == "posix":
            # Wait for data before `reading` is checked. In the other order, the thread would already be in
            # `os.read` when an order to stop arrives, and would still read the next data.
            select.select([0], [], [])
        reading.wait()
        data = os.read(0, 1 << 16)
        sock.sendall(frame("d" if data else "z", data))
        if not data:
            return


def main(port: int, role: str) -> None:
    sock = socket.create_connection(("127.0.0.1", port))
    hello = {"role": role, "pid": os.getpid(), "argv": sys.argv[2:], "env": dict(os.environ)}
    sock.sendall(frame("h", json.dumps(hello).encode()))
    reading = threading.Event()
    reading.set()
    if role == "child":
        threading.Thread(target=carry_stdin, args=(sock, reading), daemon=True).start()
    while True:
        head = read_exactly(sock, HEADER)
        order, payload = chr(head[0]), read_exactly(sock, int.from_bytes(head[1:], "big"))
        match order:
            case "o":
                write_all(1, payload)
            case "e":
                write_all(2, payload)
            case "x":
                os._exit(int(payload))
            case "p":
                reading.clear()
            case "t":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            case "g":
                # The grandchild inherits the streams, like the real program below npm's entry point.
                subprocess.Popen([sys.executable, "-I", "-S", __file__, str(port), "--grandchild"])


if __name__ == "__main__":
    main(int(sys.argv[1]), "grandchild" if sys.argv[2:] == ["--grandchild"] else "child")
