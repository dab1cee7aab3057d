"""One open conversation of a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpseat.chat import Cost, Message, ThinkingLevel
from jumpseat.connections.session import InFlight
from jumpseat.wire import RequestId

if TYPE_CHECKING:
    from jumpseat.tools.server import ToolServer


@dataclass(slots=True)
class LatestPrompt:
    """The latest prompt of a conversation. Once it has a response, `entry.finished` is set."""

    request_id: RequestId
    entry: InFlight
    has_started: bool = False
    """Whether the handler of the request has started."""

    is_cancelled: bool = False


@dataclass(slots=True)
class AcpConversation:
    """An open conversation. Changes to the model, settings and other choices apply from the next turn on."""

    id: str
    directory: Path
    additional_directories: Sequence[Path] = ()
    branch: str = ""
    """The id of the kept conversation that contains the last turn: `id`, or the id of a fork."""

    messages: tuple[Message, ...] = ()
    system: str | None = None
    model: str | None = None
    """The chosen model as `provider:model`; None for the default."""

    thinking: ThinkingLevel | None = None
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The chosen settings of each provider."""

    options: Sequence[Mapping[str, Any]] = ()
    """The config options that were last sent to the client."""

    title: str | None = None
    """The title that was last sent to the client."""

    cost: Cost | None = None
    """The total cost of the turns that were kept or that this process ran."""

    servers: Mapping[str, ToolServer] = field(default_factory=dict)
    """The client's tool servers for this conversation, by name."""

    turn: LatestPrompt | None = None
    shown_call_ids: set[str] = field(default_factory=set)
    """The ids of the tool calls that were sent to the client."""

    def __post_init__(self) -> None:
        self.branch = self.branch or self.id

    def make_call_id(self, call_id: str) -> str:
        """Return an id for a tool call that is unique in this conversation, and add it to `shown_call_ids`.

        Args:
            call_id: the provider's id of the call. Some providers restart their numbering in each answer, so
                it may not be unique.
        """
        unique_id, number = call_id, 1
        while unique_id in self.shown_call_ids:
            number += 1
            unique_id = f"{call_id}_{number}"
        self.shown_call_ids.add(unique_id)
        return unique_id

    @property
    def choices(self) -> dict[str, Any]:
        """The choices that differ from the defaults, as they are kept with each turn."""
        chosen = {
            "model": self.model,
            "system": self.system,
            "thinking": self.thinking,
            "settings": {provider: values for provider, values in self.settings.items() if values},
        }
        return {key: value for key, value in chosen.items() if value}
