"""Plans the requests of a turn, for a chat, a check or a token count."""

from __future__ import annotations

from functools import partial

from jumpseat.chat.long import is_long
from jumpseat.engine.length import check_length
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan, plan_turn
from jumpseat.engine.tokens import TokenMemory
from jumpseat.engine.turn_request import TurnRequest
from jumpseat.providers import Registry, ResolvedModel
from jumpseat.system.threads import compute


class Planner:
    """Plans the requests of one turn to one model. Later changes of the configuration do not affect them."""

    def __init__(self, registry: Registry, target: ResolvedModel, memory: BlockMemory | None = None) -> None:
        """
        Args:
            registry: the providers.
            target: the model.
            memory: restores the blocks that the client could not preserve.
        """
        self._target = target
        capabilities, _ = registry.capabilities(target.provider, probed=False)
        self._plan = partial(
            plan_turn,
            target=target,
            capabilities=capabilities,
            rows=registry.settings_rows(target.provider),
            default_settings=registry.default_settings(target.provider),
            default_max_tokens=registry.default_max_tokens,
            memory=memory,
        )

    async def plan(self, turn_request: TurnRequest) -> Plan:
        """Plan a request.

        Raises:
            ChatError: see `plan_turn`.
        """
        return await compute(is_long(turn_request.messages), self._plan, turn_request)

    async def plan_within_limits(self, turn_request: TurnRequest, tokens: TokenMemory) -> Plan:
        """Plan a request whose prompt and answer fit the model.

        Args:
            turn_request: the client's request.
            tokens: token counts that providers reported recently.

        Raises:
            ChatError: see `plan_turn` and `check_length`.
        """
        planned = await self.plan(turn_request)
        return await compute(is_long(planned.request.messages), check_length, self._target, planned, tokens)
