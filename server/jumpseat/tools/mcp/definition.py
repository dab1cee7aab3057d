"""The definition of a server in the configuration, and the program or URL that results from its values."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Values
from jumpseat.config.mcp import McpServerConfig
from jumpseat.config.sources import source_prefix
from jumpseat.config.table_names import MCP_PREFIX
from jumpseat.config.templates import is_template
from jumpseat.system.secrets import credentials_in_url, names_credential, register_secret
from jumpseat.tools.display import escape
from jumpseat.tools.mcp.inherited import select_variables
from jumpseat.tools.server import ServerUnavailableError
from jumpseat.wire import write_json

MAX_SHOWN = 2000
"""The length of the longest command line that is shown whole, in characters."""


class NeedsSignInError(ServerUnavailableError):
    """The server refused the credential, or needs one and did not receive it."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A server as it is configured. Equal definitions behave equally."""

    name: str
    table: McpServerConfig
    folder: Path | None
    """The first workspace folder of the client. A server that the workspace defines runs in it."""

    is_literal: bool = False
    """Whether to use the values as they are, without sources and templates. An editor sends such values."""

    @property
    def provider(self) -> str:
        """The server's id in messages and sign-ins. Its prefix distinguishes a server from a provider."""
        return f"{MCP_PREFIX}{self.name}"

    @property
    def has_credential(self) -> bool:
        """Whether the table has a credential. The user then cannot sign in."""
        return any(name.lower() == "authorization" for name in self.table.headers)

    @property
    def is_of_workspace(self) -> bool:
        """Whether the definition comes from the workspace. The user then has to trust it."""
        return self.table.is_from_client

    @property
    def fingerprint(self) -> str:
        """A digest of the table as it is written. It changes with each value in the table."""
        content = self.table.model_dump(mode="json", exclude_unset=True)
        return hashlib.sha256(write_json(content)).hexdigest()[:32]

    @property
    def identity(self) -> str:
        """A text that changes with the definition; see `ToolServer.identity`."""
        place = f" {self.folder}" if self.is_of_workspace else ""
        return f"mcp {self.fingerprint}{place}{' literal' if self.is_literal else ''}"

    @property
    def shown(self) -> str:
        """The command line or the URL, escaped and without secrets.

        If the workspace defines the server, its environment variables come first, because they can change
        what the program does.
        """
        if self.table.url is not None:
            text = self.table.url
            for secret in credentials_in_url(text):
                text = text.replace(secret, "***")
        else:
            text = shlex.join(self.table.command or ())
        if self.is_of_workspace and self.table.env:
            variables = (f"{name}={shlex.quote(value)}" for name, value in self.table.env.items())
            text = f"{' '.join(variables)} {text}"
        return escape(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} … ({len(text)} characters)")


@dataclass(frozen=True, slots=True)
class Program:
    """A program with everything that determines its behaviour. Clients with equal programs share one run."""

    command: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)
    directory: Path
    base: Path
    """The directory from which a relative path in `command[0]` starts."""

    @property
    def key(self) -> Hashable:
        """A value that is equal for equal programs."""
        return ("program", self.command, frozenset(self.variables.items()), self.directory, self.base)


