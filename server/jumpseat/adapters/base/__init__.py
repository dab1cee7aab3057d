"""The interface of a provider, public and stable for plug-ins (docs/plugins.md).

This package also exports the names from `config` and `system` that plug-ins need.
"""

from jumpseat.adapters.base.account import (
    Account,
    AuthMethod,
    AuthState,
    AuthStatus,
    OnAuthChange,
    OnPrompt,
    Quota,
    SignInPrompt,
)
from jumpseat.adapters.base.capabilities import Capabilities, CapabilitySource
from jumpseat.adapters.base.chat_model import ChatModel, OnDelta, events_of
from jumpseat.adapters.base.interface import Adapter
from jumpseat.adapters.base.optional import (
    CachesModels,
    ChangesCapabilities,
    ChecksHosts,
    ChecksSetup,
    ClientInfo,
    EditsInline,
    IdentifiesClient,
)
from jumpseat.adapters.base.options import read_options
from jumpseat.adapters.base.replan import Replan
from jumpseat.adapters.base.traits import ChatTraits
from jumpseat.config import ProviderConfig, SettingRow, Values, resolve
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.system.secrets import Secret

__all__ = [
    "Account",
    "Adapter",
    "AuthMethod",
    "AuthState",
    "AuthStatus",
    "CachesModels",
    "Capabilities",
    "CapabilitySource",
    "ChangesCapabilities",
    "ChatModel",
    "ChatTraits",
    "ChecksHosts",
    "ChecksSetup",
    "ClientInfo",
    "EditsInline",
    "Environment",
    "IdentifiesClient",
    "OnAuthChange",
    "OnDelta",
    "OnPrompt",
    "ProviderConfig",
    "Quota",
    "Replan",
    "Secret",
    "SettingRow",
    "SignInPrompt",
    "Values",
    "environment_of_process",
    "events_of",
    "read_options",
    "resolve",
]
