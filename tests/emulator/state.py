"""The state of the emulated service, which its planes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jumpseat.testing.upstream import RecordedRequest
from tests.emulator.accounts import Account, Accounts, Plan
from tests.emulator.builtin_models import builtin_models
from tests.emulator.catalogue import Catalogue
from tests.emulator.clock import Clock
from tests.emulator.credentials import Credential, Credentials
from tests.emulator.device_flow import DeviceFlow
from tests.emulator.prompt_cache import PromptCache
from tests.emulator.seals import Sealer

GITHUB, API, COPILOT, PROXY, TELEMETRY = "github", "api", "copilot", "proxy", "telemetry"
PLAN_PLANES = ("copilot-individual", "copilot-business", "copilot-enterprise")
"""The data hosts of the plans. `copilot` serves all plans."""
PLANES = (GITHUB, API, COPILOT, *PLAN_PLANES, PROXY, TELEMETRY)


@dataclass(slots=True)
class Session:
    """An auto mode session."""

    account: Account
    models: list[str]
    discounts: dict[str, float]
    expires_at: float


@dataclass(slots=True)
class Charge:
    """An admitted chat and its cost."""

    account: Account
    model: str
    initiator: str
    cost: float


@dataclass(slots=True)
class State:
    """The state of one emulated GitHub."""

    clock: Clock = field(default_factory=Clock)
    accounts: Accounts = field(default_factory=Accounts)
    seals: Sealer = field(default_factory=Sealer)
    models: Catalogue = field(default_factory=lambda: Catalogue(builtin_models()))
    prompts: PromptCache = field(init=False)
    credentials: Credentials = field(init=False)
    devices: DeviceFlow = field(init=False)
    sessions: dict[str, Session] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    exchanges: list[Credential] = field(default_factory=list)
    """The Copilot tokens that were issued, in order."""
    charges: list[Charge] = field(default_factory=list)
    unknown_editors: set[str] = field(default_factory=set)
    """The names of editors in Editor-Version that the service refuses."""

    def __post_init__(self) -> None:
        self.prompts = PromptCache(self.clock.now)
        self.credentials = Credentials(self.clock)
        self.devices = DeviceFlow(self.clock, self.credentials)

    def endpoints(self, plan: Plan) -> dict[str, str]:
        """Return the hosts for a plan."""
        return {
            "api": self.origins[f"copilot-{plan.host}"],
            "origin-tracker": self.origins[TELEMETRY],
            "proxy": self.origins[PROXY],
            "telemetry": self.origins[TELEMETRY],
        }

    def proxy_host(self) -> str:
        """Return the proxy's host and port in the form of a Copilot token."""
        return self.origins[PROXY].partition("://")[2]

    def parse_authorization(self, request: RecordedRequest) -> tuple[str, str]:
        """Return the scheme, in lower case, and the token of the Authorization header, or empty strings."""
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        return scheme.lower(), value.strip()

    def credential(self, request: RecordedRequest) -> Credential | None:
        """Return the token of a request if it was issued here, even if it is no longer valid."""
        return self.credentials.find(self.parse_authorization(request)[1])


def body_object(request: RecordedRequest) -> dict[str, Any] | None:
    """Return the JSON object in a request, or None for any other body."""
    try:
        body = request.json
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
