"""Providers, the default provider, and the resolution of model names."""

from jumpseat.providers.changes import AuthChanged, Change, ModelsChanged, ProvidersChanged
from jumpseat.providers.commands import use_client_commands
from jumpseat.providers.default_choice import ensure_default_provider, no_default, save_default_provider
from jumpseat.providers.descriptions import ProviderDescription, describe
from jumpseat.providers.kinds import BUILT_IN, KINDS, SIGN_IN_PROVIDER
from jumpseat.providers.listing import ProviderFailure, list_all_models
from jumpseat.providers.mistyped_names import fault_of_model, fault_of_new_default
from jumpseat.providers.names import ResolvedModel, resolve_model
from jumpseat.providers.registry import Registry

__all__ = [
    "BUILT_IN",
    "KINDS",
    "SIGN_IN_PROVIDER",
    "AuthChanged",
    "Change",
    "ModelsChanged",
    "ProviderDescription",
    "ProviderFailure",
    "ProvidersChanged",
    "Registry",
    "ResolvedModel",
    "describe",
    "ensure_default_provider",
    "fault_of_model",
    "fault_of_new_default",
    "list_all_models",
    "no_default",
    "resolve_model",
    "save_default_provider",
    "use_client_commands",
]