@dataclass(frozen=True, slots=True)
class Remote:
    """The URL of a server with everything that a connection needs."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    provider: str
    """See `Definition.provider`."""

    table: ProviderConfig = field(repr=False)
    """The network options."""

    @property
    def key(self) -> Hashable:
        """A value that is equal if the id, URL, headers, network options and environment are equal."""
        network = (self.table.proxy, self.table.ca_file, str(self.table.client_cert))
        environment = self.table.origin.environment
        client = (environment.places.state_dir, frozenset(environment.variables.items()))
        return ("remote", self.sign_in_key, frozenset(self.headers.items()), network, client)

    @property
    def sign_in_key(self) -> str:
        """The key of the stored sign-in, which is used only for this server at this URL."""
        return make_sign_in_key(self.provider, self.url)

    @property
    def has_credential(self) -> bool:
        """Whether the configuration has a credential. The user then cannot sign in."""
        return "authorization" in self.headers


def make_sign_in_key(provider: str, url: str) -> str:
    """Return the key of the stored sign-in for one server at one URL."""
    return f"{provider} {url}"


async def resolve_url(definition: Definition) -> str:
    """Return the URL of a server, with its values resolved.

    Raises:
        ConfigError: a value cannot be resolved.
    """
    url = definition.table.url or ""
    if definition.is_literal:
        return url
    return await Values(definition.provider, definition.table.value_table).fill_url("url", url)


async def resolve(definition: Definition, folder: Path | None) -> Program | Remote:
    """Resolve the values of a definition.

    Args:
        definition: the definition.
        folder: the first workspace folder of the turn.

    Raises:
        ServerUnavailableError: a value or the working directory cannot be resolved.
    """
    table = definition.table.value_table
    try:
        if definition.table.url is not None:
            url = await resolve_url(definition)
            return Remote(url, await _resolve_headers(definition, table), definition.provider, table)
        env = await _resolve_env(definition, table)
    except ConfigError as error:
        raise ServerUnavailableError(" ".join(filter(None, (error.message, error.hint)))) from None
    folder = definition.folder if definition.is_of_workspace else folder
    environment = table.origin.environment
    variables = {**select_variables(environment, definition.table.inherit), **env}
    base = definition.folder if definition.is_of_workspace else table.origin.directory
    return Program(
        tuple(definition.table.command or ()),
        variables,
        find_directory(definition, folder),
        base or environment.directory,
    )


def find_directory(definition: Definition, folder: Path | None) -> Path:
    """Return the working directory of a program.

    Raises:
        ServerUnavailableError: the directory is relative, and there is no workspace folder.
    """
    environment = definition.table.origin.environment
    home = environment.directory / environment.expand_path("~")
    if definition.table.cwd is None:
        # A program that all workspaces share must not depend on the workspace that used it first.
        uses_workspace = definition.is_of_workspace or definition.table.scope != "user"
        return folder if uses_workspace and folder is not None else home
    path = environment.expand_path(definition.table.cwd)
    if path.is_absolute():
        return path
    if folder is None:
        raise ServerUnavailableError(
            f"The directory of the server {definition.name} is relative, and there is no workspace folder."
        )
    return folder / path


def needs_folder(definition: Definition) -> bool:
    """Whether the server needs a workspace folder to run."""
    table = definition.table
    is_relative = table.cwd is not None and not table.origin.environment.expand_path(table.cwd).is_absolute()
    return table.scope == "workspace" or is_relative


async def _resolve_headers(definition: Definition, table: ProviderConfig) -> Mapping[str, str]:
    if definition.is_literal:
        return {name.lower(): value for name, value in _read_literals(table, table.headers).items()}
    return await Values(definition.provider, table).fill_headers()


async def _resolve_env(definition: Definition, table: ProviderConfig) -> Mapping[str, str]:
    if definition.is_literal:
        return _read_literals(table, table.env)
    values = Values(definition.provider, table)
    return {name: await _resolve_variable(values, table, name) for name in table.env}


def _read_literals(table: ProviderConfig, values: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values unchanged. From now on, logs and messages do not show the credentials among them."""
    for name, value in values.items():
        for secret in ([value] if names_credential(name) else []) + credentials_in_url(value):
            table.origin.environment.withhold(register_secret(secret))
    return values


async def _resolve_variable(values: Values, table: ProviderConfig, name: str) -> str:
    """Return the value of a variable.

    From now on, logs and messages do not show a value that came from a source or a template.
    """
    written = table.env[name]
    if source_prefix(written) is None and is_template(written):
        value = await values.fill(f"env.{name}", written)
    else:
        value = (await values.resolve(f"env.{name}", written)).reveal()
    for secret in ([value] if value != written else []) + credentials_in_url(value):
        table.origin.environment.withhold(register_secret(secret))
    return value
