"""From a client's ask to a planned request for one model: what a chat and a count of its tokens share.

Above it are `turn` and `count`; below it the registry and `plan`. Nothing here touches the network.
"""

from __future__ import annotations

from jumpseat.engine.ask import TurnAsk
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan, plan
from jumpseat.engine.trail import Trail
from jumpseat.providers import Registry, ResolvedModel, resolve_model


async def prepare(
    registry: Registry, ask: TurnAsk, memory: BlockMemory | None = None, trail: Trail | None = None
) -> tuple[ResolvedModel, Plan]:
    """Whom to ask, and what.

    Args:
        registry: the providers.
        ask: what the client asks.
        memory: completes the messages of a client that cannot hold all of an answer.
        trail: taken by the memory to the end of the conversation.

    Raises:
        ChatError: as `resolve_model` and `plan` raise it.
    """
    target = await resolve_model(registry, ask.model)
    capabilities, _ = registry.capabilities(target.provider, probed=False)
    planned = plan(
        ask,
        target,
        capabilities,
        registry.settings_rows(target.provider),
        registry.default_settings(target.provider),
        registry.default_max_tokens,
        memory=memory,
        trail=trail,
    )
    return target, planned
