"""Handles `keys/set` and `keys/remove`. See `docs/protocol/authentication.md`."""

from __future__ import annotations

import asyncio
from typing import Any

from jumpseat.chat import ConfigError, InvalidRequestError, Problem
from jumpseat.connections.configuration import reread
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.wording import insert_commands
from jumpseat.providers.keys import explain_invalid_key, find_key_slot, remove_key, set_key, try_key
from jumpseat.rpc.encode import to_wire
from jumpseat.rpc.handlers.configuration import listener_of
from jumpseat.rpc.params import KeysRemoveParams, KeysSetParams
from jumpseat.system.tasks import run_to_end
from jumpseat.system.threads import run_blocking


async def keys_set(session: Session, call: MethodCall[KeysSetParams]) -> dict[str, Any]:
    """Store a key. With `test`, list the provider's models first, and do not store a key that is refused."""
    provider, key = call.params.provider, call.params.key.strip()
    environment, file = session.environment, session.registry.config.file
    if (why := explain_invalid_key(key, environment)) is not None:
        raise InvalidRequestError(f"This is not a key: {why}.", [Problem("key", why)])
    if provider in session.registry.from_client:
        raise ConfigError(
            f"{provider} is a provider of this workspace or editor, so its key cannot be stored.",
            provider=provider,
            hint=f"Add a table [providers.NAME] to {file}, under another name.",
        )
    slot = await run_blocking(find_key_slot, provider, file, environment)
    result: dict[str, Any] = {}
    if call.params.test:
        error = await try_key(key, slot, environment)
        result["test"] = {"ok": error is None}
        if error is not None:
            result["test"]["error"] = insert_commands(to_wire(error), session.commands)
            if error.kind == "authentication":
                return result
    storing = asyncio.ensure_future(set_key(key, provider, file, environment))
    stored = await _finish(session, storing)
    return {"stored": "keyring" if stored.is_in_keyring else "file", **result}


async def keys_remove(session: Session, call: MethodCall[KeysRemoveParams]) -> dict[str, Any]:
    """Delete a stored key, and restore the source that it replaced."""
    file = session.registry.config.file
    removing = asyncio.ensure_future(remove_key(call.params.provider, file, session.environment))
    return {"removed": await _finish(session, removing) is not None}


async def _finish(session: Session, changing: asyncio.Future[Any]) -> Any:
    """Wait until a change of the keys is complete, and use the changed keys from the next request on.

    A cancellation during the change comes too late and has no effect.
    """
    changed, was_cancelled = await run_to_end(changing)
    if was_cancelled and (task := asyncio.current_task()) is not None:
        task.uncancel()
    # The session would notice the change of the file only after some time.
    await reread(session, listener_of(session))
    return changed
