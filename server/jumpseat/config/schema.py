"""The configuration file as a schema. Shape: section 7 of the protocol page."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator


class CapabilityOverrides(BaseModel):
    """What the user knows better than the adapter about a provider."""

    model_config = ConfigDict(extra="allow", strict=True)

    streaming: bool | None = None
    tool_calls: bool | None = None
    json_mode: bool | None = None
    vision: bool | None = None
    thinking: bool | None = None
    resumable_streaming: bool | None = None


class Roles(BaseModel):
    """What a transcript's headings call the two sides."""

    model_config = ConfigDict(extra="allow", strict=True)

    user: str | None = None
    assistant: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """The names that are set, by role."""
        return {role: name for role in ("user", "assistant") if (name := getattr(self, role)) is not None}

    @model_validator(mode="after")
    def _headings_tell_the_sides_apart(self) -> Roles:
        for role, name in self.names.items():
            if not name or name != name.strip() or not name.isprintable():
                raise ValueError(f"{role} must be one line of text without blanks around it")
        user, assistant = self.user or _USER, self.assistant or _ASSISTANT
        if user in (assistant, _ASSISTANT) or assistant == _USER:
            raise ValueError(f"user and assistant must differ, also from {_ASSISTANT} and {_USER}")
        return self


_USER, _ASSISTANT = "Me", "Assistant"

Tokens = Annotated[int, Field(gt=0)]


class ConfiguredModel(BaseModel):
    """One entry of a provider's `models`: a name, with what the user knows of the model.

    What the endpoint itself says of a model goes before these facts; they go before everything else.
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


HeaderWord = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,200}$")]
"""What can stand in a header or in a form."""


class ProviderConfig(BaseModel):
    """One `[providers.<id>]` table, with the keys common to the HTTP kinds and those of `local`."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: str = ""
    name: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+")
    api_key: str | None = Field(default=None, min_length=1, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    parameters: dict[str, Any] = Field(default_factory=dict)
    roles: Roles = Field(default_factory=Roles)
    default_model: str | None = None
    models: list[Annotated[ConfiguredModel, BeforeValidator(_as_table)]] = Field(default_factory=list)
    """Models that the endpoint does not list, or does not say enough about; a string stands for its `id`."""

    capabilities: CapabilityOverrides = Field(default_factory=CapabilityOverrides)
    settings: dict[str, SettingRow] = Field(default_factory=dict)
    timeout: float | None = Field(default=None, gt=0)
    """Seconds a provider may stay silent before the chat fails."""

    max_retries: int | None = Field(default=None, ge=0, le=10)
    host: str = "github.com"
    """`copilot` only, as all below it: `github.com`, a tenant `T.ghe.com`, or an Enterprise Server."""

    github_url: str | None = None
    api_url: str | None = None
    copilot_url: str | None = None
    client_id: HeaderWord | None = None
    """The app in whose name a person signs in."""

    integration_id: HeaderWord | None = None
    editor_version: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,100}/[\x21-\x7e]{1,100}$")] | None = None
    github_token: str | None = Field(default=None, min_length=1, repr=False)
    """A token to use instead of a sign-in."""

    model_path: str | None = None
    """`local` only: a GGUF file to run instead of the installed model."""

    def is_of_a_plugin(self, kinds: Collection[str] | None) -> bool:
        """Whether a plug-in has to know this kind, given those of the daemon's own."""
        return kinds is not None and bool(self.kind) and self.kind not in kinds

    @property
    def model_names(self) -> list[str]:
        """The configured models' names, in their order, each once."""
        return list(dict.fromkeys(model.id for model in self.models))

    @model_validator(mode="after")
    def _templates_are_not_replaced_yet(self) -> ProviderConfig:
        # Sent as it stands, `${name}` would be a wrong host or a wrong header that nobody explains.
        for key in ("base_url", "headers", "parameters"):
            if "${" in str(getattr(self, key)):
                raise ValueError(f"{key} uses ${{…}}, which this version does not replace yet")
        return self


ProviderId = Annotated[str, Field(pattern=r"^[^\s:]+$")]
"""A name without colons, or `provider:model` could not be told apart."""


class Config(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="allow", strict=True)

    default_provider: str | None = None
    default_model: str | None = None
    providers: dict[ProviderId, ProviderConfig] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    """Values in the form of saved ones (`max_tokens`, `providers.<id>.<key>`), which they go before."""

    _from_client: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def from_client(self) -> frozenset[str]:
        """The ids of the tables that the file does not have: a client's overlay has brought them."""
        return self._from_client

    def note_from_client(self, providers: frozenset[str]) -> None:
        """Remember which tables a client's overlay has brought."""
        self._from_client = providers

    def unknown_keys(self, kinds: Collection[str] | None = None) -> list[str]:
        """Dotted paths of keys that mean nothing here, for a warning.

        Args:
            kinds: as for `load_config`; keys that belong to a plug-in are left to it.
        """
        left_to_plugins = {
            f"providers.{name}.{key}"
            for name, table in self.providers.items()
            if table.is_of_a_plugin(kinds)
            for key in table.model_extra or {}
        }
        return sorted(set(_unknown(self, "")) - left_to_plugins)


def _unknown(model: BaseModel, prefix: str) -> list[str]:
    found = [f"{prefix}{key}" for key in model.model_extra or {}]
    for key in type(model).model_fields:
        value = getattr(model, key)
        if isinstance(value, BaseModel):
            found += _unknown(value, f"{prefix}{key}.")
        elif isinstance(value, dict | list):
            for name, item in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(item, BaseModel):
                    found += _unknown(item, f"{prefix}{key}.{name}.")
    return found
