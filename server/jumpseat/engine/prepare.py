"""Resolves the model of a client's request and plans the request, for a chat or a token count."""

from __future__ import annotations

from jumpseat.chat.long import is_long
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan, plan_turn
from jumpseat.engine.turn_request import TurnRequest
from jumpseat.providers import Registry, ResolvedModel, resolve_model
from jumpseat.system.threads import compute


async def prepare_turn(
    registry: Registry, turn_request: TurnRequest, memory: BlockMemory | None = None
) -> tuple[ResolvedModel, Plan]:
    """Resolve the model and plan the request.

    Args:
        registry: the providers.
        turn_request: the client's request.
        memory: restores the blocks that the client could not preserve.

    Raises:
        ChatError: raised by `resolve_model` or `plan_turn`.
    """
    target = await resolve_model(registry, turn_request.model)
    return target, await plan_resolved_turn(registry, turn_request, target, memory)


async def plan_resolved_turn(
    registry: Registry, turn_request: TurnRequest, target: ResolvedModel, memory: BlockMemory | None = None
) -> Plan:
    """Plan the request for a resolved model; arguments and errors are the same as for `prepare_turn`."""
    capabilities, _ = registry.capabilities(target.provider, probed=False)
    return await compute(
        is_long(turn_request.messages),
        plan_turn,
        turn_request,
        target,
        capabilities,
        registry.settings_rows(target.provider),
        registry.default_settings(target.provider),
        registry.default_max_tokens,
        memory=memory,
    )
