"""Models, with their behaviour and their rows in GET /models.

The policy and the plan in a row depend on the account. The form of its billing depends on the API version.
`builtin_models.py` lists the models.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.emulator.accounts import Account

TOKEN_PRICES_SINCE = "2026-06-01"
"""The first X-GitHub-Api-Version whose rows have token prices. Older versions have multipliers."""

Flavour = Literal["azure", "claude", "gemini"]


@dataclass(slots=True)
class Model:
    """A model. Its row omits values that are None.

    `refuses` lists body fields that result in a 400. `quirks` change how it streams chat completions:
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
    """The number of premium requests that one user turn costs.

    0 means that the plan includes the model. None omits billing from the row.
    """
    prices: tuple[int, int, int, int] = (0, 0, 0, 0)
    """The prices of input, output, cache reads and cache writes, in cents per million tokens."""
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
    """Whether an assistant message with tool calls is refused without its reasoning_opaque."""
    broken: dict[str, Any] | None = None
    """An object to send instead of the row."""

    @property
    def cost(self) -> float:
        """The number of premium requests that one user turn costs."""
        return self.multiplier or 0.0

    def serves(self, path: str) -> bool:
        """Return whether the model supports this endpoint; without a list, it has only chat completions."""
        return path in (self.endpoints or ("/chat/completions",))

    def in_plan(self, account: Account) -> bool:
        return self.tiers is None or account.plan.tier in self.tiers

    def policy_for(self, account: Account) -> str | None:
        """Return the state of the policy for an account: disabled if the plan excludes the model."""
        if self.policy is not None and not self.in_plan(account):
            return "disabled"
        return account.policies.get(self.id, self.policy)

    def row(self, account: Account, api_version: str | None) -> dict[str, Any]:
        """Return the model's row for this account."""
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
    """The models in order. Tests may add and change models."""

    def __init__(self, models: list[Model]) -> None:
        # Copy the models so that a change in one test does not affect the next.
        self.models = [
            replace(each, refuses=set(each.refuses), quirks=set(each.quirks), limits=_copy(each.limits))
            for each in models
        ]

    def find(self, model_id: str) -> Model | None:
        return next((each for each in self.models if each.id == model_id and each.broken is None), None)

    def __getitem__(self, model_id: str) -> Model:
        """Return the model with this id, which must exist."""
        found = self.find(model_id)
        assert found is not None, f"there is no model {model_id}"
        return found

    def default(self) -> Model:
        """Return the model for a request that does not name one."""
        return next(each for each in self.models if each.is_default)

    def rows(self, account: Account, api_version: str | None, integrator: str | None) -> list[dict[str, Any]]:
        """Return the rows that an account sees through an integrator."""
        return [each.row(account, api_version) for each in self.available(integrator)]

    def available(self, integrator: str | None) -> list[Model]:
        """Return the models that an integrator may use, or all if it is None."""
        return [
            each
            for each in self.models
            if each.integrators is None or integrator is None or integrator in each.integrators
        ]


def _copy(limits: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if limits is None else dict(limits)
