"""The user's rules about calls. The first rule that matches decides, in the order deny, ask, allow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from jumpseat.chat import ApprovalReason, Remember
from jumpseat.config import ToolOptions
from jumpseat.tools.selectors import Selector, matches_any

RuleDecision: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """A question to the user: may this call run?"""

    reason: ApprovalReason
    remember: Sequence[Remember]
    """The choices for how long to remember the decision; empty if it cannot be remembered."""


class Rules:
    """The rules of the configuration's table `[tools]`."""

    def __init__(self, options: ToolOptions) -> None:
        self._allow, self._ask, self._deny = map(_parse, (options.allow, options.ask, options.deny))

    def is_denied(self, server: str, tool: str) -> bool:
        """Whether a rule denies every call of this tool."""
        return matches_any(self._deny, server, tool)

    def find_decision(self, server: str, tool: str) -> RuleDecision | None:
        """Return the decision of the first rule that matches; None if no rule matches."""
        for decision, selectors in (("deny", self._deny), ("ask", self._ask), ("allow", self._allow)):
            if matches_any(selectors, server, tool):
                return decision  # type: ignore[return-value]  # In a loop over tuples, mypy infers `str`.
        return None


def _parse(texts: Iterable[str]) -> list[Selector]:
    return [selector for text in texts if (selector := Selector.parse(text)) is not None]
