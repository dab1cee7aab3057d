"""Providers, the default provider, and the resolution of model names."""

from jumpseat.providers.changes import AuthChanged, Change, ModelsChanged, ProvidersChanged
from jumpseat.providers.commands import use_client_commands
from jumpseat.providers.default_choice import ensure_default_provider, no_default_error, sign_in
from jumpseat.providers.descriptions import ProviderDescription, describe_providers
from jumpseat.providers.kinds import BUILT_IN, KINDS, SIGN_IN_PROVIDER
from jumpseat.providers.listing import ProviderFailure, list_all_models
from jumpseat.providers.mistyped_names import explain_default_fault, explain_model_fault
from jumpseat.providers.names import ResolvedModel, find_configured_provider, resolve_model
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
    "describe_providers",
    "ensure_default_provider",
    "explain_default_fault",
    "explain_model_fault",
    "find_configured_provider",
    "list_all_models",
    "no_default_error",
    "resolve_model",
    "sign_in",
    "use_client_commands",
]
