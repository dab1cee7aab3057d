"""Resolves the model of a client's request and plans the request, for a chat or a token count."""

from __future__ import annotations

from jumpseat.chat.long import is_long
from jumpseat.engine.ask import TurnAsk
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan, plan
from jumpseat.providers import Registry, ResolvedModel, resolve_model
from jumpseat.system.threads import compute


async def prepare(
    registry: Registry, ask: TurnAsk, memory: BlockMemory | None = None
) -> tuple[ResolvedModel, Plan]:
    """Resolve the model and plan the request.

    Args:
        registry: the providers.
        ask: the client's request.
        memory: restores the blocks that the client could not preserve.

    Raises:
        ChatError: raised by `resolve_model` or `plan`.
    """
    target = await resolve_model(registry, ask.model)
    return target, await plan_for(registry, ask, target, memory)


async def plan_for(
    registry: Registry, ask: TurnAsk, target: ResolvedModel, memory: BlockMemory | None = None
) -> Plan:
    """Plan the request for a resolved model; arguments and errors are the same as for `prepare`."""
    capabilities, _ = registry.capabilities(target.provider, probed=False)
    return await compute(
        is_long(ask.messages),
        plan,
        ask,
        target,
        capabilities,
        registry.settings_rows(target.provider),
        registry.default_settings(target.provider),
        registry.default_max_tokens,
        memory=memory,
    )
