"""The schema of a provider's table. docs/configuration.md documents it."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from jumpseat.config.setting_rows import CHAT, CHAT_PARAMS, PARAMETERS, SettingRow
from jumpseat.config.source_cache import SourceCache
from jumpseat.config.templates import fault_of_address, mark_templates
from jumpseat.system.environment import Environment, empty_environment
from jumpseat.system.secrets import names_credential


class CapabilityOverrides(BaseModel):
    """The user's corrections of the capabilities that the adapter assumes."""

    model_config = ConfigDict(extra="allow", strict=True)

    streaming: bool | None = None
    tool_calls: bool | None = None
    json_mode: bool | None = None
    vision: bool | None = None
    thinking: bool | None = None
    resumable_streaming: bool | None = None


def _check_address(address: str) -> str:
    if (fault := fault_of_address(address)) is not None:
        raise ValueError(fault)
    return address


Address = Annotated[str, Field(pattern=r"^(https?://[^\s/]+|\$\{)"), AfterValidator(_check_address)]
"""An http or https URL, which may begin with `${name}`."""


def _check_word(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]{1,200}", text):
        raise ValueError("must be one word of ASCII")
    return text


HeaderWord = Annotated[str, AfterValidator(_check_word)]
"""A word of visible ASCII characters, which is valid in headers and in form fields."""


class WireRoles(BaseModel):
    """Role names in chat completions requests, if they differ from the role names of the dialect."""

    model_config = ConfigDict(extra="allow", strict=True)

    system: HeaderWord | None = None
    user: HeaderWord | None = None
    assistant: HeaderWord | None = None
    tool: HeaderWord | None = None

    @property
    def names(self) -> dict[str, str]:
        """The configured names by the dialect's role."""
        return {role: name for role in type(self).model_fields if (name := getattr(self, role)) is not None}


_WIRE_WORD = re.compile(r"[a-z][a-z0-9_-]*")


class Roles(BaseModel):
    """Role names in a transcript's headings and in requests.

    `user` and `assistant` are names in headings. `system`, `tool` and `wire` set names in requests; `wire`
    takes precedence. Without `wire`, requests also use a `user` or `assistant` that is one lower-case word,
    as in `assistant = "model"`.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    user: str | None = None
    assistant: str | None = None
    system: HeaderWord | None = None
    tool: HeaderWord | None = None
    wire: WireRoles | None = None

    @property
    def names(self) -> dict[str, str]:
        """The configured heading names by role."""
        return {role: name for role in _HEADING_ROLES if (name := getattr(self, role)) is not None}

    @property
    def also_sent(self) -> dict[str, str]:
        """The heading names that requests use too, because they are one lower-case word."""
        if self.wire is not None:
            return {}
        return {role: name for role, name in self.names.items() if _WIRE_WORD.fullmatch(name)}

    @property
    def wire_names(self) -> dict[str, str]:
        """The configured role names in requests by the dialect's role."""
        plain = {role: name for role in ("system", "tool") if (name := getattr(self, role)) is not None}
        return {**plain, **self.also_sent, **(self.wire.names if self.wire is not None else {})}

    @model_validator(mode="after")
    def _check_headings(self) -> Self:
        for role, name in self.names.items():
            if not name or name != name.strip() or not name.isprintable():
                raise ValueError(f"{role} must be one line of text without blanks around it")
        user, assistant = self.user or _DEFAULT_USER, self.assistant or _DEFAULT_ASSISTANT
        if user in (assistant, _DEFAULT_ASSISTANT) or assistant == _DEFAULT_USER:
            raise ValueError(
                f"user and assistant must differ; user cannot be {_DEFAULT_ASSISTANT}, "
                f"assistant cannot be {_DEFAULT_USER}"
            )
        return self


_HEADING_ROLES = ("user", "assistant")
_DEFAULT_USER, _DEFAULT_ASSISTANT = "Me", "Assistant"

Tokens = Annotated[int, Field(gt=0)]


class ConfiguredModel(BaseModel):
    """One entry of a provider's `models`: a model's name and properties.

    Properties that the endpoint reports take precedence over the configured ones, which take precedence over
    those in jumpseat's snapshot of model catalogues.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[str, Field(min_length=1)]
    """The provider's name for the model."""

    name: str | None = None
    vendor: str | None = None
    family: str | None = None
    max_context_tokens: Tokens | None = None
    max_prompt_tokens: Tokens | None = None
    max_output_tokens: Tokens | None = None
    supports_vision: bool | None = None
    supports_tool_use: bool | None = None
    supports_thinking: bool | None = None
    supports_json: bool | None = None
    supports_infill: bool | None = None


def _as_table(value: Any) -> Any:
    return {"id": value} if isinstance(value, str) else value


class ClientCertificate(BaseModel):
    """The files of a TLS client certificate, in PEM format."""

    model_config = ConfigDict(extra="allow", strict=True)

    cert: Annotated[str, Field(min_length=1)]
    """The file with the certificate chain, and with the private key unless `key` names another file."""

    key: Annotated[str, Field(min_length=1)] | None = None
    password: Annotated[str, Field(min_length=1)] | None = Field(default=None, repr=False)
    """The password of the private key: a value source, or the literal text."""


