"""Models: the rows of GET /models and the behaviour of the models.

Rows are made for the asking account and the API version: policy, plan, and the two shapes of billing.
`builtin_models.py` has the models themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.emulator.accounts import Account

TOKEN_PRICES_SINCE = "2026-06-01"
"""The first X-GitHub-Api-Version whose rows have prices for tokens; older ones have multipliers."""

Flavour = Literal["azure", "claude", "gemini"]


@dataclass(slots=True)
class Model:
    """A model. Its row omits what is None.

    `refuses` are body fields that it answers with a 400. `quirks` change how it streams chat completions:
    `cot` (summaries, and an id after the finish), `usage_chunk`, `no_done`, `comments`, `references`
    (a chunk whose choices are null), `stray_line`, `padding`, `no_finish`.
    """

    id: str
    name: str
    vendor: str
    flavour: Flavour = "azure"
    version: str | None = None
    family: str | None = None
    type: str = "chat"
    endpoints: tuple[str, ...] | None = None
    limits: dict[str, Any] | None = None
    supports: dict[str, Any] = field(default_factory=dict)
    policy: str | None = None
    terms: str = ""
    multiplier: float | None = None
    """Premium requests for one user turn; 0 is included in the plan; None has no billing in its row."""
    prices: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Input, output, cache read, cache write: hundredths of a dollar for a million tokens."""
    tiers: tuple[str, ...] | None = None
    integrators: frozenset[str] | None = None
    picker: bool = True
    picker_category: str | None = None
    is_default: bool = False
    is_fallback: bool = False
    preview: bool = False
    tokenizer: str = "o200k_base"
    warnings: tuple[dict[str, str], ...] = ()
    infos: tuple[dict[str, str], ...] = ()
    refuses: set[str] = field(default_factory=set)
    quirks: set[str] = field(default_factory=set)
    needs_opaque: bool = False
    """Refuse an assistant message with tool calls that comes back without its reasoning_opaque."""
    broken: dict[str, Any] | None = None
    """Send this instead of a row."""

    @property
    def cost(self) -> float:
        """The cost of one user turn in premium requests."""
        return self.multiplier or 0.0

    def serves(self, path: str) -> bool:
        """Whether the model supports this endpoint; without a list, chat completions only."""
        return path in (self.endpoints or ("/chat/completions",))

    def in_plan(self, account: Account) -> bool:
        """Whether the account's plan includes it."""
        return self.tiers is None or account.plan.tier in self.tiers

    def policy_for(self, account: Account) -> str | None:
        """The state of its policy for an account; out of plan it stays disabled."""
        if self.policy is not None and not self.in_plan(account):
            return "disabled"
        return account.policies.get(self.id, self.policy)

    def row(self, account: Account, api_version: str | None) -> dict[str, Any]:
        """Its row, as this account sees it."""
        if self.broken is not None:
            return self.broken
        capabilities = {
            "family": self.family or self.id,
            **({"limits": self.limits} if self.limits is not None else {}),
            "object": "model_capabilities",
            "supports": self.supports,
            "tokenizer": self.tokenizer,
            "type": self.type,
        }
        optional = {
            "billing": self._billing(api_version),
            "model_picker_category": self.picker_category,
            "policy": self._policy(account),
            "supported_endpoints": None if self.endpoints is None else list(self.endpoints),
            "warning_messages": list(self.warnings) or None,
            "info_messages": list(self.infos) or None,
        }
        return {
            "capabilities": capabilities,
            "id": self.id,
            "is_chat_default": self.is_default,
            "is_chat_fallback": self.is_fallback,
            "model_picker_enabled": self.picker and self.in_plan(account),
            "name": self.name,
            "object": "model",
            "preview": self.preview,
            "vendor": self.vendor,
            "version": self.version or self.id,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _policy(self, account: Account) -> dict[str, str] | None:
        state = self.policy_for(account)
        return None if state is None else {"state": state, "terms": self.terms}

    def _billing(self, api_version: str | None) -> dict[str, Any] | None:
        if self.multiplier is None:
            return None
        restricted = {"restricted_to": list(self.tiers)} if self.tiers is not None else {}
        if (api_version or "") < TOKEN_PRICES_SINCE:
            return {"is_premium": self.multiplier > 0, "multiplier": self.multiplier, **restricted}
        entry, output, read, write = self.prices
        default = {
            "cache_price": read,
            "cache_write_price": write,
            "context_max": (self.limits or {}).get("max_context_window_tokens", 0),
            "input_price": entry,
            "output_price": output,
        }
        return {
            **restricted,
            "token_prices": {"batch_size": 1_000_000 if entry else 0, "default": default},
        }


class Catalogue:
    """The models in their order; tests may add and change models."""

    def __init__(self, models: list[Model]) -> None:
        # Each emulator has copies, so that a change in one test does not affect the next.
        self.models = [
            replace(each, refuses=set(each.refuses), quirks=set(each.quirks), limits=_copy(each.limits))
            for each in models
        ]

    def find(self, model_id: str) -> Model | None:
        """The model with this id, if it is listed."""
        return next((each for each in self.models if each.id == model_id and each.broken is None), None)

    def __getitem__(self, model_id: str) -> Model:
        """The model with this id, for tests; it must be listed."""
        found = self.find(model_id)
        assert found is not None, f"there is no model {model_id}"
        return found

    def default(self) -> Model:
        """The model for a request without one."""
        return next(each for each in self.models if each.is_default)

    def rows(self, account: Account, api_version: str | None, integrator: str | None) -> list[dict[str, Any]]:
        """The list that an account sees through an integrator."""
        return [each.row(account, api_version) for each in self.available(integrator)]

    def available(self, integrator: str | None) -> list[Model]:
        """The models that an integrator may use; all where there is no integrator."""
        return [
            each
            for each in self.models
            if each.integrators is None or integrator is None or integrator in each.integrators
        ]


def _copy(limits: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if limits is None else dict(limits)
