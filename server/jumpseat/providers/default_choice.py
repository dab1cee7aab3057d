"""The default provider. If none is configured or saved, one is chosen and saved."""

from __future__ import annotations

import logging
from collections.abc import Callable

from jumpseat.adapters.base import AuthState, AuthStatus
from jumpseat.adapters.base.account import SignInPrompt
from jumpseat.chat import AuthenticationError, ChatError, ConfigError, RequestError
from jumpseat.config.suggestions import alternatives
from jumpseat.providers.kinds import BUILT_IN
from jumpseat.providers.prefixes import split_name
from jumpseat.providers.registry import Registry
from jumpseat.providers.services import WITH_KEY

logger = logging.getLogger(__name__)


async def ensure_default_provider(registry: Registry) -> str | None:
    """Return the provider for models that are named without one.

    A configured default takes precedence over a saved one. If there is neither, a provider is chosen and
    saved. None means that the user must choose or set up a provider.

    Raises:
        ConfigError: `default_provider` names a provider that does not exist.
    """
    named = registry.config.default_provider
    if named is not None:
        if named not in registry.ids:
            in_file = registry.config.setting_values_of_file.get("default_provider") == named
            raise ConfigError(
                f"default_provider is {named!r}, which does not exist{alternatives(named, registry.ids)}.",
                hint=f"Correct default_provider in {registry.config.file}." if in_file else None,
            )
        return named
    await registry.saved.load()
    saved: str | None = registry.saved.values.get("default_provider")
    if saved in registry.ids:
        return saved
    if saved is not None:
        registry.note_missing_default(saved)
    chosen = await _choose(registry)
    # Save the choice so that it does not change when providers are added. Do not save it if the client's
    # overlay adds providers, because they affect the choice and other workspaces have other overlays.
    if chosen is not None and not registry.from_client:
        await registry.saved.save_daemon_choice(chosen, registry.ids)
        # Another daemon may have saved its choice first.
        kept: str | None = registry.saved.values.get("default_provider")
        return kept if kept in registry.ids else chosen
    return chosen


async def _choose(registry: Registry) -> str | None:
    """Choose the first of these that exists:

    1. a built-in provider that the user has signed in to;
    2. the user-defined provider, if there is exactly one;
    3. a built-in provider that can be used.
    """
    for provider in BUILT_IN:
        if await _is_signed_in(registry, provider):
            return provider
    if len(registry.user_defined) == 1:
        return registry.user_defined[0]
    states = {provider: await _read_state(registry, provider) for provider in BUILT_IN}
    usable = [provider for provider, state in states.items() if state not in ("signed_out", "expired")]
    # A provider that is signed in at this point uses another program's sign-in. It is the last choice: the
    # sign-in may not work here, and conversations would go to a vendor that the user has not set up.
    return min(usable, key=lambda provider: states[provider] == "signed_in", default=None)


async def _is_signed_in(registry: Registry, provider: str) -> bool:
    try:
        return await registry.account(provider).is_signed_in_for_this()
    except ChatError as error:
        logger.info("%s is not considered as the default: %s", provider, error.message)
        return False


async def _read_state(registry: Registry, provider: str) -> AuthState:
    try:
        return (await registry.auth_status(provider)).state
    except ChatError as error:
        logger.info("%s is not considered as the default: %s", provider, error.message)
        return "signed_out"


async def sign_in(registry: Registry, provider: str, on_prompt: Callable[[SignInPrompt], None]) -> AuthStatus:
    """Sign in to a provider, and save it as the default (see `save_default_provider`).

    Args:
        registry: the connection's providers.
        provider: the provider.
        on_prompt: called with the code for the user.

    Raises:
        ChatError: the sign-in failed.
    """
    status = await registry.account(provider).sign_in(on_prompt)
    if status.state == "signed_in":
        await save_default_provider(registry, provider)
    return status


async def save_default_provider(registry: Registry, provider: str) -> None:
    """Save a provider as the default, unless a default is configured or the client added this provider.

    A failure is only logged.
    """
    if registry.config.default_provider is not None or provider in registry.from_client:
        return
    await registry.saved.load()
    patch: dict[str, str | None] = {"default_provider": provider}
    model = registry.saved.default_model(registry.ids)
    if model is not None and split_name(model, registry.ids)[0] != provider:
        patch["default_model"] = None  # Otherwise chats would still go to the provider of that model.
    try:
        await registry.saved.save(patch, await registry.settings_schemas())
    except ConfigError as error:  # The sign-in itself was successful.
        logger.warning("%s is not saved as the default provider: %s", provider, error.message)


def no_default_error(registry: Registry) -> ChatError:
    """Return the error for a model that is named without a provider while there is no default provider."""
    if registry.user_defined:
        return RequestError(
            f"Several providers are configured ({', '.join(registry.user_defined)}) and none is the default.",
            hint="Name the model as provider:model, or run "
            f"`jumpseat settings set default_provider {registry.user_defined[0]}`.",
        )
    return AuthenticationError(
        "No provider is ready.",
        hint="For GitHub Copilot, run `jumpseat login`. For a small local model, "
        "run `jumpseat local install`. "
        f"For {', '.join(WITH_KEY)}, run `jumpseat keys set NAME`. For others, run `jumpseat config edit` "
        f"and add a provider to {registry.config.file}.",
    )
