"""Which providers exist, which is the default, and what a model name means."""

from jumpseat.providers.names import ResolvedModel, default_provider, no_default, resolve_model
from jumpseat.providers.registry import BUILT_IN, ProviderDescription, ProviderFailure, Registry

__all__ = [
    "BUILT_IN",
    "ProviderDescription",
    "ProviderFailure",
    "Registry",
    "ResolvedModel",
    "default_provider",
    "no_default",
    "resolve_model",
]