def as_certificate(value: Any) -> Any:
    """Return the table for a certificate that is written as the path of one file."""
    return {"cert": value} if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """The origin of a table, which describes a provider, an MCP server or the network of `[fetch]`."""

    file: Path | None = None
    """The configuration file; relative paths in the table start at its directory."""

    table: Mapping[str, Any] | None = field(default=None, repr=False)
    """The table as written in the file, without the client's overlay; None if it is not from a file."""

    # All tables of one client share the environment, so it is not compared.
    environment: Environment = field(default_factory=empty_environment, repr=False, compare=False)
    """The environment of the client that uses the table."""

    cache: SourceCache = field(default_factory=SourceCache, repr=False, compare=False)
    """The cached values of slow sources, shared by all readers of the table."""

    @property
    def directory(self) -> Path:
        """The directory of the configuration file."""
        return (self.file or self.environment.places.config_file).parent


_SET_BY_DAEMON = frozenset({"input", "instructions", "messages", "model", "stream"})
"""Fields of a request's body that every chat sets, and that the configuration therefore cannot set."""

_LISTS = frozenset({"include", "tools"})
"""Fields of a request's body whose lists are joined with the configured lists."""


def _check_settable(name: str) -> str:
    if name in _SET_BY_DAEMON:
        raise ValueError("cannot be set, because each chat sets it")
    return name


def _check_lists(parameters: dict[str, Any]) -> dict[str, Any]:
    for name in _LISTS & parameters.keys():
        if not isinstance(parameters[name], list):
            raise ValueError(f"{name} must be an array")
    return parameters


def _check_mappings(rows: dict[str, SettingRow]) -> dict[str, SettingRow]:
    for key, row in rows.items():
        if row.mapping == PARAMETERS and key in _SET_BY_DAEMON:
            raise ValueError(f"{key} cannot be a setting, because each chat sets it")
        if row.mapping == PARAMETERS and key in _LISTS and row.type != "list":
            raise ValueError(f"{key} must be of the type list")
        if row.mapping == CHAT and key not in CHAT_PARAMS:
            raise ValueError(f"{key} cannot have the mapping chat; only {', '.join(CHAT_PARAMS)} can")
    return rows


class ProviderConfig(BaseModel):
    """One `[providers.ID]` table. Its fields are common to all kinds; other keys are in `model_extra`."""

    model_config = ConfigDict(extra="allow", strict=True)

    _is_from_client: bool = PrivateAttr(default=False)
    _origin: TableOrigin = PrivateAttr(default_factory=TableOrigin)

    @property
    def origin(self) -> TableOrigin:
        """The origin of the table."""
        return self._origin

    @origin.setter
    def origin(self, value: TableOrigin) -> None:
        self._origin = value

    def set_environment(self, environment: Environment) -> Self:
        """Set the environment of a table that was made in code, and return the table."""
        self._origin = replace(self._origin, environment=environment)
        return self

    @property
    def is_from_client(self) -> bool:
        """Whether the table comes from a client's overlay, whose author may not be the user."""
        return self._is_from_client

    @is_from_client.setter
    def is_from_client(self, value: bool) -> None:
        self._is_from_client = value

    kind: str = ""
    name: str | None = None
    base_url: Address | None = None
    url: Address | None = Field(default=None, repr=False)
    """The whole URL of a chat request, instead of `base_url` and a path."""

    query: dict[str, str | int | float | bool] = Field(default_factory=dict, repr=False)
    """Query parameters for every request; they replace parameters of the same name."""

    env: dict[str, str] = Field(default_factory=dict, repr=False)
    """Values for `${name}` by name, and environment variables for a program that the provider starts."""

    api_key: str | None = Field(default=None, min_length=1, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    parameters: Annotated[
        dict[Annotated[str, AfterValidator(_check_settable)], Any],
        AfterValidator(_check_lists),
        AfterValidator(mark_templates),
    ] = Field(default_factory=dict)
    cache: bool | None = None
    """Whether to mark requests for the prompt cache; None for the default of the kind."""

    roles: Roles = Field(default_factory=Roles)
    default_model: str | None = None
    models: list[Annotated[ConfiguredModel, BeforeValidator(_as_table)]] = Field(default_factory=list)
    """Models that the endpoint does not list, or lists without some properties. A string is an `id`."""

    capabilities: CapabilityOverrides = Field(default_factory=CapabilityOverrides)
    settings: Annotated[dict[str, SettingRow], AfterValidator(_check_mappings)] = Field(default_factory=dict)
    timeout: float | None = Field(default=None, gt=0)
    """Seconds without data from the provider after which the chat fails."""

    connect_timeout: float | None = Field(default=None, gt=0)
    """Seconds within which a host or proxy must accept a connection."""

    proxy: str | None = Field(default=None, repr=False)
    """`http://user:password@host:port`, or `none`; if absent, the environment variables apply."""

    ca_file: str | None = Field(default=None, min_length=1)
    """A file of certificates to trust in addition to the system's certificates."""

    client_cert: Annotated[ClientCertificate, BeforeValidator(as_certificate)] | None = None
    max_retries: int | None = Field(default=None, ge=0, le=10)

    @property
    def model_names(self) -> list[str]:
        """The ids of the configured models, in their order and without duplicates."""
        return list(dict.fromkeys(model.id for model in self.models))

    @model_serializer(mode="wrap")
    def _mask_credentials(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: _mask(key, value) for key, value in plain(self).items()}

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for key, value in super().__repr_args__():
            yield key, value if key is None else _mask(key, value)


_MASKED_KEYS = ("api_key", "headers", "env", "query", "url", "proxy")


def _mask(key: str, value: Any) -> Any:
    """Mask every text in a table's value that may contain a credential."""
    is_secret = key in _MASKED_KEYS or names_credential(key)
    if isinstance(value, dict):
        if is_secret:
            return dict.fromkeys(value, "***")
        return {name: _mask(str(name), each) for name, each in value.items()}
    return "***" if is_secret and isinstance(value, str) else value
