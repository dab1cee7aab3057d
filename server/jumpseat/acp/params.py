"""The params of the methods of the Agent Client Protocol as pydantic models."""

# Do not add `from __future__ import annotations`: pydantic would have to compile the text of each annotation.
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from jumpseat.connections.param_model import JsonObject, Params

ConversationId = Annotated[str, Field(min_length=1)]


class ImplementationParam(Params):
    """The name and version of a client."""

    name: str
    version: str | None = None


class HandshakeParams(Params):
    """`initialize`."""

    protocol_version: int
    client_capabilities: JsonObject = Field(default_factory=dict)
    """The raw object. A capability with the value `{}` is present, unlike one that is null or false."""

    client_info: ImplementationParam | None = None


class AuthenticateParams(Params):
    """`authenticate`."""

    method_id: str


class NamedValueParam(Params):
    """An environment variable or an HTTP header."""

    name: Annotated[str, Field(min_length=1)]
    value: str = ""


class StdioServerParam(Params):
    """A tool server that is a program."""

    name: str
    command: Annotated[str, Field(min_length=1)]
    args: list[str] = Field(default_factory=list)
    env: list[NamedValueParam] = Field(default_factory=list)


class HttpServerParam(Params):
    """A tool server on the network."""

    name: str
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]")]
    headers: list[NamedValueParam] = Field(default_factory=list)


def _find_transport(server: Any) -> Any:
    return server.get("type", "stdio") if isinstance(server, dict) else None


ServerParam = Annotated[
    Annotated[StdioServerParam, Tag("stdio")] | Annotated[HttpServerParam, Tag("http")],
    Discriminator(_find_transport),
]


class SetupParams(Params):
    """The directories of a conversation, and its tool servers."""

    cwd: str
    additional_directories: list[str] = Field(default_factory=list)
    mcp_servers: list[ServerParam] = Field(default_factory=list)


class OpenParams(SetupParams):
    """`session/load` and `session/resume`."""

    session_id: ConversationId


class ConversationIdParams(Params):
    """The params of a method that concerns one conversation."""

    session_id: ConversationId


class ListParams(Params):
    """`session/list`."""

    cwd: str | None = None
    cursor: str | None = None


class OptionParams(ConversationIdParams):
    """`session/set_config_option`."""

    config_id: str
    value: str | bool


class TextContentParam(Params):
    """A text block of a prompt."""

    type: Literal["text"]
    text: str = ""


class ImageContentParam(Params):
    """An image, in base64."""

    type: Literal["image"]
    data: str
    mime_type: str


class LinkContentParam(Params):
    """A link to a file or page."""

    type: Literal["resource_link"]
    name: str
    uri: str


class ResourceParam(Params):
    """The contents of a file or page: `text`, or `blob` in base64."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ResourceContentParam(Params):
    """An embedded file or page."""

    type: Literal["resource"]
    resource: ResourceParam


ContentParam = Annotated[
    TextContentParam | ImageContentParam | LinkContentParam | ResourceContentParam,
    Field(discriminator="type"),
]


class PromptParams(ConversationIdParams):
    """`session/prompt`."""

    prompt: list[ContentParam]


class CancelRequestParams(Params):
    """`$/cancel_request`."""

    request_id: str | int
