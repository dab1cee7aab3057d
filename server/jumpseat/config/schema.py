"""The configuration file as a schema. Shape: section 7 of the protocol page."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jumpseat.chat import Problem

SettingType = Literal["string", "number", "integer", "boolean", "enum", "list", "map"]

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "list": (list, tuple),
    "map": (dict,),
}


class SettingRow(BaseModel):
    """One knob of a provider: what a chat may set, and what it is allowed to be."""

    model_config = ConfigDict(extra="allow", strict=True)

    type: SettingType
    description: str = ""
    order: int = 0
    default: Any = None
    choices: list[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    mapping: str = "parameters"

    def problem_with(self, value: Any) -> str | None:
        """Why a value breaks this row, as the end of a sentence that begins with its key."""
        if self.type == "enum":
            pass
        elif not isinstance(value, _PYTHON_TYPES[self.type]) or (
            isinstance(value, bool) and self.type != "boolean"
        ):
            return f"must be of type {self.type}"
        if self.choices is not None and value not in self.choices:
            return f"must be one of {', '.join(map(str, self.choices))}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.minimum is not None and value < self.minimum:
                return f"must be at least {self.minimum:g}"
            if self.maximum is not None and value > self.maximum:
                return f"must be at most {self.maximum:g}"
        return None


class CapabilityOverrides(BaseModel):
    """What the user knows better than the adapter about a provider."""

    model_config = ConfigDict(extra="allow", strict=True)

    streaming: bool | None = None
    tool_calls: bool | None = None
    json_mode: bool | None = None
    vision: bool | None = None
    thinking: bool | None = None
    resumable_streaming: bool | None = None


class ProviderConfig(BaseModel):
    """One `[providers.<id>]` table, with the keys common to the HTTP kinds and those of `local`."""

    model_config = ConfigDict(extra="allow", strict=True)

    kind: str = ""
    name: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+")
    api_key: str | None = Field(default=None, min_length=1, repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    parameters: dict[str, Any] = Field(default_factory=dict)
    default_model: str | None = None
    models: list[str] = Field(default_factory=list)
    capabilities: CapabilityOverrides = Field(default_factory=CapabilityOverrides)
    settings: dict[str, SettingRow] = Field(default_factory=dict)
    timeout: float | None = Field(default=None, gt=0)
    """Seconds a provider may stay silent before the chat fails."""

    max_retries: int | None = Field(default=None, ge=0, le=10)
    model_path: str | None = None
    """`local` only: a GGUF file to run instead of the installed model."""

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
    """Values as `settings/get` shows them (`max_tokens`, `providers.<id>.<key>`): a client's defaults."""

    def unknown_keys(self) -> list[str]:
        """Dotted paths of keys that mean nothing here, for a warning."""
        return sorted(_unknown(self, ""))


def _unknown(model: BaseModel, prefix: str) -> list[str]:
    found = [f"{prefix}{key}" for key in model.model_extra or {}]
    for key in type(model).model_fields:
        value = getattr(model, key)
        if isinstance(value, BaseModel):
            found += _unknown(value, f"{prefix}{key}.")
        elif isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, BaseModel):
                    found += _unknown(item, f"{prefix}{key}.{name}.")
    return found


def check_settings(rows: dict[str, SettingRow], settings: dict[str, Any]) -> list[Problem]:
    """Every value of a chat's `settings` that breaks its row, or has none."""
    problems = []
    for key, value in settings.items():
        row = rows.get(key)
        if row is None:
            known = ", ".join(rows) or "none"
            problems.append(Problem(f"settings.{key}", f"is not a setting of this provider (known: {known})"))
        elif (fault := row.problem_with(value)) is not None:
            problems.append(Problem(f"settings.{key}", fault))
    return problems
