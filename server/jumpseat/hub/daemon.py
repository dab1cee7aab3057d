"""The process of the shared daemon: `python -m jumpseat.hub.daemon STATE RUNDIR LOCK PIPE`.

`start.py` starts this process. LOCK is the descriptor of the lock, which the process holds until it listens.
PIPE is the descriptor of a pipe, on which the process reports that it listens, or why it cannot start.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"  # noqa: S101 - narrows the platform for mypy

import os
import signal
from contextlib import suppress
from pathlib import Path

READY = b"ready"
"""The message on the pipe once the daemon listens. Any other text is the reason why it cannot start."""

MAX_LOG_BYTES = 1024 * 1024
"""The maximum size of the log. A longer log is renamed, and replaces the previous renamed log."""

MAX_OPEN_FILES = 16_384
"""The limit on open files to set. Each client uses a few, and the inherited limit may be only 256."""


def main() -> None:
    """Detach, listen, report that the daemon listens, serve, and end the process."""
    if os.fork():
        os._exit(0)
    state_dir, directory = map(Path, sys.argv[1:3])
    lock, pipe = map(int, sys.argv[3:5])
    for descriptor in (lock, pipe):
        os.set_inheritable(descriptor, False)
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _raise_file_limit()
    try:
        _serve(state_dir, directory, lock, pipe)
    except Exception as error:
        # The process that started this one logs the reason, and serves its client without a shared daemon.
        with suppress(OSError):
            os.write(pipe, f"{type(error).__name__}: {error}"[:1000].encode())
        raise


def _serve(state_dir: Path, directory: Path, lock: int, pipe: int) -> None:
    from jumpseat.hub.names import daemon_files, read_installation_stamp

    installation = read_installation_stamp()  # Read the stamp before importing the code it covers.
    from jumpseat.connections.imports import import_daemon

    import_daemon("jumpseat.rpc.contract")
    import asyncio

    from jumpseat.connections.process import call_on_signals, raise_mmap_threshold
    from jumpseat.hub.hub import Hub
    from jumpseat.hub.ownership import Ownership
    from jumpseat.system import logs
    from jumpseat.system.log_sink import LogSink

    files = daemon_files(state_dir)
    rotate(files.log)
    log = logs.open_log("info", LogSink(2), is_fallback=True)
    raise_mmap_threshold()
    ownership = Ownership(files, directory)
    hub = Hub(ownership.publish(), ownership, installation, on_disconnect=lambda: rotate(files.log))

    async def run() -> None:
        call_on_signals(hub.stop)
        os.close(lock)
        with suppress(OSError):  # The process that started this one may have given up.
            os.write(pipe, READY)
        os.close(pipe)
        await hub.run()

    with asyncio.Runner() as runner:
        runner.run(run())
        log.close()
        # Do not wait for blocked threads: `daemon stop` waits for the end of the process.
        os._exit(0)


def rotate(log: Path) -> None:
    """Rename the log if it is too long. Redirect stderr to the log unless it already writes to that file."""
    with suppress(OSError):
        status = os.fstat(2)
        with suppress(FileNotFoundError):
            current = log.lstat()
            if (current.st_dev, current.st_ino) == (status.st_dev, status.st_ino):
                if status.st_size <= MAX_LOG_BYTES:
                    return
                log.replace(log.with_suffix(".log.1"))
        new = open_log(log)
        os.dup2(new, 2)
        os.close(new)


def open_log(path: Path) -> int:
    """Open the daemon's log for appending.

    Raises:
        OSError: the log cannot be opened.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    # With `O_NONBLOCK`, the call fails if the log is a pipe without a reader. Otherwise, it would wait.
    return os.open(path, flags | os.O_NONBLOCK, 0o600)


def _raise_file_limit() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    main()
