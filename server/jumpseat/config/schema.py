"""A table of a provider as a schema. Its page: docs/configuration.md."""

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
from jumpseat.config.templates import fault_of_address, marked
from jumpseat.system.environment import Environment, empty_environment
from jumpseat.system.secrets import names_credential


class CapabilityOverrides(BaseModel):
    """What the user knows better than the adapter about a provider."""

    model_config = ConfigDict(extra="allow", strict=True)

    streaming: bool | None = None
    tool_calls: bool | None = None
    json_mode: bool | None = None
    vision: bool | None = None
    thinking: bool | None = None
    resumable_streaming: bool | None = None


def _checked_address(address: str) -> str:
    if (fault := fault_of_address(address)) is not None:
        raise ValueError(fault)
    return address


Address = Annotated[str, Field(pattern=r"^(https?://[^\s/]+|\$\{)"), AfterValidator(_checked_address)]
"""An http or https address; it may begin with `${name}`."""


def _one_word(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]{1,200}", text):
        raise ValueError("must be one word of ASCII")
    return text


HeaderWord = Annotated[str, AfterValidator(_one_word)]
"""A value that is valid in a header and in a form."""


class WireRoles(BaseModel):
    """The names of roles in requests with chat completions, where they differ from the dialect's."""

    model_config = ConfigDict(extra="allow", strict=True)

    system: HeaderWord | None = None
    user: HeaderWord | None = None
    assistant: HeaderWord | None = None
    tool: HeaderWord | None = None

    @property
    def names(self) -> dict[str, str]:
        """The names that are set, by the dialect's role."""
        return {role: name for role in type(self).model_fields if (name := getattr(self, role)) is not None}


_WIRE_WORD = re.compile(r"[a-z][a-z0-9_-]*")


class Roles(BaseModel):
    """The names of roles: in a transcript's headings, and in requests.

    `user` and `assistant` name headings, and `wire` names roles in requests. Without `wire`, requests also
    use `system` and `tool`, which have no headings, and `user` and `assistant` if they are one lower-case
    word, as in `assistant = "model"`.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    user: str | None = None
    assistant: str | None = None
    system: HeaderWord | None = None
    tool: HeaderWord | None = None
    wire: WireRoles | None = None

    @property
    def names(self) -> dict[str, str]:
        """The names of headings that are set, by role."""
        return {role: name for role in _SIDES if (name := getattr(self, role)) is not None}

    @property
    def also_sent(self) -> dict[str, str]:
        """The names of headings that are also sent in requests, because they are one lower-case word."""
        if self.wire is not None:
            return {}
        return {role: name for role, name in self.names.items() if _WIRE_WORD.fullmatch(name)}

    @property
    def wire_names(self) -> dict[str, str]:
        """The names of roles in requests, where they differ from the dialect's."""
        plain = {role: name for role in ("system", "tool") if (name := getattr(self, role)) is not None}
        return {**plain, **self.also_sent, **(self.wire.names if self.wire is not None else {})}

    @model_validator(mode="after")
    def _headings_are_distinct(self) -> Self:
        for role, name in self.names.items():
            if not name or name != name.strip() or not name.isprintable():
                raise ValueError(f"{role} must be one line of text without blanks around it")
        user, assistant = self.user or _USER, self.assistant or _ASSISTANT
        if user in (assistant, _ASSISTANT) or assistant == _USER:
            raise ValueError(f"user and assistant must differ, also from {_ASSISTANT} and {_USER}")
        return self


_SIDES = ("user", "assistant")
_USER, _ASSISTANT = "Me", "Assistant"

Tokens = Annotated[int, Field(gt=0)]


class ConfiguredModel(BaseModel):
    """One entry of a provider's `models`: a name, with facts of the model.

    Facts from the endpoint take precedence over these; these over all others.
    """

    model_config = ConfigDict(extra="allow", strict=True)

    id: Annotated[str, Field(min_length=1)]
    """The provider's own name for the model."""

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


def _as_table(value: Any) -> Any:
    return {"id": value} if isinstance(value, str) else value


class ClientCertificate(BaseModel):
    """The TLS client certificate: files in PEM format."""

    model_config = ConfigDict(extra="allow", strict=True)

    cert: Annotated[str, Field(min_length=1)]
    """The certificate with its chain, and its key unless `key` names another file."""

    key: Annotated[str, Field(min_length=1)] | None = None
    password: Annotated[str, Field(min_length=1)] | None = Field(default=None, repr=False)
    """Of the key: a value source, or the text itself."""


def _as_certificate(value: Any) -> Any:
    return {"cert": value} if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Where a provider's table comes from."""

    file: Path | None = None
    """The configuration file; relative paths in the table start at its directory."""

    table: Mapping[str, Any] | None = field(default=None, repr=False)
    """The table as in the file, without the client's overlay; None without a file."""

    # Not compared: all tables of one client have the same.
    environment: Environment = field(default_factory=empty_environment, repr=False, compare=False)
    """The surroundings of the client that uses the table."""

    cache: SourceCache = field(default_factory=SourceCache, repr=False, compare=False)
    """The values of its slow sources, for all of its readers."""

    @property
    def directory(self) -> Path:
        """The directory of the configuration file."""
        return (self.file or self.environment.places.config_file).parent


