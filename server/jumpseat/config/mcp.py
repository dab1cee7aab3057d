"""The tables `[mcp.NAME]`: tool servers that speak the Model Context Protocol."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    model_validator,
)

from jumpseat.config.schema import Address, ClientCertificate, ProviderConfig, TableOrigin, as_certificate
from jumpseat.config.table_names import BUILT_IN_SERVER


def _check_name(name: str) -> str:
    if name == BUILT_IN_SERVER:
        raise ValueError("is the name of the built-in file tools; choose another one")
    return name


McpName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$"), AfterValidator(_check_name)]
"""The name of a server in selectors such as `github/*`."""

McpScope = Literal["user", "workspace", "conversation"]
"""Who shares a running server: all clients, those with the same workspace folder, or one conversation."""

VariableName = Annotated[str, Field(pattern=r"^[^\s=\x00]+$")]
TextWithoutNul = Annotated[str, Field(pattern=r"^[^\x00]*$")]

ONLY_FOR_PROGRAMS = ("inherit", "cwd")
ONLY_FOR_URLS = ("headers", "proxy", "ca_file", "client_cert")


class McpServerConfig(BaseModel):
    """One `[mcp.NAME]` table: a program that is started, or the URL of a server."""

    model_config = ConfigDict(extra="allow", strict=True)

    _is_from_client: bool = PrivateAttr(default=False)
    _origin: TableOrigin = PrivateAttr(default_factory=TableOrigin)

    command: list[TextWithoutNul] | None = Field(default=None, min_length=1)
    """The program and its arguments. No shell is involved."""

    url: Address | None = Field(default=None, repr=False)
    headers: dict[str, TextWithoutNul] = Field(default_factory=dict, repr=False)
    """Headers of each request; a value may be a value source, or contain `${name}`."""

    env: dict[VariableName, TextWithoutNul] = Field(default_factory=dict, repr=False)
    """The environment variables of a program; for a URL, the values for `${name}` by name."""

    inherit: list[VariableName] = Field(default_factory=list)
    """Environment variables of the client that the program receives in addition to the usual ones."""

    cwd: Annotated[str, Field(min_length=1)] | None = None
    """The program's working directory; a relative path starts at the first workspace folder."""

    scope: McpScope = "user"
    tools: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=lambda: ["*"])
    """Patterns of the tools to offer, in which `*` matches any characters."""

    start_seconds: float = Field(default=30.0, gt=0, le=3600)
    """The time limit for starting the server and listing its tools, together."""

    idle_minutes: float = Field(default=10.0, ge=0, le=60 * 24 * 365)
    """Minutes after which the server is stopped if no turn uses it."""

    proxy: str | None = Field(default=None, repr=False)
    ca_file: str | None = Field(default=None, min_length=1)
    client_cert: Annotated[ClientCertificate, BeforeValidator(as_certificate)] | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("must have either command, for a program, or url, for a server on the network")
        if self.command is not None and not self.command[0].strip():
            raise ValueError("must have a program as the first word of command")
        kind, foreign = ("command", ONLY_FOR_URLS) if self.command is not None else ("url", ONLY_FOR_PROGRAMS)
        for key in foreign:
            if key in self.model_fields_set:
                raise ValueError(f"cannot have {key} together with {kind}")
        return self

    @property
    def origin(self) -> TableOrigin:
        """The origin of the table."""
        return self._origin

    @property
    def is_from_client(self) -> bool:
        """Whether the table comes from a client's overlay, whose author may not be the user."""
        return self._is_from_client

    def note_origin(self, origin: TableOrigin, *, is_from_client: bool = False) -> Self:
        """Record the origin of the table, and return the table."""
        self._origin, self._is_from_client = origin, is_from_client
        return self

    @property
    def value_table(self) -> ProviderConfig:
        """The values of this table as a provider's table, which `Values` and HTTP clients require."""
        fields = ("url", "headers", "env", "proxy", "ca_file", "client_cert")
        table = ProviderConfig.model_construct(
            kind="mcp", **{key: getattr(self, key) for key in fields if getattr(self, key) is not None}
        )
        table.origin, table.is_from_client = self._origin, self._is_from_client
        return table

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        # An unknown key may have a secret as its value.
        return (each for each in super().__repr_args__() if each[0] in type(self).model_fields)


SERVERS = TypeAdapter(dict[McpName, McpServerConfig], config=ConfigDict(strict=True))
"""Validates the table `mcp`."""
