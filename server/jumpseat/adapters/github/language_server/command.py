"""Finds the Copilot language server's program and builds its environment.

Sources of the variables: the server's README, and version 1.539 of the program.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jumpseat.adapters.base import read_options
from jumpseat.adapters.github.language_server.options import LanguageServerOptions
from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Values
from jumpseat.config.sources import source_prefix
from jumpseat.config.templates import is_template
from jumpseat.system.commands import command_environment, existing_or_root
from jumpseat.system.secrets import names_credential, register_secret

PROGRAM = "copilot-language-server"
INSTALL = f"npm install -g @github/{PROGRAM}"

_SERVER_PREFIXES = ("GH_COPILOT_", "GITHUB_COPILOT_")
"""Prefixes of the variables that only this server reads: its token, its hosts, its options."""

_IGNORED = (
    "api_key",
    "base_url",
    "client_cert",
    "connect_timeout",
    "headers",
    "parameters",
    "query",
    "url",
)
"""Configuration keys that apply only to kinds that send HTTP requests."""


def find_command(provider: str, config: ProviderConfig) -> list[str]:
    """Return the configured program and arguments, or else `PROGRAM`, always with `--stdio`.

    A name without a slash is looked up on the PATH. Any other relative path starts at the directory of the
    configuration file.

    Args:
        provider: the configured provider's id, for error messages.
        config: the provider's table.

    Raises:
        ConfigError: the program does not exist, or the table comes from a client.
    """
    if config.is_from_client:
        raise ConfigError(
            f"{provider} needs a program, but the configuration of a workspace cannot start one.",
            provider=provider,
            hint=f"Move providers.{provider} to your own configuration file.",
        )
    command = read_options(LanguageServerOptions, provider, config).command
    name, *arguments = command or [PROGRAM]
    if Path(name).name == name:
        program = config.origin.environment.which(name)
    else:
        # Do not resolve the path in the working directory, which may be another author's workspace.
        path = directory_of(config) / config.origin.environment.expand_path(name)
        program = str(path) if path.exists() else None
    if program is None:
        raise _missing_error(provider, name, is_configured=command is not None)
    return [program, *arguments, *([] if "--stdio" in arguments else ["--stdio"])]


def check_command(provider: str, config: ProviderConfig) -> None:
    """Check that the program can be started, without starting it.

    Args:
        provider: the configured provider's id, for error messages.
        config: the provider's table.

    Raises:
        ConfigError: the program does not exist, or is not an executable file.
    """
    program = Path(find_command(provider, config)[0])
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise ConfigError(
            f"providers.{provider}.command names {program}, which is not a program that you may run.",
            provider=provider,
            hint="Name the program itself, and check that its file is executable.",
        )


def find_ignored_keys(provider: str, config: ProviderConfig) -> list[str]:
    """Return a sentence for each key of the table that has no effect on the program."""
    return [
        f"providers.{provider}.{key} is ignored, because the language server makes its own requests."
        for key in _IGNORED
        if key in config.model_fields_set
    ]


def directory_of(config: ProviderConfig) -> Path:
    """Return the directory in which the program runs, and to which the table's paths are relative."""
    return existing_or_root(config.origin.directory)


async def build_environment(provider: str, config: ProviderConfig, values: Values) -> dict[str, str]:
    """Return the program's environment: the client's variables and the table's `env`.

    The API keys of other providers are left out.

    Args:
        provider: the configured provider's id, for error messages.
        config: the provider's table.
        values: the provider's value sources.

    Raises:
        ConfigError: a value cannot be resolved, or `ca_file` is a relative path.
    """
    environment = config.origin.environment
    variables = environment.variables.items()
    own = {name: value for name, value in variables if name.upper().startswith(_SERVER_PREFIXES)}
    for name, value in own.items():
        if names_credential(name):
            environment.withhold(register_secret(value.strip()))  # The program may print the value.
    env = command_environment(environment) | own
    if config.ca_file is not None:
        certificates = environment.expand_path(config.ca_file)
        if not certificates.is_absolute():
            raise ConfigError(
                f"providers.{provider}.ca_file is a relative path.",
                provider=provider,
                hint="Use an absolute path, or one that starts with ~/.",
            )
        # Node.js reads this variable only once, at its start.
        env["NODE_EXTRA_CA_CERTS"] = str(certificates)
    for name, value in config.env.items():
        key = f"env.{name}"
        if source_prefix(value) is None and is_template(value):
            env[_find_spelling(name)] = await values.fill(key, value)
        else:
            env[_find_spelling(name)] = (await values.resolve(key, value)).reveal()
    return env


def _find_spelling(name: str) -> str:
    """Return the name as spelled in the environment, which has upper-case names on Windows."""
    return name.upper() if sys.platform == "win32" else name


def _missing_error(provider: str, name: str, *, is_configured: bool) -> ConfigError:
    key = f"providers.{provider}.command"
    if not is_configured:
        what = f"GitHub's program {PROGRAM} is not on the PATH."
    else:
        what = f"{key} names {name}, which does not exist."
    return ConfigError(
        what,
        provider=provider,
        hint=f"Install it with `{INSTALL}`, or name the program in {key}.",
    )