_MADE_BY_THE_DAEMON = frozenset({"input", "instructions", "messages", "model", "stream"})
"""Members of a request's body that hold the conversation, or determine how the answer is read."""

_LISTS = frozenset({"include", "tools"})
"""Members of a request's body that are joined with those of a table."""


def _settable(name: str) -> str:
    if name in _MADE_BY_THE_DAEMON:
        raise ValueError("cannot be set, because each chat sets it")
    return name


def _with_lists(parameters: dict[str, Any]) -> dict[str, Any]:
    for name in _LISTS & parameters.keys():
        if not isinstance(parameters[name], list):
            raise ValueError(f"{name} must be an array")
    return parameters


def _checked_mappings(rows: dict[str, SettingRow]) -> dict[str, SettingRow]:
    for key, row in rows.items():
        if row.mapping == PARAMETERS and key in _MADE_BY_THE_DAEMON:
            raise ValueError(f"{key} cannot be a setting, because each chat sets it")
        if row.mapping == PARAMETERS and key in _LISTS and row.type != "list":
            raise ValueError(f"{key} must be of the type list")
        if row.mapping == CHAT and key not in CHAT_PARAMS:
            raise ValueError(f"{key} cannot have the mapping chat; only {', '.join(CHAT_PARAMS)} can")
    return rows


class ProviderConfig(BaseModel):
    """One `[providers.ID]` table: the keys that all kinds share; `model_extra` has the others."""

    model_config = ConfigDict(extra="allow", strict=True)

    _is_from_client: bool = PrivateAttr(default=False)
    _origin: TableOrigin = PrivateAttr(default_factory=TableOrigin)

    @property
    def origin(self) -> TableOrigin:
        """Where the table comes from."""
        return self._origin

    @origin.setter
    def origin(self, value: TableOrigin) -> None:
        self._origin = value

    def within(self, environment: Environment) -> Self:
        """This table with an environment; for a table made in code, whose environment is empty."""
        self._origin = replace(self._origin, environment=environment)
        return self

    @property
    def is_from_client(self) -> bool:
        """Whether the table comes from a client's overlay, so that its author may not be the user."""
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
    """Added to the query of every request; takes precedence."""

    env: dict[str, str] = Field(default_factory=dict, repr=False)
    """The values of `${name}` by name, and environment variables of a program that the provider starts."""

    api_key: str | None = Field(default=None, min_length=1, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    parameters: Annotated[
        dict[Annotated[str, AfterValidator(_settable)], Any],
        AfterValidator(_with_lists),
        AfterValidator(marked),
    ] = Field(default_factory=dict)
    cache: bool | None = None
    """Whether requests are marked for the prompt cache; None for what the kind does by itself."""

    roles: Roles = Field(default_factory=Roles)
    default_model: str | None = None
    models: list[Annotated[ConfiguredModel, BeforeValidator(_as_table)]] = Field(default_factory=list)
    """Models that the endpoint does not list, or lists without enough facts; a string is an `id`."""

    capabilities: CapabilityOverrides = Field(default_factory=CapabilityOverrides)
    settings: Annotated[dict[str, SettingRow], AfterValidator(_checked_mappings)] = Field(
        default_factory=dict
    )
    timeout: float | None = Field(default=None, gt=0)
    """Seconds without data from the provider before the chat fails."""

    connect_timeout: float | None = Field(default=None, gt=0)
    """Seconds a host, or a proxy, may take to accept a connection."""

    proxy: str | None = Field(default=None, repr=False)
    """`http://user:password@host:port`, or `none`; if absent, the environment variables apply."""

    ca_file: str | None = Field(default=None, min_length=1)
    """Certificates to trust beside the system's."""

    client_cert: Annotated[ClientCertificate, BeforeValidator(_as_certificate)] | None = None
    max_retries: int | None = Field(default=None, ge=0, le=10)

    @property
    def model_names(self) -> list[str]:
        """The configured models' names, in their order, each once."""
        return list(dict.fromkeys(model.id for model in self.models))

    @model_serializer(mode="wrap")
    def _without_values_of_credentials(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: _masked(key, value) for key, value in plain(self).items()}

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for key, value in super().__repr_args__():
            yield key, value if key is None else _masked(key, value)


_MASKED_KEYS = ("api_key", "headers", "env", "query", "url", "proxy")


def _masked(key: str, value: Any) -> Any:
    """A value of a table as it may be shown: every text that may hold a credential is masked."""
    is_secret = key in _MASKED_KEYS or names_credential(key)
    if isinstance(value, dict):
        if is_secret:
            return dict.fromkeys(value, "***")
        return {name: _masked(str(name), each) for name, each in value.items()}
    return "***" if is_secret and isinstance(value, str) else value
