"""The merged configuration of a connection, and the origin of its parts."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, PrivateAttr

from jumpseat.config.built_in_prompts import BUILT_IN_PROMPTS
from jumpseat.config.faults import Fault, FaultsByTable
from jumpseat.config.options import AcpOptions, ConversationOptions, DaemonOptions, FetchOptions, ToolOptions
from jumpseat.config.prompts import Prompt, PromptName
from jumpseat.config.schema import ProviderConfig, TableOrigin
from jumpseat.system.environment import Environment, empty_environment

ProviderId = Annotated[str, Field(pattern=r"^[^\s:]+$")]
"""A name without white space or colons: a colon would make `provider:model` ambiguous."""


def _read_servers(tables: Any) -> Any:
    # Import this late: the schema of MCP servers takes memory, and most users have no such servers.
    from jumpseat.config.mcp import SERVERS

    return SERVERS.validate_python(tables)


if TYPE_CHECKING:
    from jumpseat.config.mcp import McpServerConfig

    Servers = dict[str, McpServerConfig]
else:
    Servers = Annotated[Any, PlainValidator(_read_servers)]


class Config(BaseModel):
    """The whole configuration file, merged with the client's overlay."""

    model_config = ConfigDict(extra="allow", strict=True)

    default_provider: str | None = None
    default_model: str | None = None
    providers: dict[ProviderId, ProviderConfig] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    """Values that take precedence over saved settings, in the same form: `max_tokens`, `providers.ID.KEY`."""

    prompts: dict[PromptName, Prompt] = Field(default_factory=dict)
    daemon: DaemonOptions = Field(default_factory=DaemonOptions)
    conversations: ConversationOptions = Field(default_factory=ConversationOptions)
    fetch: FetchOptions = Field(default_factory=FetchOptions)
    tools: ToolOptions = Field(default_factory=ToolOptions)
    mcp: Servers = Field(default_factory=dict)
    acp: AcpOptions = Field(default_factory=AcpOptions)

    _file: Path | None = PrivateAttr(default=None)
    _environment: Environment = PrivateAttr(default_factory=empty_environment)
    _from_client: frozenset[str] = PrivateAttr(default=frozenset())
    _setting_values_of_file: Mapping[str, Any] = PrivateAttr(default_factory=dict)
    _faults: FaultsByTable = PrivateAttr(default_factory=dict)
    _kinds_of_faulty_providers: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @property
    def file(self) -> Path:
        """The configuration file, which may not exist."""
        return self._file or self._environment.places.config_file

    @property
    def environment(self) -> Environment:
        """The environment of the client that uses this configuration."""
        return self._environment

    @property
    def faults(self) -> Mapping[str, tuple[Fault, ...]]:
        """The faults by provider id. A provider with faults is left out of `providers`."""
        return self._faults.get("providers", {})

    @property
    def kinds_of_faulty_providers(self) -> Mapping[str, str]:
        """The kind, by provider id, of each provider in `faults` whose table has a readable `kind`."""
        return self._kinds_of_faulty_providers

    @property
    def faults_of_prompts(self) -> Mapping[str, tuple[Fault, ...]]:
        """The faults by prompt name. A prompt with faults is left out of `prompts`."""
        return self._faults.get("prompts", {})

    @property
    def offered_prompts(self) -> Mapping[str, Prompt]:
        """The prompts that clients offer, by name: `prompts`, and the built-in ones that it does not replace.

        A prompt with faults is left out, and so is the built-in prompt with the same name. A prompt that
        replaces a built-in one, but does not set `takes_diff`, inherits this option.
        """
        built_in = {
            name: each for name, each in BUILT_IN_PROMPTS.items() if name not in self.faults_of_prompts
        }
        return {**built_in, **{name: _complete_prompt(name, each) for name, each in self.prompts.items()}}

    @property
    def fetch_network(self) -> ProviderConfig:
        """The network options of `[fetch]` in the form of a provider's table."""
        table = ProviderConfig(proxy=self.fetch.proxy, ca_file=self.fetch.ca_file)
        table.origin = TableOrigin(self.file, environment=self._environment)
        return table

    @property
    def faults_of_mcp(self) -> Mapping[str, tuple[Fault, ...]]:
        """The faults by MCP server name. A server with faults is left out of `mcp`."""
        return self._faults.get("mcp", {})

    def note_faults(self, faults: FaultsByTable, kinds: Mapping[str, str]) -> None:
        """Set `faults`, `faults_of_prompts`, `faults_of_mcp` and `kinds_of_faulty_providers`."""
        self._faults, self._kinds_of_faulty_providers = faults, kinds

    @property
    def from_client(self) -> frozenset[str]:
        """The ids of the providers that only the client's overlay defines."""
        return self._from_client

    def note_origins(self, file: Path, tables: Mapping[str, Any], environment: Environment) -> None:
        """Record the origin of the configuration and of the tables of providers and MCP servers.

        Args:
            file: the absolute path of the configuration file.
            tables: the file's tables.
            environment: the client's environment.
        """
        self._file = file
        self._environment = environment
        elsewhere = TableOrigin(environment=environment)
        in_file = _get_table(tables, "providers")
        for name, table in self.providers.items():
            table.origin = TableOrigin(file, in_file[name], environment) if name in in_file else elsewhere
        in_file = _get_table(tables, "mcp")
        for name, server in self.mcp.items():
            is_in_file = name in in_file
            origin = TableOrigin(file, in_file[name], environment) if is_in_file else elsewhere
            server.note_origin(origin, is_from_client=not is_in_file)

    @property
    def setting_values(self) -> dict[str, Any]:
        """The configured values that take precedence over saved settings, in the same form."""
        defaults = {"default_provider": self.default_provider, "default_model": self.default_model}
        return {**self.settings, **defaults}

    @property
    def setting_values_of_file(self) -> Mapping[str, Any]:
        """`setting_values` without the client's overlay."""
        return self._setting_values_of_file

    def note_from_client(self, own: Self) -> None:
        """Record the file's own setting values, and which providers only the client's overlay defines.

        Args:
            own: the file's configuration without the overlay.
        """
        self._setting_values_of_file = own.setting_values
        self._from_client = frozenset(self.providers) - frozenset(own.providers)
        for name in self._from_client:
            self.providers[name].is_from_client = True


def _complete_prompt(name: str, prompt: Prompt) -> Prompt:
    built_in = BUILT_IN_PROMPTS.get(name)
    if built_in is None or "takes_diff" in prompt.model_fields_set:
        return prompt
    return prompt.model_copy(update={"takes_diff": built_in.takes_diff})


def _get_table(tables: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = tables.get(key)
    return table if isinstance(table, Mapping) else {}
