"""Tool servers from other distributions, found through the entry point group `jumpseat.tools`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from jumpseat.system.environment import Environment
from jumpseat.tools.server import ToolServer

logger = logging.getLogger(__name__)

GROUP = "jumpseat.tools"


def load_plugins(environment: Environment, taken: Collection[str] = ()) -> Sequence[ToolServer]:
    """Create the server of each plug-in. Plug-ins that fail are logged and left out. Blocks.

    Args:
        environment: the client's environment.
        taken: the names of other servers; a plug-in cannot have one of these names.
    """
    from importlib.metadata import entry_points  # Deferred: it takes 10 ms, and most clients use no tools.

    servers: list[ToolServer] = []
    for entry_point in entry_points(group=GROUP):
        if entry_point.name in taken:
            logger.error("a plug-in cannot have the name of the tool server %s", entry_point.name)
            continue
        try:
            server = entry_point.load()(environment)
        except Exception:
            logger.exception("the tool server %s of a plug-in cannot be used", entry_point.name)
            continue
        if not isinstance(server, ToolServer):
            logger.error("the tool server %s of a plug-in is not a ToolServer", entry_point.name)
            continue
        server.name = entry_point.name
        servers.append(server)
    return servers
