"""The modules that may make threads. All others use the functions of `jumpseat.system.threads`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.unit.syntax import nodes

_NAMES = frozenset(
    {
        "Thread", "Timer", "start_new_thread", "ThreadPoolExecutor", "ProcessPoolExecutor", "to_thread",
        "run_in_executor", "set_default_executor",
    }
)  # fmt: skip

MAY_MAKE_THREADS: Mapping[str, str] = {
    "jumpseat.system.threads": "the one place for work of the event loop",
    "jumpseat.system.logs": "one thread writes all logs, so that no reader of a log delays a session",
    "jumpseat.system.child": "taskkill on Windows, from functions that the event loop does not await",
    "jumpseat.wire.threads": "reads and writes what the event loop cannot poll, for a whole session",
    "jumpseat.conversations.index": "one thread writes the index; the store that queues it is synchronous",
    "jumpseat.config.values": "a synchronous caller, which may have a running event loop of its own",
    "jumpseat.hub.asking": "a synchronous command, which asks several daemons at a time",
    "jumpseat.testing.threaded_upstream": "a server for synchronous tests",
    "jumpseat_cli.chat.question": "says after a while what a blocked read of stdin waits for",
    "jumpseat_client.sync": "the event loop of the synchronous client",
}
"""Each module, with the reason why it may make threads."""


def find_thread_makers(tree: ast.Module) -> Iterator[str]:
    """Yield the functions and classes that make threads, as often as a module names them."""
    for node in nodes(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in _NAMES:
                yield name
            case ast.ImportFrom(names=names):
                yield from (each.name for each in names if each.name in _NAMES)
            case _:
                pass
